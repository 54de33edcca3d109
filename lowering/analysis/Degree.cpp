//===- Degree.cpp - how fast kappa grows with its rows --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Degree.h"
#include "lowering/analysis/Declarations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

using namespace mlir;
using namespace attn;

/// Rows are shallow; deeper ones are taken for plain rows.
static constexpr int kDepth = 64;

/// The degree of a map's body in its arguments, as far as products go.
static double bodyDegree(Value value, MapOp map, ArrayRef<double> rows,
                         int depth) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner()->getParentOp() == map
               ? rows[argument.getArgNumber()]
               : 0;
  Operation *op = value.getDefiningOp();
  if (depth == 0 || op->getParentRegion() != &map.getBody())
    return 0;
  auto in = [&](unsigned n) {
    return bodyDegree(op->getOperand(n), map, rows, depth - 1);
  };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](arith::MulFOp) { return in(0) + in(1); })
      .Case<arith::AddFOp, arith::SubFOp, arith::MaximumFOp, arith::MinimumFOp,
            arith::DivFOp>([&](auto) { return std::max(in(0), in(1)); })
      .Case([&](arith::NegFOp) { return in(0); })
      .Case([&](arith::SelectOp) { return std::max(in(1), in(2)); })
      .Default([](Operation *) { return 0; });
}

static double rowDegree(Value row, int depth) {
  constexpr double plain = 0.5;
  if (depth == 0)
    return plain;
  if (auto argument = dyn_cast<BlockArgument>(row)) {
    Value mapped = mappedRowOfArgument(argument);
    return mapped ? rowDegree(mapped, depth - 1) : plain;
  }
  Operation *op = row.getDefiningOp();
  auto in = [&](unsigned n) { return rowDegree(op->getOperand(n), depth - 1); };
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case<ParamRowOp, RandomFeaturesOp>([](auto) { return 0; })
      .Case([](UnitOp) { return 0; })
      .Case([&](PowerOp op) { return op.getDegree() * in(0); })
      .Case([&](OuterOp) { return in(0) + in(1); })
      .Case<ProjectOp, RopeOp>([&](auto) { return in(0); })
      .Case([&](ConcatOp concat) {
        double degree = 0;
        for (unsigned n = 0; n < concat.getRows().size(); ++n)
          degree = std::max(degree, in(n));
        return degree;
      })
      .Case([&](MapOp map) {
        SmallVector<double> rows;
        for (unsigned n = 0; n < map.getRows().size(); ++n)
          rows.push_back(in(n));
        Value yielded = map.getBody().front().getTerminator()->getOperand(0);
        return bodyDegree(yielded, map, rows, depth);
      })
      .Default([](Operation *) { return plain; });
}

double attn::rowDegree(Value row) { return ::rowDegree(row, kDepth); }

double attn::pairDegree(Operation *op) {
  double a = ::rowDegree(op->getOperand(0), kDepth);
  double b =
      op->getNumOperands() > 1 ? ::rowDegree(op->getOperand(1), kDepth) : a;
  return isa<SqDistOp>(op) ? 2 * std::max(a, b) : a + b;
}
