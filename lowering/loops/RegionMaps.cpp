//===- RegionMaps.cpp - element-wise parts of a kernel region -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One tile.map a slice of the region: what has fewer axes, or was read off rows
// or memory, comes in as a tile.
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/RegionTiles.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

/// A leaf of a map at `level` is a tile: a value of fewer axes, a position, or
/// what was read off rows or memory.
bool RegionTiles::isLeaf(Value v, Axes level) {
  Axes axes = axesOf(v);
  if (axes == Uniform)
    return false;
  if (axes != level || (level == PairAxes && keyTiles.contains(v)))
    return true;
  Operation *op = v.getDefiningOp();
  if (!op || isa<IndexOp>(op) || readsRows(op))
    return true;
  auto load = dyn_cast<memref::LoadOp>(op);
  return load && level == KeyAxis && isReadAtKey(load.getIndices());
}

FailureOr<Value> RegionTiles::leafTile(Value v) {
  if (Value known = queryTiles.lookup(v))
    return known;
  if (Value known = keyTiles.lookup(v))
    return known;
  if (auto index = v.getDefiningOp<IndexOp>())
    return index.getPosition() == Position::I ? queryPositions : keyPositions;
  if (auto load = v.getDefiningOp<memref::LoadOp>()) {
    SmallVector<Value> indices;
    for (Value index : load.getIndices().drop_back())
      indices.push_back(uniform(index));
    indices.push_back(firstKey);
    Value tile = b.make<tile::LoadOp>(b.type("k", {tileK}), load.getMemRef(),
                                      indices, at.nk);
    keyTiles[v] = tile;
    return tile;
  }
  return emitError(v.getLoc(), "has no tile at this level");
}

/// Multiplications and divisions by uniform scalars gather into one factor, so
/// that -x / h^2 * log2(e) costs one multiplication however it is written.
void RegionTiles::emitScaled(Operation *op, IRMapping &map, Operation *mapOp) {
  auto inBody = [&](Value v) {
    // A block of a loop that is still being made has no parent yet.
    Operation *parent = v.getParentBlock()->getParentOp();
    return parent && mapOp->isAncestor(parent);
  };
  Value x, factor;
  OpBuilder::InsertionGuard guard(b);
  auto outside = [&](auto make) {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPoint(mapOp);
    return make();
  };
  if (isa<arith::MulFOp>(op)) {
    Value l = map.lookupOrDefault(op->getOperand(0)),
          r = map.lookupOrDefault(op->getOperand(1));
    if (inBody(l) != inBody(r)) {
      x = inBody(l) ? l : r;
      factor = inBody(l) ? r : l;
    }
  } else if (isa<arith::DivFOp>(op)) {
    Value l = map.lookupOrDefault(op->getOperand(0)),
          r = map.lookupOrDefault(op->getOperand(1));
    if (inBody(l) && !inBody(r)) {
      x = l;
      factor = outside([&] { return b.div(b.real(1), r); });
    }
  } else if (isa<arith::NegFOp>(op)) {
    x = map.lookupOrDefault(op->getOperand(0));
    factor = outside([&] { return b.real(-1); });
  }
  if (!factor) {
    b.clone(*op, map);
    return;
  }
  if (auto inner = x.getDefiningOp<arith::MulFOp>();
      inner && inBody(inner) && !inBody(inner.getRhs())) {
    Value combined = outside([&] { return b.mul(inner.getRhs(), factor); });
    x = inner.getLhs();
    factor = combined;
  }
  map.map(op->getResult(0), b.mul(x, factor));
}

Value RegionTiles::mapAt(Axes level, ValueRange roots, ValueRange extra,
                         tile::TileType type,
                         function_ref<Value(ValueRange, ValueRange)> finish) {
  // The slice that is computed inside, and the tiles at its edge.
  llvm::SetVector<Operation *> slice;
  llvm::SetVector<Value> leaves;
  SmallVector<Value> work(roots.begin(), roots.end());
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (axesOf(v) == Uniform)
      continue;
    if (isLeaf(v, level))
      leaves.insert(v);
    else if (slice.insert(v.getDefiningOp()))
      work.append(v.getDefiningOp()->operand_begin(),
                  v.getDefiningOp()->operand_end());
  }
  SmallVector<Value> inputs;
  for (Value leaf : leaves) {
    FailureOr<Value> tile = leafTile(leaf);
    if (failed(tile))
      return {};
    inputs.push_back(*tile);
  }
  inputs.append(extra.begin(), extra.end());

  auto op = b.make<tile::MapOp>(type, inputs);
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&op.getBody());
  for (Value input : inputs)
    block->addArgument(cast<tile::TileType>(input.getType()).getElementType(),
                       b.loc);
  IRMapping map(uniforms);
  for (auto [leaf, argument] : llvm::zip(leaves, block->getArguments()))
    map.map(leaf, argument);
  for (Operation &candidate : region.front())
    if (slice.contains(&candidate))
      emitScaled(&candidate, map, op);
  SmallVector<Value> values;
  for (Value root : roots)
    values.push_back(map.lookupOrDefault(root));
  b.make<tile::YieldOp>(ValueRange{
      finish(values, block->getArguments().drop_front(leaves.size()))});
  return op.getResult();
}

Value RegionTiles::pairs(Value root) {
  if (axesOf(root) == PairAxes)
    if (Value known = keyTiles.lookup(root))
      return known;
  return mapPairs(root, {}, root.getType(),
                  [](ValueRange roots, ValueRange) { return roots[0]; });
}

Value RegionTiles::mapPairs(
    ValueRange roots, ValueRange extra, Type element,
    function_ref<Value(ValueRange, ValueRange)> finish) {
  return mapAt(PairAxes, roots, extra, b.type("qk", {tileQ, tileK}, element),
               finish);
}
