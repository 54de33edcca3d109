//===- PointEvaluator.cpp - kappa at one pair of rows ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/PointEvaluator.h"

#include "lowering/analysis/Declarations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace attn;

double PointEvaluator::kappa(AttentionOp op, Row q, Row k) {
  clear();
  plainLength = q.size();
  Region *maps[] = {&op.getQueryMap(), &op.getKeyMap()};
  for (unsigned role : {0u, 1u}) {
    Row input = role == 0 ? std::move(q) : std::move(k);
    BlockArgument mapped = op.getKappa().getArgument(role);
    if (maps[role]->empty()) {
      setRow(mapped, std::move(input));
      continue;
    }
    setRow(maps[role]->getArgument(0), std::move(input));
    run(maps[role]->front());
    setRow(mapped, row(maps[role]->front().getTerminator()->getOperand(0)));
  }
  Block &body = op.getKappa().front();
  run(body);
  return scalar(body.getTerminator()->getOperand(0));
}

PointEvaluator::Row PointEvaluator::mapped(AttentionOp op, unsigned role,
                                           Row input, int64_t position) {
  clear();
  plainLength = input.size();
  positions[role == 0 ? Position::I : Position::J] =
      static_cast<double>(position);
  Region &map = role == 0 ? op.getQueryMap() : op.getKeyMap();
  if (map.empty())
    return input;
  setRow(map.getArgument(0), std::move(input));
  run(map.front());
  return row(map.front().getTerminator()->getOperand(0));
}

double PointEvaluator::mappedKappa(AttentionOp op, Row q, Row k, int64_t i,
                                   int64_t j) {
  clear();
  positions[Position::I] = static_cast<double>(i);
  positions[Position::J] = static_cast<double>(j);
  setRow(op.getKappa().getArgument(0), std::move(q));
  setRow(op.getKappa().getArgument(1), std::move(k));
  Block &body = op.getKappa().front();
  run(body);
  return scalar(body.getTerminator()->getOperand(0));
}

double PointEvaluator::noisy(double x) {
  if (noise == 0)
    return x;
  std::uniform_real_distribution<> relative(-noise, noise);
  return x * (1 + relative(noiseRandom));
}

void PointEvaluator::run(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() != 1)
      continue;
    Value result = op.getResult(0);
    if (isa<RowType>(result.getType())) {
      Row row = computeRow(&op);
      for (double &x : row)
        x = noisy(x);
      rows[result] = std::move(row);
    } else if (!isa<MemRefType>(result.getType())) {
      double value = compute(&op);
      if (result.getType().isF32())
        value = noisy(value);
      scalars[result] = value;
      if (std::isfinite(value))
        magnitude = std::max(magnitude, std::fabs(value));
    }
  }
}

double PointEvaluator::scalar(Value value) {
  if (auto known = scalars.find(value); known != scalars.end())
    return known->second;
  // Constants may have been hoisted out of the region.
  Operation *op = value.getDefiningOp();
  double computed = op && op->getNumRegions() == 0 ? compute(op) : std::nan("");
  scalars[value] = computed;
  return computed;
}

const PointEvaluator::Row &PointEvaluator::row(Value value) {
  auto known = rows.find(value);
  if (known == rows.end()) {
    Operation *op = value.getDefiningOp();
    Row computed = op ? computeRow(op) : Row(plainLength, std::nan(""));
    known = rows.try_emplace(value, std::move(computed)).first;
  }
  return known->second;
}

std::vector<int64_t> PointEvaluator::values(mlir::ValueRange indices) {
  std::vector<int64_t> result;
  for (Value index : indices)
    result.push_back(static_cast<int64_t>(scalar(index)));
  return result;
}

double PointEvaluator::parameter(Value memory, std::vector<int64_t> indices) {
  auto [entry, isNew] = parameters.try_emplace(
      {memory.getAsOpaquePointer(), std::move(indices)}, 0.0);
  if (!isNew)
    return entry->second;
  ArgAttr declaration = declarationOf(memory);
  Interval range = declaredRange(declaration);
  double x = std::normal_distribution<>(0, 1)(random);
  if (range.lo > -Interval::kInfinity)
    x = range.lo + std::fabs(x);
  if (range.hi < Interval::kInfinity)
    x = std::max(range.lo, range.hi - std::fabs(x));
  if (atBounds && (range.contains(range.lo) || range.contains(range.hi))) {
    tookBound = true;
    return entry->second = range.contains(range.lo) ? range.lo : range.hi;
  }
  if (declaration && declaration.getInteger())
    x = std::round(x + (range.lo > 0 ? 0.5 : 0.0));
  return entry->second = x;
}

static bool compare(arith::CmpFPredicate predicate, double a, double b) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  default:
    return a != b;
  }
}

static bool compare(arith::CmpIPredicate predicate, double a, double b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::uge:
    return static_cast<uint32_t>(static_cast<int64_t>(a)) >=
           static_cast<uint32_t>(static_cast<int64_t>(b));
  default:
    return a != b;
  }
}

/// The larger one; NaN if one is, as arith.maximumf has it.
static double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
}

