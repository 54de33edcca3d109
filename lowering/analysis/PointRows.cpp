//===- PointRows.cpp - the rows that PointEvaluator evaluates -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/RandomRows.h"
#include "lowering/analysis/PointEvaluator.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace attn;

/// The multisets of `degree` coordinates in lexicographic order, each weighted
/// by the root of the multinomial coefficient.
static PointEvaluator::Row symmetricPower(const PointEvaluator::Row &x,
                                          int64_t degree) {
  PointEvaluator::Row result;
  std::vector<size_t> pick(degree, 0);
  for (;;) {
    double product = 1, weight = std::tgamma(degree + 1.0);
    int64_t run = 0;
    for (int64_t t = 0; t < degree; ++t) {
      product *= x[pick[t]];
      run = t > 0 && pick[t] == pick[t - 1] ? run + 1 : 1;
      weight /= static_cast<double>(run);
    }
    result.push_back(std::sqrt(weight) * product);
    int64_t t = degree - 1;
    while (t >= 0 && pick[t] + 1 == x.size())
      --t;
    if (t < 0)
      return result;
    size_t next = pick[t] + 1;
    for (; t < degree; ++t)
      pick[t] = next;
  }
}

static PointEvaluator::Row rotated(RopeOp op, PointEvaluator::Row x,
                                   double position) {
  size_t half = x.size() / 2;
  for (size_t t = 0; t < half; ++t) {
    double angle = position * std::pow(op.getBase().convertToDouble(),
                                       -static_cast<double>(t) /
                                           static_cast<double>(half));
    size_t a = op.getInterleaved() ? 2 * t : t;
    size_t b = op.getInterleaved() ? 2 * t + 1 : t + half;
    double u = x[a], v = x[b];
    x[a] = u * std::cos(angle) - v * std::sin(angle);
    x[b] = u * std::sin(angle) + v * std::cos(angle);
  }
  return x;
}

PointEvaluator::Row PointEvaluator::computeRow(Operation *op) {
  auto in = [&](unsigned n) -> Row { return row(op->getOperand(n)); };
  auto lengthOf = [&](Value value) -> size_t {
    auto type = cast<RowType>(value.getType());
    return type.hasStaticLength() ? type.getLength() : plainLength;
  };
  return llvm::TypeSwitch<Operation *, Row>(op)
      .Case([&](ParamRowOp param) {
        Row result(lengthOf(param.getResult()));
        for (size_t d = 0; d < result.size(); ++d) {
          std::vector<int64_t> indices = values(param.getIndices());
          indices.push_back(static_cast<int64_t>(d));
          result[d] = parameter(param.getMemory(), std::move(indices));
        }
        return result;
      })
      .Case([&](MapOp map) {
        Block &body = map.getBody().front();
        SmallVector<Row> operands;
        for (unsigned n = 0; n < map.getRows().size(); ++n)
          operands.push_back(in(n));
        Row result(operands[0].size());
        for (size_t d = 0; d < result.size(); ++d) {
          for (auto [argument, operand] :
               llvm::zip(body.getArguments(), operands))
            scalars[argument] = operand[d];
          run(body);
          result[d] = scalar(body.getTerminator()->getOperand(0));
        }
        return result;
      })
      .Case([&](UnitOp) {
        Row x = in(0);
        double norm = 0;
        for (double c : x)
          norm += c * c;
        for (double &c : x)
          c = norm == 0 ? 0 : c / std::sqrt(norm);
        return x;
      })
      .Case([&](ProjectOp project) {
        Row x = in(0), result(lengthOf(project.getResult()));
        for (size_t c = 0; c < result.size(); ++c)
          for (size_t r = 0; r < x.size(); ++r) {
            std::vector<int64_t> indices = values(project.getIndices());
            indices.push_back(static_cast<int64_t>(r));
            indices.push_back(static_cast<int64_t>(c));
            result[c] +=
                x[r] * parameter(project.getMatrix(), std::move(indices));
          }
        return result;
      })
      .Case([&](RopeOp rope) {
        return rotated(rope, in(0), scalar(rope.getPosition()));
      })
      .Case([&](PowerOp op) {
        return symmetricPower(in(0), static_cast<int64_t>(op.getDegree()));
      })
      .Case([&](ConcatOp concat) {
        Row result;
        for (unsigned n = 0; n < concat.getRows().size(); ++n) {
          Row part = in(n);
          result.insert(result.end(), part.begin(), part.end());
        }
        return result;
      })
      .Case([&](RandomFeaturesOp random) {
        Row x = in(0);
        return randomFeatures(random, x.data(), static_cast<int64_t>(x.size()));
      })
      .Case([&](OuterOp) {
        Row a = in(0), b = in(1), result;
        for (double x : a)
          for (double y : b)
            result.push_back(x * y);
        return result;
      })
      .Default([&](Operation *) { return Row(plainLength, std::nan("")); });
}
