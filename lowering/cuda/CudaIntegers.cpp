//===- CudaIntegers.cpp - how wide whole numbers are ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU computes 32 bits at a time. Positions, lengths and integer parameters
// of a call are below 2^30, which the runtime checks; so most masks fit.
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/CudaPrinter.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace attn;

// A position is below 2^30, so that a parameter of 2^30 may still be added.
static constexpr double kPosition = 1073741823.;

static bool isWhole(Type type) {
  return type.isIndex() || type.isInteger(64) || type.isInteger(32);
}

CudaPrinter::Range CudaPrinter::rangeOf(Value v) {
  auto known = ranges.find(v);
  if (known != ranges.end())
    return known->second;
  Range range{-kPosition, kPosition};
  ranges[v] = range; // what a loop carries is a position
  APInt constant;
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    if (auto map = dyn_cast<tile::MapOp>(argument.getOwner()->getParentOp()))
      range = rangeOf(map.getInputs()[argument.getArgNumber()]);
  } else if (matchPattern(v, m_ConstantInt(&constant))) {
    range.low = range.high = static_cast<double>(constant.getSExtValue());
  } else if (auto choice = v.getDefiningOp<scf::IfOp>()) {
    unsigned n = cast<OpResult>(v).getResultNumber();
    Range x = rangeOf(choice.thenBlock()->getTerminator()->getOperand(n)),
          y = rangeOf(choice.elseBlock()->getTerminator()->getOperand(n));
    range = {std::min(x.low, y.low), std::max(x.high, y.high)};
  } else {
    range = rangeOf(v.getDefiningOp());
  }
  return ranges[v] = range;
}

CudaPrinter::Range CudaPrinter::rangeOf(Operation *op) {
  if (isa<memref::LoadOp, memref::DimOp, tile::LoadOp, tile::IotaOp, scf::ForOp,
          IndexOp>(op))
    return {-kPosition, kPosition};
  if (auto splat = dyn_cast<tile::SplatOp>(op))
    return rangeOf(splat.getValue());
  if (auto map = dyn_cast<tile::MapOp>(op))
    return rangeOf(map.getBody().front().getTerminator()->getOperand(0));
  auto operand = [&](unsigned n) { return rangeOf(op->getOperand(n)); };
  auto magnitude = [](Range r) { return std::max(-r.low, r.high); };
  if (isa<arith::AddIOp>(op))
    return {operand(0).low + operand(1).low, operand(0).high + operand(1).high};
  // x - x // d * d, as the importer writes x % d, is smaller than d.
  auto multipleBelow = [](Value product, Value x) -> Value {
    auto multiply = product.getDefiningOp<arith::MulIOp>();
    auto quotient = multiply
                        ? multiply.getLhs().getDefiningOp<arith::FloorDivSIOp>()
                        : arith::FloorDivSIOp();
    return quotient && quotient.getRhs() == multiply.getRhs() &&
                   (!x || quotient.getLhs() == x)
               ? multiply.getRhs()
               : Value();
  };
  if (isa<arith::SubIOp>(op)) {
    if (Value d = multipleBelow(op->getOperand(1), op->getOperand(0)))
      return {-magnitude(rangeOf(d)), magnitude(rangeOf(d))};
    return {operand(0).low - operand(1).high, operand(0).high - operand(1).low};
  }
  if (isa<arith::MulIOp>(op)) {
    double m = magnitude(operand(0)) * magnitude(operand(1));
    if (multipleBelow(op->getResult(0), {}))
      m = magnitude(rangeOf(op->getOperand(0).getDefiningOp()->getOperand(0))) +
          magnitude(operand(1));
    return {-m, m};
  }
  if (isa<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
          arith::RemSIOp, math::AbsIOp>(op)) {
    double m = magnitude(operand(0));
    return {-m, m};
  }
  if (isa<arith::IndexCastOp>(op))
    return operand(0);
  if (isa<arith::MinSIOp, arith::MinUIOp>(op)) // the latter of lengths
    return {std::min(operand(0).low, operand(1).low),
            std::min(operand(0).high, operand(1).high)};
  if (isa<arith::MaxSIOp>(op))
    return {std::max(operand(0).low, operand(1).low),
            std::max(operand(0).high, operand(1).high)};
  if (isa<arith::SelectOp>(op))
    return {std::min(operand(1).low, operand(2).low),
            std::max(operand(1).high, operand(2).high)};
  if (isa<tile::ReduceOp>(op))
    return {std::min(operand(0).low, operand(1).low),
            std::max(operand(0).high, operand(1).high)};
  if (op->getResult(0).getType().isInteger(32))
    return {-2147483648., 2147483647.};
  return {-INFINITY, INFINITY};
}

bool CudaPrinter::isNarrow(Region &region) {
  bool all = true;
  region.walk([&](Operation *op) {
    for (Value v : op->getOperands())
      all &= !isWhole(v.getType()) || isNarrow(v);
    for (Value v : op->getResults())
      all &= !isWhole(v.getType()) || isNarrow(v);
  });
  return all;
}

llvm::StringRef CudaPrinter::elementType(Value tile) {
  Type element = cast<tile::TileType>(tile.getType()).getElementType();
  return cTypeOf(element, isWhole(element) && isNarrow(tile));
}
