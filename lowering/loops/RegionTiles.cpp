//===- RegionTiles.cpp - kernel regions as tiles --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/RegionTiles.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

RegionTiles::RegionTiles(TileBuilder &b, Region &region, const Coordinates &at,
                         int64_t tileQ, int64_t tileK, Products products)
    : b(b), region(region), at(at), tileQ(tileQ), tileK(tileK),
      products(products), axesOf(region, {QueryAxis, KeyAxis, QueryAxis}) {}

static bool isRow(Value v) { return isa<RowType>(v.getType()); }
Value RegionTiles::headArgument() {
  return at.heads ? Value(region.front().getArguments().back()) : Value();
}
bool RegionTiles::readsRows(Operation *op) {
  return isa<DotOp, SqDistOp, SqNormOp>(op);
}

//===----------------------------------------------------------------------===//
// Once a work item, once a query
//===----------------------------------------------------------------------===//

LogicalResult RegionTiles::enterQuery(Value rows, Region *queryMap,
                                      Value positions) {
  queryPositions = positions;
  if (region.empty())
    return success();
  if (Value head = headArgument())
    queryTiles[head] = at.heads;
  for (Operation &op : region.front()) {
    if (op.getNumResults() != 1 || axesOf(op.getResult(0)) != Uniform ||
        isRow(op.getResult(0)))
      continue;
    if (auto index = dyn_cast<IndexOp>(op)) {
      switch (index.getPosition()) {
      case Position::Head:
        uniforms.map(index.getResult(), at.head);
        break;
      case Position::KvHead:
        uniforms.map(index.getResult(), at.kvHead);
        break;
      case Position::Batch:
        uniforms.map(index.getResult(), at.batch);
        break;
      case Position::Nq:
        uniforms.map(index.getResult(), at.nq);
        break;
      case Position::Nk:
        uniforms.map(index.getResult(), at.nk);
        break;
      case Position::I:
      case Position::J:
        break; // never uniform
      }
      continue;
    }
    if (readsRows(&op))
      return op.emitError("a product of two parameter rows is the same for "
                          "every query and key; pass its value as a parameter");
    if (!op.hasTrait<OpTrait::IsTerminator>())
      b.clone(op, uniforms);
  }
  if (rows && failed(makeRows(QueryAxis, rows, queryMap, positions)))
    return failure();

  // Scalars of the query that pairs use: hoisted out of the loop over keys.
  for (Operation &op : region.front()) {
    if (op.getNumResults() == 1 && axesOf(op.getResult(0)) != PairAxes)
      continue;
    for (Value operand : op.getOperands())
      if (axesOf(operand) == QueryAxis && !isRow(operand) &&
          !operand.getDefiningOp<IndexOp>() && !queryTiles.count(operand)) {
        queryTiles[operand] = mapAt(
            QueryAxis, operand, {}, b.type("q", {tileQ}, operand.getType()),
            [](ValueRange roots, ValueRange) { return roots[0]; });
        if (!queryTiles[operand])
          return failure();
      }
  }
  return success();
}

/// One tile.rows makes every row of a side that a pair needs, and every scalar
/// that is read off a row (norms, dots with parameters).
LogicalResult RegionTiles::makeRows(Axes side, Value rows, Region *sideMap,
                                    Value positions) {
  bool isQuery = side == QueryAxis;
  auto &tiles = isQuery ? queryTiles : keyTiles;
  Value argument = region.getArgument(isQuery ? 0 : 1);
  llvm::SetVector<Value> wanted;
  bool identity = !sideMap || sideMap->empty();
  if (!identity)
    wanted.insert(argument);
  for (Operation &op : region.front()) {
    Axes axes = op.getNumResults() ? axesOf(op.getResult(0)) : PairAxes;
    if (readsRows(&op) && axes == side)
      wanted.insert(op.getResult(0));
    if (axes == PairAxes)
      for (Value operand : op.getOperands())
        if (isRow(operand) && axesOf(operand) == side &&
            (operand != argument || !identity))
          wanted.insert(operand);
  }
  if (identity)
    tiles[argument] = rows;
  if (wanted.empty())
    return success();

  int64_t extent = isQuery ? tileQ : tileK;
  SmallVector<Type> types;
  for (Value v : wanted)
    types.push_back(
        isRow(v) ? b.type(isQuery ? "qd" : "kd",
                          {extent, cast<RowType>(v.getType()).getLength()})
                 : b.type(isQuery ? "q" : "k", {extent}));
  SmallVector<Value> scalars{positions};
  if (isQuery && at.heads)
    scalars.push_back(at.heads);
  auto op = b.make<tile::RowsOp>(types, rows, scalars);
  {
    OpBuilder::InsertionGuard guard(b);
    auto loaded = cast<tile::TileType>(rows.getType());
    Block *block = b.createBlock(
        &op.getBody(), {},
        {RowType::get(b.getContext(), loaded.getShape()[1], b.getF32Type()),
         b.getIndexType()},
        {b.loc, b.loc});
    Value row = block->getArgument(0), position = block->getArgument(1);
    Value head = at.head;
    if (scalars.size() > 1)
      head = block->addArgument(b.getIndexType(), b.loc);
    auto cloneInto = [&](Region &source, IRMapping &map, Axes levels) {
      for (Operation &nested : source.front().without_terminator()) {
        if (auto index = dyn_cast<IndexOp>(nested)) {
          if (index.getPosition() == (isQuery ? Position::I : Position::J))
            map.map(index.getResult(), position);
          else if (!map.contains(index.getResult()))
            map.map(index.getResult(),
                    index.getPosition() == Position::Head     ? head
                    : index.getPosition() == Position::KvHead ? at.kvHead
                    : index.getPosition() == Position::Batch  ? at.batch
                    : index.getPosition() == Position::Nq     ? at.nq
                                                              : at.nk);
          continue;
        }
        if (levels == PairAxes || (axesOf(nested.getResult(0)) & ~side) == 0)
          b.clone(nested, map);
      }
    };
    if (!identity) {
      IRMapping map;
      map.map(sideMap->getArgument(0), row);
      cloneInto(*sideMap, map, PairAxes);
      row = map.lookupOrDefault(
          cast<YieldOp>(sideMap->front().getTerminator()).getValues()[0]);
    }
    IRMapping map;
    map.map(argument, row);
    if (Value argument = headArgument(); argument && isQuery)
      map.map(argument, head);
    cloneInto(region, map, side);
    SmallVector<Value> yields;
    for (Value v : wanted)
      yields.push_back(map.lookup(v));
    b.make<tile::YieldOp>(yields);
  }
  for (auto [v, t] : llvm::zip(wanted, op.getResults()))
    tiles[v] = t;
  return success();
}

