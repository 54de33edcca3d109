//===- Sequences.cpp - lengths and positions of a sequence ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/Sequences.h"
#include "lowering/loops/Documents.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

Value attn::emitLength(TileBuilder &b, Value lengths, Value batch,
                       Value extent) {
  if (!lengths)
    return extent;
  Value given = b.cmp(CmpIPredicate::ne, b.dim(lengths, 0), b.index(0));
  auto choice = b.make<scf::IfOp>(
      given,
      [&](OpBuilder &nested, Location loc) {
        Value length =
            memref::LoadOp::create(nested, loc, lengths, ValueRange{batch});
        length = arith::IndexCastOp::create(nested, loc, nested.getIndexType(),
                                            length);
        scf::YieldOp::create(nested, loc, length);
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, extent);
      });
  return choice.getResult(0);
}

/// S1: `offset` as given, else key_len - query_len.
Value attn::emitOffset(TileBuilder &b, Value query, Value key,
                       Value queryLengths, Value offsets,
                       const Coordinates &at) {
  Value queryExtent = b.dim(query, 2), keyExtent = b.dim(key, 2);
  Value derived = b.select(b.cmp(CmpIPredicate::eq, queryExtent, keyExtent),
                           at.nk, queryExtent);
  Value queryLength = derived;
  if (queryLengths) {
    Value given = b.cmp(CmpIPredicate::ne, b.dim(queryLengths, 0), b.index(0));
    queryLength = b.select(given, at.nq, derived);
  }
  Value natural = b.sub(at.nk, queryLength);
  if (!offsets)
    return natural;
  Value extent = b.dim(offsets, 0);
  Value given = b.cmp(CmpIPredicate::ne, extent, b.index(0));
  auto choice = b.make<scf::IfOp>(
      given,
      [&](OpBuilder &nested, Location loc) {
        TileBuilder n(nested, loc);
        Value one = n.cmp(CmpIPredicate::eq, extent, n.index(1));
        Value i = n.select(one, n.index(0), at.batch);
        Value load = n.make<memref::LoadOp>(offsets, ValueRange{i});
        n.make<scf::YieldOp>(
            ValueRange{n.make<arith::IndexCastOp>(n.getIndexType(), load)});
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, natural);
      });
  return choice.getResult(0);
}

void attn::enterChosen(TileBuilder &b, ScheduleAttr schedule, Region &mask,
                       const Coordinates &at) {
  if (schedule.getPairCost() == 0)
    return;
  // Costs and lengths are far below 2^31 each; products of three may not fit.
  auto real = [&](Value v) -> Value {
    Value wide = b.make<arith::IndexCastOp>(b.getI64Type(), v);
    return b.make<arith::SIToFPOp>(b.getF64Type(), wide);
  };
  auto cost = [&](int64_t c) -> Value {
    return b.make<arith::ConstantOp>(b.getF64FloatAttr(double(c)));
  };
  Value nq = real(at.nq), nk = real(at.nk);
  Value pairs = b.mul(b.mul(nq, nk), cost(schedule.getPairCost()));
  Value rows = b.mul(b.add(nq, nk), cost(schedule.getRowCost()));
  Value isLinear = b.cmp(arith::CmpFPredicate::OGT, pairs, rows);
  Documents documents(b, mask, at);
  if (documents.areThere())
    isLinear = b.both(isLinear, documents.inRuns(at.nk));
  auto chosen = b.make<scf::IfOp>(
      schedule.getOrder() == Order::Linear ? isLinear : b.negate(isLinear),
      /*withElse=*/false);
  b.setInsertionPointToStart(chosen.thenBlock());
}

void attn::enterQueries(TileBuilder &b, KeySplitAttr split,
                        const Coordinates &at) {
  if (split.getFewQueries() == 0)
    return;
  auto mine = split.getParts() ? CmpIPredicate::sle : CmpIPredicate::sgt;
  Value isMine = b.cmp(mine, at.nq, b.index(split.getFewQueries()));
  if (split.getLeastKeys()) {
    auto keys = split.getParts() ? CmpIPredicate::sge : CmpIPredicate::slt;
    Value enough = b.cmp(keys, at.nk, b.index(split.getLeastKeys()));
    isMine =
        split.getParts() ? b.both(isMine, enough) : b.either(isMine, enough);
  }
  auto chosen = b.make<scf::IfOp>(isMine, /*withElse=*/false);
  b.setInsertionPointToStart(chosen.thenBlock());
}
