//===- CpuIntegers.cpp - how wide integers in lanes must be ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Positions fit into 32 bits and products of them do not. Half as wide is twice
// as fast, so the bits of every integer are bounded before lanes are chosen.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuIntegers.h"
#include "dialect/tile/RowMajor.h"
#include "dialect/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

namespace {

/// Magnitude bits, without the sign: |v| <= 2^bits.
class Magnitudes {
public:
  unsigned of(Value v);
  unsigned ofResult(Operation *op);

private:
  /// What the runtime lets in: kPositionLimit is 2^30.
  static constexpr unsigned kOutside = 30;
  DenseMap<Value, unsigned> known;
};

/// Integers and tiles of them; flags are neither.
bool isInteger(Type type) {
  if (auto tile = dyn_cast<tile::TileType>(type))
    type = tile.getElementType();
  return type.isIndex() || (type.isSignlessInteger() && !type.isInteger(1));
}

unsigned Magnitudes::of(Value v) {
  auto [it, isNew] = known.try_emplace(v, kOutside);
  if (!isNew)
    return it->second;
  unsigned bits = kOutside;
  llvm::APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant))) {
    bits = constant.isZero() ? 0 : constant.abs().ceilLogBase2();
  } else if (auto argument = dyn_cast<BlockArgument>(v)) {
    // Inside a map, an element of the tile that it takes.
    if (auto map = dyn_cast<tile::MapOp>(argument.getOwner()->getParentOp()))
      bits = of(map.getInputs()[argument.getArgNumber()]);
  } else {
    bits = ofResult(v.getDefiningOp());
  }
  return known[v] = bits;
}

unsigned Magnitudes::ofResult(Operation *op) {
  auto in = [&](unsigned k) { return of(op->getOperand(k)); };
  auto widest = [&](unsigned first) {
    unsigned bits = 0;
    for (unsigned k = first; k < op->getNumOperands(); ++k)
      if (isInteger(op->getOperand(k).getType()))
        bits = std::max(bits, in(k));
    return bits;
  };
  return llvm::TypeSwitch<Operation *, unsigned>(op)
      .Case<arith::AddIOp, arith::SubIOp>([&](Operation *sum) -> unsigned {
        // a - (a // b) b, the remainder, is no larger than the divisor.
        if (auto product = sum->getOperand(1).getDefiningOp<arith::MulIOp>())
          if (auto quotient =
                  product.getLhs().getDefiningOp<arith::FloorDivSIOp>();
              quotient && isa<arith::SubIOp>(sum) &&
              quotient.getLhs() == sum->getOperand(0) &&
              quotient.getRhs() == product.getRhs())
            return of(product.getRhs());
        return widest(0) + 1;
      })
      .Case([&](arith::MulIOp product) -> unsigned {
        // (a // b) b is within b of a.
        auto quotient = product.getLhs().getDefiningOp<arith::FloorDivSIOp>();
        if (quotient && quotient.getRhs() == product.getRhs())
          return std::max(of(quotient.getLhs()), in(1)) + 1;
        return in(0) + in(1);
      })
      .Case<arith::FloorDivSIOp, arith::DivSIOp>(
          [&](Operation *) { return in(0); })
      .Case([&](arith::RemSIOp) { return in(1); })
      .Case<arith::MinSIOp, arith::MaxSIOp>(
          [&](Operation *) { return widest(0); })
      .Case<arith::SelectOp, math::AbsIOp, arith::IndexCastOp, arith::ExtSIOp,
            tile::MaskOp, tile::ReduceOp>(
          [&](Operation *) { return widest(0); })
      .Case([&](tile::MapOp map) {
        if (map->hasAttr(tile::kPositionsAttrName))
          return kOutside;
        return of(map.getBody().front().getTerminator()->getOperand(0));
      })
      // A whole number as large as a real may be.
      .Case([](arith::FPToSIOp) { return 62u; })
      .Default([](Operation *) { return kOutside; });
}

} // namespace

/// Why an integer is too wide, and what to write instead.
static LogicalResult refuse(Operation *culprit, Magnitudes &magnitudes) {
  InFlightDiagnostic error = culprit->emitError(
      "an integer of this kernel may exceed 64 bits: it is ");
  StringRef kind =
      llvm::TypeSwitch<Operation *, StringRef>(culprit)
          .Case([](arith::MulIOp) { return "the product of integers of"; })
          .Case([](arith::AddIOp) { return "the sum of integers of"; })
          .Case([](arith::SubIOp) { return "the difference of integers of"; })
          .Default([](Operation *) { return "made of integers of"; });
  error << kind;
  bool first = true;
  SmallVector<Value> work;
  for (Value operand : culprit->getOperands()) {
    if (!isInteger(operand.getType()))
      continue;
    error << (first ? " " : " and ") << magnitudes.of(operand);
    first = false;
    work.push_back(operand);
  }
  error << " bits; ";
  // The widest of what it comes from.
  DenseSet<Value> seen;
  bool fromReal = false;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!isInteger(v.getType()) || !seen.insert(v).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (auto map = dyn_cast<tile::MapOp>(argument.getOwner()->getParentOp()))
        work.push_back(map.getInputs()[argument.getArgNumber()]);
      continue;
    }
    Operation *op = v.getDefiningOp();
    fromReal |= isa<arith::FPToSIOp>(op);
    work.append(op->operand_begin(), op->operand_end());
    if (auto map = dyn_cast<tile::MapOp>(op))
      work.push_back(map.getBody().front().getTerminator()->getOperand(0));
  }
  if (fromReal)
    error << "the floor of a real may take 62; compute with it as a real, "
             "`1.0 * floor(x)`";
  else
    error << "positions, lengths and integer parameters may take 30; compute "
             "it as a real, `1.0 * i`";
  return failure();
}

FailureOr<unsigned> attn::integerLaneBits(Operation *grid) {
  Magnitudes magnitudes;
  unsigned most = 0;
  Operation *culprit = nullptr; // the first whose result is too wide
  grid->walk([&](Operation *op) {
    if (!isa_and_nonnull<tile::MapOp, tile::RowsOp>(op->getParentOp()))
      return;
    // What lanes compute, and the scalars from outside that they meet.
    SmallVector<Value> values(op->getResults());
    values.append(op->operand_begin(), op->operand_end());
    for (Value v : values)
      if (isInteger(v.getType())) {
        most = std::max(most, magnitudes.of(v));
        if (most > 63 && !culprit)
          culprit = op;
      }
  });
  if (culprit)
    return refuse(culprit, magnitudes);
  return most > 31 ? 64u : 32u;
}
