//===- QuadraticHeadSplit.cpp - keys in parts, a head in a tile -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part of the keys is summed as all of them would be; its sums, in units of
// 2^m of its own, go to a workspace. The merge adds the parts in their order.
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/QuadraticEmitter.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

/// Rows of sums of values in a part; behind them a row of masses and one of
/// gauges.
Value QuadraticEmitter::rowsOfPart() {
  return b.min(queryExtent, b.index(split.getFewQueries()));
}

void QuadraticEmitter::storePart(Value part, const State &state) {
  Value rows = rowsOfPart(), zero = b.index(0);
  Value base = b.mul(part, b.add(rows, b.index(2)));
  auto store = [&](Slot slot, Value row, Value limit) {
    if (Value tile = get(state, slot))
      b.make<tile::StoreOp>(tile, op.getState()[0],
                            ValueRange{at.batch, at.head, row, zero}, limit);
  };
  store(Acc, base, b.add(base, at.nq));
  store(Mass, b.add(base, rows), at.nq);
  store(GaugeMax, b.add(base, b.add(rows, b.index(1))), at.nq);
}

QuadraticEmitter::State QuadraticEmitter::loadPart(Value part,
                                                   const State &like) {
  Value rows = rowsOfPart();
  Value base = b.mul(part, b.add(rows, b.index(2)));
  Value massRow = b.add(base, rows);
  State sums(like.size());
  auto load = [&](Slot slot, Value row, Value column, Value limit) {
    if (Value tile = get(like, slot))
      sums[index[slot]] = b.make<tile::LoadOp>(
          cast<tile::TileType>(tile.getType()), op.getState()[0],
          ValueRange{at.batch, at.head, row, column}, limit);
  };
  load(Acc, b.add(base, q0), b.index(0), b.add(base, at.nq));
  load(Mass, massRow, q0, at.nq);
  load(GaugeMax, b.add(massRow, b.index(1)), q0, at.nq);
  return sums;
}

LogicalResult QuadraticEmitter::lowerPartsOfHead() {
  if (failed(begin(tileQ)))
    return failure();
  scf::ForallOp grid = enterGrid({group, b.index(split.getParts())});
  at.head = b.add(b.mul(at.kvHead, group), grid.getInductionVar(2));
  q0 = b.index(0);
  enterSequence();
  Value part = grid.getInductionVar(3), length = partLength();
  Value lo = b.mul(part, length);
  auto used = b.make<scf::IfOp>(b.cmp(CmpIPredicate::slt, lo, at.nk),
                                /*withElse=*/false);
  b.setInsertionPointToStart(used.thenBlock());
  Value hi = b.min(b.add(lo, length), at.nk);
  enterPositions();
  if (failed(loadQueries()))
    return failure();
  FailureOr<State> state = stateFromSink();
  if (failed(state) || failed(loopOverKeys(lo, hi, *state)))
    return failure();
  storePart(part, *state);
  op.erase();
  return success();
}

LogicalResult QuadraticEmitter::lowerMergeOfHead() {
  if (failed(begin(tileQ)))
    return failure();
  enterTilesOfHeads();
  FailureOr<State> first = stateFromSink();
  if (failed(first))
    return failure();
  Value parts = b.make<arith::CeilDivSIOp>(at.nk, partLength());
  auto loop = b.make<scf::ForOp>(
      b.index(0), parts, b.index(1), *first,
      [&](OpBuilder &nested, Location, Value part, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        State before(carried);
        b.make<scf::YieldOp>(sumOf(before, loadPart(part, before)));
      });
  if (failed(finish(State(loop.getResults()))))
    return failure();
  op.erase();
  return success();
}