//===----------------------------------------------------------------------===//
// Once a key, once a pair
//===----------------------------------------------------------------------===//

LogicalResult RegionTiles::enterKeys(Value key, Value j0, Value positions,
                                     Value end) {
  keyTiles.clear();
  keyNorms.clear();
  keyMemory = key;
  firstKey = j0;
  endOfKeys = end;
  keyPositions = positions;
  if (key && isa<tile::TileType>(key.getType()) &&
      failed(makeRows(KeyAxis, key, nullptr, positions)))
    return failure();
  if (region.empty())
    return success();
  for (Operation &op : region.front()) {
    if (op.getNumResults() == 1 && axesOf(op.getResult(0)) != PairAxes)
      continue;
    for (Value operand : op.getOperands())
      if (axesOf(operand) == KeyAxis && !isRow(operand) &&
          !operand.getDefiningOp<IndexOp>() && !keyTiles.count(operand)) {
        keyTiles[operand] =
            mapAt(KeyAxis, operand, {}, b.type("k", {tileK}, operand.getType()),
                  [](ValueRange roots, ValueRange) { return roots[0]; });
        if (!keyTiles[operand])
          return failure();
      }
  }
  for (Operation &op : region.front())
    if (isa<DotOp, SqDistOp>(op) && axesOf(op.getResult(0)) == PairAxes) {
      FailureOr<Value> pair = pairTile(&op);
      if (failed(pair))
        return failure();
      keyTiles[op.getResult(0)] = *pair;
    }
  return success();
}

/// Leading indices of a read at key j, where they are uniform and the last is
/// j.
bool RegionTiles::isReadAtKey(ValueRange indices) {
  auto last =
      indices.empty() ? IndexOp() : indices.back().getDefiningOp<IndexOp>();
  return last && last.getPosition() == Position::J &&
         llvm::all_of(indices.drop_back(),
                      [&](Value v) { return axesOf(v) == Uniform; });
}

FailureOr<Value> RegionTiles::keyRow(Value v) {
  if (Value known = keyTiles.lookup(v))
    return known;
  int64_t length = cast<RowType>(v.getType()).getLength();
  tile::TileType type = b.type("kd", {tileK, length});
  SmallVector<Value> indices;
  Value memory;
  if (v == region.getArgument(1)) {
    memory = keyMemory;
    indices = {at.batch, at.kvHead};
  } else if (auto row = v.getDefiningOp<ParamRowOp>();
             row && isReadAtKey(row.getIndices())) {
    memory = row.getMemory();
    for (Value index : row.getIndices().drop_back())
      indices.push_back(uniform(index));
  } else {
    return emitError(v.getLoc(), "this row of the key was not hoisted; run "
                                 "attn-hoist-row-maps first");
  }
  indices.push_back(firstKey);
  Value tile = b.make<tile::LoadOp>(type, memory, indices, endOfKeys);
  keyTiles[v] = tile;
  return tile;
}

Value attn::emitRowMap(TileBuilder &b, Region &map, Value rows, Value positions,
                       const Coordinates &at) {
  if (map.empty())
    return rows;
  auto loaded = cast<tile::TileType>(rows.getType());
  Value yielded = map.front().getTerminator()->getOperand(0);
  tile::TileType type =
      b.type(loaded.getAxes(), {loaded.getShape()[0],
                                cast<RowType>(yielded.getType()).getLength()});
  auto made =
      b.make<tile::RowsOp>(TypeRange{type}, rows, ValueRange{positions});
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&made.getBody(), {},
                               {map.getArgument(0).getType(), b.getIndexType()},
                               {b.loc, b.loc});
  IRMapping values;
  values.map(map.getArgument(0), block->getArgument(0));
  for (Operation &nested : map.front().without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(nested)) {
      Position position = index.getPosition();
      values.map(index.getResult(), position == Position::Head     ? at.head
                                    : position == Position::KvHead ? at.kvHead
                                    : position == Position::Batch  ? at.batch
                                    : position == Position::Nq     ? at.nq
                                    : position == Position::Nk
                                        ? at.nk
                                        : block->getArgument(1));
      continue;
    }
    b.clone(nested, values);
  }
  b.make<tile::YieldOp>(ValueRange{values.lookupOrDefault(yielded)});
  return made.getResult(0);
}
