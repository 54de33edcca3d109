//===- LinearFeatures.cpp - features of a tile, and their sums ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/LinearEmitter.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// The state
//===----------------------------------------------------------------------===//

LinearEmitter::State LinearEmitter::zeroState() {
  State state{b.splat(0, b.type("er", {dimE, rank})), {}};
  if (needsMass)
    state.z = b.splat(0, b.type("r", {rank}));
  return state;
}

/// The rows of a state: Dv of S, one of z, and one that begins with the number
/// of tokens n, as n mod 2^20 and n / 2^20, which f32 holds exactly.
static constexpr int64_t kTokensLow = int64_t(1) << 20;

LinearEmitter::State LinearEmitter::loadState() {
  Value memory = op.getState()[0], end = b.index(dimE);
  State state;
  state.s =
      b.make<tile::LoadOp>(b.type("er", {dimE, rank}), memory,
                           ValueRange{at.batch, stateHead(), b.index(0)}, end);
  if (needsMass)
    state.z = b.make<tile::LoadOp>(
        b.type("r", {rank}), memory,
        ValueRange{at.batch, stateHead(), end, b.index(0)}, b.index(rank));
  return state;
}

Value LinearEmitter::loadTokens() {
  auto part = [&](int64_t column) -> Value {
    Value x = b.make<memref::LoadOp>(
        op.getState()[0],
        ValueRange{at.batch, stateHead(), b.index(dimE + 1), b.index(column)});
    Value whole = b.make<arith::FPToSIOp>(b.getI64Type(), x);
    return b.make<arith::IndexCastOp>(b.getIndexType(), whole);
  };
  Value count = b.add(part(0), b.mul(part(1), b.index(kTokensLow)));
  // As everywhere: what computes positions counts on less than 2^30 of them.
  return b.make<arith::RemSIOp>(count, b.index(int64_t(1) << 30));
}

void LinearEmitter::storeState(const State &state) {
  Value memory = op.getState()[1], end = b.index(dimE),
        last = b.index(dimE + 1);
  b.make<tile::StoreOp>(state.s, memory,
                        ValueRange{at.batch, stateHead(), b.index(0)}, end);
  auto storeRow = [&](Value tile, Value row) {
    b.make<tile::StoreOp>(tile, memory,
                          ValueRange{at.batch, stateHead(), row, b.index(0)},
                          b.index(rank));
  };
  Value zero = b.splat(0, b.type("r", {rank}));
  storeRow(state.z ? state.z : zero, end);
  storeRow(zero, last);
  auto storePart = [&](Value part, int64_t column) {
    part = b.make<arith::IndexCastOp>(b.getI64Type(), part);
    b.make<memref::StoreOp>(
        b.make<arith::SIToFPOp>(b.getF32Type(), part), memory,
        ValueRange{at.batch, stateHead(), last, b.index(column)});
  };
  Value count = b.add(tokens, at.nk), low = b.index(kTokensLow);
  storePart(b.make<arith::RemUIOp>(count, low), 0);
  storePart(b.make<arith::DivUIOp>(count, low), 1);
}

SmallVector<Value> LinearEmitter::toValues(const State &state) const {
  SmallVector<Value> values{state.s};
  if (state.z)
    values.push_back(state.z);
  return values;
}

LinearEmitter::State LinearEmitter::fromValues(ValueRange values) const {
  return {values[0], values.size() > 1 ? values[1] : Value()};
}

LinearEmitter::State LinearEmitter::absorb(Value features, Value values,
                                           State state, Value scale) {
  auto scaled = [&](Value x) {
    return !scale ? x
                  : b.map(cast<tile::TileType>(x.getType()), x,
                          [&](ValueRange v) { return b.mul(v[0], scale); });
  };
  State next;
  next.s = b.contract(features, values, scaled(state.s));
  if (state.z)
    next.z = b.reduce(tile::Combine::Add, features, scaled(state.z));
  return next;
}

