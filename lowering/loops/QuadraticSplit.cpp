//===- QuadraticSplit.cpp - keys in parts ---------------------------------===//
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

#include "lowering/SplitKeys.h"
#include "lowering/loops/QuadraticEmitter.h"

using namespace mlir;
using namespace attn;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

/// Where there are two operations, moves the builder to where the sequence is
/// this one's to compute.
void QuadraticEmitter::enterSplit() {
  if (!op->hasAttr(kSplitAttrName))
    return;
  Value few = b.both(b.cmp(CmpIPredicate::sle, at.nq, b.index(kSplitQueries)),
                     b.cmp(CmpIPredicate::sge, at.nk, b.index(kSplitKeys)));
  auto chosen = b.make<scf::IfOp>(op.getState() ? few : b.negate(few),
                                  /*withElse=*/false);
  b.setInsertionPointToStart(chosen.thenBlock());
}

/// Keys of a part: a function of nk alone, whole tiles.
Value QuadraticEmitter::keyPartLength() {
  Value tiles = b.make<arith::CeilDivSIOp>(at.nk, b.index(tileK));
  Value each = b.make<arith::CeilDivSIOp>(tiles, b.index(kKeyParts));
  return b.mul(b.max(each, b.index(kLeastTiles)), b.index(tileK));
}

/// Rows of sums of values in a part; behind them a row of masses and one of
/// gauges.
Value QuadraticEmitter::rowsOfPart() {
  return b.min(queryExtent, b.index(kSplitQueries));
}

void QuadraticEmitter::storePart(Value part, const State &state) {
  Value rows = rowsOfPart(), zero = b.index(0);
  Value base = b.mul(part, b.add(rows, b.index(2)));
  auto store = [&](Slot slot, Value row, Value limit) {
    if (Value tile = get(state, slot))
      b.make<tile::StoreOp>(tile, op.getState(),
                            ValueRange{at.batch, at.head, row, zero}, limit);
  };
  store(Acc, base, b.add(base, at.nq));
  store(Mass, b.add(base, rows), at.nq);
  store(GaugeMax, b.add(base, b.add(rows, b.index(1))), at.nq);
}

/// The state with all parts in it.
void QuadraticEmitter::mergeParts(State &state) {
  Value rows = rowsOfPart();
  Value parts = b.make<arith::CeilDivSIOp>(at.nk, keyPartLength());
  auto loop = b.make<scf::ForOp>(
      b.index(0), parts, b.index(1), state,
      [&](OpBuilder &nested, Location, Value part, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        State before(carried), after(carried);
        Value base = b.mul(part, b.add(rows, b.index(2)));
        auto load = [&](Slot slot, Value row, Value column, Value limit) {
          return b
              .make<tile::LoadOp>(
                  cast<tile::TileType>(before[index[slot]].getType()),
                  op.getState(), ValueRange{at.batch, at.head, row, column},
                  limit)
              .getResult();
        };
        Value massRow = b.add(base, rows), scales[2];
        if (Value m = get(before, GaugeMax)) {
          Value here = load(GaugeMax, b.add(massRow, b.index(1)), q0, at.nq);
          Value peak = b.map(perQuery, {m, here}, [&](ValueRange x) {
            return b.make<arith::MaximumFOp>(x[0], x[1]);
          });
          // Nothing was seen: no difference of infinities.
          Value shift = b.map(perQuery, peak, [&](ValueRange x) {
            Value none = b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY));
            return b.select(none, b.real(0), x[0]);
          });
          auto scaleOf = [&](Value gauge) {
            return b.map(perQuery, {gauge, shift},
                         [&](ValueRange x) { return b.exp2Below(x[0], x[1]); });
          };
          scales[0] = scaleOf(m);
          scales[1] = scaleOf(here);
          after[index[GaugeMax]] = peak;
        }
        auto merge = [&](Slot slot, Value row, Value column, Value limit) {
          Value old = get(before, slot);
          if (!old)
            return;
          auto type = cast<tile::TileType>(old.getType());
          SmallVector<Value> inputs{old, load(slot, row, column, limit)};
          if (scales[0])
            inputs.append({scales[0], scales[1]});
          after[index[slot]] = b.map(type, inputs, [&](ValueRange x) {
            return x.size() == 2 ? b.add(x[0], x[1])
                                 : b.add(b.mul(x[0], x[2]), b.mul(x[1], x[3]));
          });
        };
        merge(Acc, b.add(base, q0), b.index(0), b.add(base, at.nq));
        merge(Mass, massRow, q0, at.nq);
        b.make<scf::YieldOp>(after);
      });
  state.assign(loop.getResults().begin(), loop.getResults().end());
}