/// The bits of an f32, or back: what the gauge takes powers of two with.
static double bitcast(arith::BitcastOp op, double x) {
  if (op.getType().isF32()) {
    auto bits = static_cast<uint32_t>(static_cast<int64_t>(x));
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  auto value = static_cast<float>(x);
  int32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

double PointEvaluator::compute(Operation *op) {
  auto in = [&](unsigned n) { return scalar(op->getOperand(n)); };
  auto integer = [&](unsigned n) { return static_cast<int64_t>(in(n)); };
  auto pairRow = [&](unsigned n) -> const Row & {
    return row(op->getOperand(n));
  };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([](arith::ConstantOp c) -> double {
        if (auto real = dyn_cast<FloatAttr>(c.getValue()))
          return real.getValueAsDouble();
        if (auto whole = dyn_cast<IntegerAttr>(c.getValue()))
          return whole.getType().isInteger(1)
                     ? !whole.getValue().isZero()
                     : static_cast<double>(whole.getValue().getSExtValue());
        return std::nan("");
      })
      .Case([&](memref::LoadOp load) {
        return parameter(load.getMemRef(), values(load.getIndices()));
      })
      .Case([&](IndexOp index) {
        auto [entry, isNew] = positions.try_emplace(index.getPosition(), 0.0);
        bool length = index.getPosition() == Position::Nq ||
                      index.getPosition() == Position::Nk;
        if (isNew)
          entry->second =
              static_cast<double>(random() % 16) + (length ? 16 : 0);
        return entry->second;
      })
      .Case([&](memref::DimOp) { return static_cast<double>(plainLength); })
      .Case([&](DimOp dim) {
        return static_cast<double>(row(dim.getRow()).size());
      })
      .Case<DotOp, SqDistOp>([&](auto) {
        // Copies: the second look-up may move the first row.
        Row a = pairRow(0), b = pairRow(1);
        double sum = 0;
        for (size_t d = 0; d < std::min(a.size(), b.size()); ++d)
          sum += isa<DotOp>(op) ? a[d] * b[d] : (a[d] - b[d]) * (a[d] - b[d]);
        return sum;
      })
      .Case([&](SqNormOp) {
        double sum = 0;
        for (double x : pairRow(0))
          sum += x * x;
        return sum;
      })
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return in(0) + in(1); })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return in(0) - in(1); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return in(0) * in(1); })
      .Case([&](arith::DivFOp) { return in(0) / in(1); })
      .Case([&](arith::FloorDivSIOp) { return std::floor(in(0) / in(1)); })
      .Case([&](arith::NegFOp) { return -in(0); })
      .Case<math::AbsFOp, math::AbsIOp>([&](auto) { return std::fabs(in(0)); })
      .Case<arith::MinimumFOp, arith::MinSIOp>(
          [&](auto) { return -larger(-in(0), -in(1)); })
      .Case<arith::MaximumFOp, arith::MaxSIOp>(
          [&](auto) { return larger(in(0), in(1)); })
      .Case<arith::AndIOp>(
          [&](auto) { return static_cast<double>(integer(0) & integer(1)); })
      .Case<arith::OrIOp>(
          [&](auto) { return static_cast<double>(integer(0) | integer(1)); })
      .Case<arith::XOrIOp>(
          [&](auto) { return static_cast<double>(integer(0) ^ integer(1)); })
      .Case([&](arith::ShRUIOp) {
        return static_cast<double>(static_cast<uint32_t>(integer(0)) >>
                                   integer(1));
      })
      .Case([&](arith::BitcastOp cast) { return bitcast(cast, in(0)); })
      .Case([&](arith::CmpFOp cmp) {
        return compare(cmp.getPredicate(), in(0), in(1));
      })
      .Case([&](arith::CmpIOp cmp) {
        return compare(cmp.getPredicate(), in(0), in(1));
      })
      .Case([&](arith::SelectOp) { return in(0) != 0 ? in(1) : in(2); })
      .Case<arith::IndexCastOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::ExtUIOp>([&](auto) { return in(0); })
      .Case<arith::FPToSIOp>([&](auto) { return std::trunc(in(0)); })
      .Case<math::FPowIOp, math::PowFOp>(
          [&](auto) { return std::pow(in(0), in(1)); })
      .Case([&](math::ExpOp) { return std::exp(in(0)); })
      .Case([&](math::Exp2Op) { return std::exp2(in(0)); })
      .Case([&](math::ExpM1Op) { return std::expm1(in(0)); })
      .Case([&](math::LogOp) { return std::log(in(0)); })
      .Case([&](math::Log2Op) { return std::log2(in(0)); })
      .Case([&](math::Log1pOp) { return std::log1p(in(0)); })
      .Case([&](math::SqrtOp) { return std::sqrt(in(0)); })
      .Case([&](math::TanhOp) { return std::tanh(in(0)); })
      .Case([&](math::CosOp) { return std::cos(in(0)); })
      .Case([&](math::SinOp) { return std::sin(in(0)); })
      .Case([&](math::FloorOp) { return std::floor(in(0)); })
      .Case([&](math::CopySignOp) { return std::copysign(in(0), in(1)); })
      .Default([](Operation *) { return std::nan(""); });
}

int attn::affordableTries(AttentionOp op) {
  constexpr int64_t longest = 4096, entries = 1 << 16;
  constexpr int64_t most = 48, least = 4, operations = 100000;
  auto lengthOf = [](Value row) {
    return cast<RowType>(row.getType()).getLength();
  };
  int64_t size = 1;
  bool fits = true;
  op.walk([&](Operation *inner) {
    ++size;
    for (Value result : inner->getResults())
      if (isa<RowType>(result.getType()))
        fits &= lengthOf(result) <= longest;
    if (auto random = dyn_cast<RandomFeaturesOp>(inner))
      fits &= std::max<int64_t>(lengthOf(random.getRow()), 1) *
                  static_cast<int64_t>(random.getCount()) <=
              entries;
    if (auto project = dyn_cast<ProjectOp>(inner))
      if (lengthOf(project.getRow()) > 0 && lengthOf(project.getResult()) > 0)
        fits &= lengthOf(project.getRow()) * lengthOf(project.getResult()) <=
                entries;
  });
  return fits ? static_cast<int>(std::clamp(operations / size, least, most))
              : 0;
}