LinearEmitter::State LinearEmitter::absorbRange(Value lo, Value hi, State state,
                                                Base base) {
  auto loop = b.make<scf::ForOp>(
      lo, hi, b.index(tileK), toValues(state),
      [&](OpBuilder &nested, Location, Value j0, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        Value features = keyFeatures(keyRows(j0, hi, tileK), j0, hi, tileK);
        if (base && decays()) {
          features = scaledBy(features, ratioTile(keyPositions(j0, tileK), base,
                                                  /*isQuery=*/false));
        }
        Value values = keyValues(j0, hi, tileK);
        b.make<scf::YieldOp>(
            toValues(absorb(features, values, fromValues(carried), {})));
      });
  return fromValues(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Tiles of features
//===----------------------------------------------------------------------===//

Value LinearEmitter::keyValues(Value j0, Value limit, int64_t tileK) {
  return b.make<tile::LoadOp>(b.type("ke", {tileK, dimE}), op.getValue(),
                              ValueRange{at.batch, at.kvHead, j0}, limit);
}

Value LinearEmitter::queryRows(Value q0, Value positions) {
  auto memory = cast<MemRefType>(op.getQuery().getType());
  StringRef mapped = areFeaturesApart() ? "qd" : "qr";
  tile::TileType type = b.type(mapped, {tileQ, op.getMappedRow(0).getLength()});
  bool identity = op.getQueryMap().empty();
  // One row is no work for lanes that are rows.
  if (isTokenByToken() && !identity &&
      memory.getDimSize(3) == type.getShape()[1]) {
    Value row = b.make<tile::LoadOp>(type, op.getQuery(),
                                     ValueRange{at.batch, at.head, q0}, at.nq);
    if (Value made = elementwise(op.getQueryMap(), row, type))
      return made;
    row.getDefiningOp()->erase();
  }
  Value rows = b.make<tile::LoadOp>(
      identity ? type : b.type("qd", {tileQ, memory.getDimSize(3)}),
      op.getQuery(), ValueRange{at.batch, at.head, q0}, at.nq);
  return identity ? rows
                  : rowsOf(op.getQueryMap(), rows, positions, type, true);
}

Value LinearEmitter::queryFeatures(Value rows, Value positions) {
  return areFeaturesApart() ? rowsOf(op.getQueryFeatures(), rows, positions,
                                     b.type("qr", {tileQ, rank}), true)
                            : rows;
}

Value LinearEmitter::keyRows(Value j0, Value limit, int64_t tileK) {
  if (!areFeaturesApart())
    return {};
  int64_t length = cast<MemRefType>(op.getKey().getType()).getDimSize(3);
  Value rows = b.make<tile::LoadOp>(b.type("kd", {tileK, length}), op.getKey(),
                                    ValueRange{at.batch, at.kvHead, j0}, limit);
  if (op.getKeyMap().empty())
    return rows;
  return rowsOf(op.getKeyMap(), rows, keyPositions(j0, tileK),
                b.type("kd", {tileK, op.getMappedRow(1).getLength()}), false);
}

Value LinearEmitter::keyFeatures(Value rows, Value j0, Value limit,
                                 int64_t tileK) {
  int64_t length = cast<MemRefType>(op.getKey().getType()).getDimSize(3);
  tile::TileType type = b.type("kr", {tileK, rank});
  auto load = [&](StringRef axes) {
    return b.make<tile::LoadOp>(b.type(axes, {tileK, length}), op.getKey(),
                                ValueRange{at.batch, at.kvHead, j0}, limit);
  };
  Region &map = op.getKeyMap();
  Value positions = keyPositions(j0, tileK);
  Value features;
  if (rows)
    features = rowsOf(op.getKeyFeatures(), rows, positions, type, false);
  else if (length == rank)
    features = elementwise(map, load("kr"), type);
  if (!features)
    features = rowsOf(map, load("kd"), positions, type, false);
  // Rows past the end are zero, but phi(0) need not be.
  Value past = b.cmp(CmpIPredicate::sgt, b.add(j0, b.index(tileK)), limit);
  Value keep =
      b.map(b.type("k", {tileK}, b.getI1Type()), positions, [&](ValueRange j) {
        return b.cmp(CmpIPredicate::slt, j[0], positionOf(limit));
      });
  return b.make<tile::MaskOp>(type, features, past, keep, b.real(0));
}

/// A chain of element-wise maps as one tile.map; null where there is more to
/// the region.
Value LinearEmitter::elementwise(Region &map, Value rows, tile::TileType type) {
  if (map.empty())
    return rows;
  Block &block = map.front();
  AxesOf axes(map, {KeyAxis});
  for (Operation &nested : block.without_terminator()) {
    bool isRow = isa<RowType>(nested.getResult(0).getType());
    auto mapped = dyn_cast<MapOp>(nested);
    if (isRow && !mapped)
      return {};
    if (!isRow && (axes(nested.getResult(0)) != Uniform ||
                   isa<DotOp, SqNormOp, SqDistOp>(nested)))
      return {};
    // Scalars inside that differ by position, or rows of parameters.
    if (mapped && llvm::any_of(mapped.getRows(), [&](Value row) {
          return !isa<BlockArgument>(row) && !row.getDefiningOp<MapOp>();
        }))
      return {};
  }
  return b.map(type, rows, [&](ValueRange x) -> Value {
    IRMapping values; // rows stand for their coordinate
    values.map(block.getArgument(0), x[0]);
    for (Operation &nested : block.without_terminator()) {
      auto mapped = dyn_cast<MapOp>(nested);
      if (!mapped) {
        if (auto index = dyn_cast<IndexOp>(nested))
          values.map(index.getResult(),
                     index.getPosition() == Position::Head     ? at.head
                     : index.getPosition() == Position::KvHead ? at.kvHead
                     : index.getPosition() == Position::Batch  ? at.batch
                     : index.getPosition() == Position::Nq     ? at.nq
                                                               : at.nk);
        else { // one value a work item
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(b.getInsertionBlock()->getParentOp());
          b.clone(nested, values);
        }
        continue;
      }
      IRMapping inside(values);
      for (auto [argument, row] :
           llvm::zip(mapped.getBody().getArguments(), mapped.getRows()))
        inside.map(argument, values.lookup(row));
      for (Operation &scalar : mapped.getBody().front().without_terminator())
        b.clone(scalar, inside);
      values.map(mapped.getResult(),
                 inside.lookupOrDefault(
                     mapped.getBody().front().getTerminator()->getOperand(0)));
    }
    return values.lookup(block.getTerminator()->getOperand(0));
  });
}

Value LinearEmitter::rowsOf(Region &map, Value rows, Value positions,
                            tile::TileType type, bool isQuery) {
  auto made =
      b.make<tile::RowsOp>(TypeRange{type}, rows, ValueRange{positions});
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(
      &made.getBody(), {},
      {map.empty()
           ? RowType::get(b.getContext(), type.getShape()[1], b.getF32Type())
           : map.getArgument(0).getType(),
       b.getIndexType()},
      {b.loc, b.loc});
  IRMapping values;
  Value result = block->getArgument(0);
  if (!map.empty()) {
    values.map(map.getArgument(0), result);
    for (Operation &nested : map.front().without_terminator()) {
      auto index = dyn_cast<IndexOp>(nested);
      if (!index) {
        b.clone(nested, values);
        continue;
      }
      Value v;
      switch (index.getPosition()) {
      case Position::I:
      case Position::J:
        if ((index.getPosition() == Position::I) != isQuery)
          return index.emitError("a row of one side has no position of the "
                                 "other"),
                 Value();
        v = block->getArgument(1);
        break;
      case Position::Head:
        v = at.head;
        break;
      case Position::KvHead:
        v = at.kvHead;
        break;
      case Position::Batch:
        v = at.batch;
        break;
      case Position::Nq:
        v = at.nq;
        break;
      case Position::Nk:
        v = at.nk;
        break;
      }
      values.map(index.getResult(), v);
    }
    result = values.lookupOrDefault(map.front().getTerminator()->getOperand(0));
  }
  b.make<tile::YieldOp>(ValueRange{result});
  return made.getResult(0);
}
