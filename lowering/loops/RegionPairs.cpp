//===- RegionPairs.cpp - products and distances of rows -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of the query with a row of the key: the contraction, which rows it
// takes, and what a distance is made of beside it.
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/RegionTiles.h"

using namespace mlir;
using namespace attn;

/// The multiplication of q.k by a uniform scalar, where nothing else reads q.k:
/// (c q).k costs a multiplication a query, not one a pair.
Operation *RegionTiles::uniformScaling(DotOp op) {
  if (!op->hasOneUse())
    return nullptr;
  auto scaling = dyn_cast<arith::MulFOp>(*op->user_begin());
  if (!scaling || scaling->getParentRegion() != &region)
    return nullptr;
  Value other =
      scaling.getLhs() == op.getResult() ? scaling.getRhs() : scaling.getLhs();
  // A distance of the same rows shares the product as it is.
  bool shared = llvm::any_of(
      region.front(), [](Operation &nested) { return isa<SqDistOp>(nested); });
  return axesOf(other) == Uniform && !shared ? scaling : nullptr;
}

Value RegionTiles::scaledRows(Value rows, Operation *scaling) {
  Value &tile = scaled[scaling];
  if (!tile) { // outside the loop over keys
    Value factor = uniform(axesOf(scaling->getOperand(0)) == Uniform
                               ? scaling->getOperand(0)
                               : scaling->getOperand(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(rows);
    if (Operation *def = factor.getDefiningOp();
        def && def->getBlock() == rows.getParentBlock() &&
        rows.getDefiningOp()->isBeforeInBlock(def))
      b.setInsertionPointAfter(def);
    tile = b.map(cast<tile::TileType>(rows.getType()), rows,
                 [&](ValueRange x) { return b.mul(x[0], factor); });
  }
  return tile;
}

/// Rows that came from bf16, as that again: what multiplies pairs of products
/// takes them.
Value RegionTiles::storedRows(Value rows) {
  if (!stored) { // outside the loop over keys
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(rows);
    auto type = cast<tile::TileType>(rows.getType());
    stored = b.make<tile::CastOp>(
        b.type(type.getAxes(), type.getShape(), b.getBF16Type()), rows);
  }
  return stored;
}

/// The eps of S5: what kappa adds to the distance wherever it uses it.
Value RegionTiles::distanceAddend(SqDistOp op) {
  Value addend;
  for (Operation *user : op.getResult().getUsers()) {
    auto add = dyn_cast<arith::AddFOp>(user);
    if (!add)
      return b.real(0);
    Value other = add.getLhs() == op.getResult() ? add.getRhs() : add.getLhs();
    if (axesOf(other) != Uniform || (addend && addend != other))
      return b.real(0);
    addend = other;
  }
  return addend ? uniform(addend) : b.real(0);
}

FailureOr<Value> RegionTiles::pairTile(Operation *op) {
  Value q = op->getOperand(0), k = op->getOperand(1);
  if (axesOf(q) != QueryAxis)
    std::swap(q, k);
  Value rows = queryTiles.lookup(q);
  if (axesOf(q) != QueryAxis || axesOf(k) != KeyAxis || !rows)
    return op->emitError("pairs a row of the query with a row of the key");
  FailureOr<Value> keys = keyRow(k);
  if (failed(keys))
    return failure();
  tile::TileType type = b.type("qk", {tileQ, tileK});
  // The same dot serves every dot and distance of the same two rows.
  Value dot;
  for (Operation &other : region.front()) {
    Value known = other.getNumResults() == 1
                      ? keyTiles.lookup(other.getResult(0))
                      : Value();
    if (!known || !isa<DotOp, SqDistOp>(other) ||
        !((other.getOperand(0) == q && other.getOperand(1) == k) ||
          (other.getOperand(0) == k && other.getOperand(1) == q)))
      continue;
    if (auto distance = known.getDefiningOp<tile::SqDistOp>())
      dot = distance.getDot();
    else
      dot = known;
  }
  if (!dot) {
    bool asStored = products == Products::Pairs && q == region.getArgument(0);
    Operation *scaling =
        isa<DotOp>(op) && !asStored ? uniformScaling(cast<DotOp>(op)) : nullptr;
    Value left = scaling    ? scaledRows(rows, scaling)
                 : asStored ? storedRows(rows)
                            : rows;
    dot = b.contract(left, *keys, b.splat(0, type));
    if (scaling)
      keyTiles[scaling->getResult(0)] = dot;
  }
  if (isa<DotOp>(op))
    return dot;
  Value &qn = queryNorms[rows];
  if (!qn) { // outside the loop over keys
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(rows);
    qn = b.make<tile::SqNormOp>(b.type("q", {tileQ}), rows);
  }
  Value &kn = keyNorms[*keys];
  if (!kn)
    kn = b.make<tile::SqNormOp>(b.type("k", {tileK}), *keys);
  return b
      .make<tile::SqDistOp>(type, dot, qn, kn,
                            distanceAddend(cast<SqDistOp>(op)), rows, *keys)
      .getResult();
}
