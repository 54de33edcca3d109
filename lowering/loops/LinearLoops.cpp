//===- LinearLoops.cpp - grids of the linear order ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/LinearLoops.h"
#include "dialect/tile/RowMajor.h"
#include "lowering/loops/LinearEmitter.h"
#include "lowering/loops/RowResults.h"
#include "lowering/loops/Sequences.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

LinearEmitter::LinearEmitter(LinearOp op)
    : op(op), b(OpBuilder(op), op.getLoc()),
      tileQ(op.getSchedule()->getTileQ()), tileK(op.getSchedule()->getTileK()),
      dimE(op.getMappedRow(2).getLength()), rank(op.getRank()),
      needsMass(op.getNormalize() == Normalize::Mass ||
                op.wants(Result::Mass) || op.wants(Result::Lse)),
      statePerHead(op.hasStatePerQueryHead()) {}

/// Work items: batches, key/value heads, heads of the group (if `perQueryHead`)
/// and `extents`. Leaves the induction variables of the extents in
/// `inductions`. Features of keys that differ by query head have a state each.
void LinearEmitter::enterGrid(ValueRange extents, bool perQueryHead) {
  Value heads = b.dim(op.getQuery(), 1), kvHeads = b.dim(op.getKey(), 1);
  queryExtent = b.dim(op.getQuery(), 2);
  keyExtent = b.dim(op.getKey(), 2);
  SmallVector<OpFoldResult> grid{b.dim(op.getQuery(), 0), kvHeads};
  // No heads, no groups: keep the division defined.
  group = b.make<arith::DivSIOp>(heads, b.max(kvHeads, b.index(1)));
  if (perQueryHead)
    grid.push_back(group);
  grid.append(extents.begin(), extents.end());
  auto forall = b.make<scf::ForallOp>(grid, ValueRange{}, std::nullopt);
  if (isTokenByToken())
    forall->setAttr(tile::kRowMajorAttrName, b.getUnitAttr());
  b.setInsertionPointToStart(forall.getBody());
  auto variables = forall.getInductionVars();
  at.batch = variables[0];
  at.kvHead = variables[1];
  // What is made once a key/value head knows no query head.
  at.head =
      perQueryHead ? b.add(b.mul(at.kvHead, group), variables[2]) : at.kvHead;
  if (perQueryHead)
    group = {};
  inductions.assign(variables.begin() + (perQueryHead ? 3 : 2),
                    variables.end());
  at.nk = emitLength(b, op.getKeyLengths(), at.batch, keyExtent);
  at.nq = op.isRecurrent()
              ? queryExtent
              : emitLength(b, op.getQueryLengths(), at.batch, queryExtent);
  enterChosen(b, *op.getSchedule(), op.getMask(), at);
}

void LinearEmitter::enterTokens() {
  int64_t few = op.getSchedule()->getKeySplit().getFewQueries();
  if (few == 0)
    return;
  auto mine = isTokenByToken() ? CmpIPredicate::sle : CmpIPredicate::sgt;
  auto chosen = b.make<scf::IfOp>(b.cmp(mine, at.nk, b.index(few)),
                                  /*withElse=*/false);
  b.setInsertionPointToStart(chosen.thenBlock());
}

//===----------------------------------------------------------------------===//
// All queries see all keys
//===----------------------------------------------------------------------===//

/// Keys of a part: a function of nk alone (S8), whole tiles, and not so few
/// that summing the parts costs more than it gains.
static Value partLength(TileBuilder &b, Value nk, int64_t tileK) {
  constexpr int64_t leastTiles = 8;
  Value tiles = b.make<arith::CeilDivSIOp>(nk, b.index(tileK));
  Value each = b.make<arith::CeilDivSIOp>(tiles, b.index(kStateParts));
  return b.mul(b.max(each, b.index(leastTiles)), b.index(tileK));
}

LogicalResult LinearEmitter::lowerParts() {
  enterGrid(b.index(kStateParts), statePerHead);
  Value part = inductions[0], length = partLength(b, at.nk, tileK);
  Value lo = b.mul(part, length);
  // Neither is negative; an unsigned minimum is seen to be a length.
  Value hi = b.make<arith::MinUIOp>(b.add(lo, length), at.nk);
  // The first part is always there to be read.
  Value isUsed = b.either(b.cmp(CmpIPredicate::slt, lo, at.nk),
                          b.cmp(CmpIPredicate::eq, part, b.index(0)));
  auto used = b.make<scf::IfOp>(isUsed, /*withElse=*/false);
  b.setInsertionPointToStart(used.thenBlock());
  State state = absorbRange(lo, hi, zeroState(), {});
  Value row = b.mul(part, b.index(dimE + 1));
  Value end = b.add(row, b.index(dimE));
  b.make<tile::StoreOp>(state.s, op.getState()[0],
                        ValueRange{at.batch, stateHead(), row}, end);
  if (state.z)
    b.make<tile::StoreOp>(state.z, op.getState()[0],
                          ValueRange{at.batch, stateHead(), end, b.index(0)},
                          b.index(rank));
  op.erase();
  return success();
}

/// Rows of the state, a few an item, so that sequences of the other order cost
/// little: parts are added in their order.
LogicalResult LinearEmitter::lowerMerge() {
  constexpr int64_t rowsOfItem = 16;
  enterGrid(b.index(llvm::divideCeil(dimE + 1, rowsOfItem)), statePerHead);
  Value firstRow = b.mul(inductions[0], b.index(rowsOfItem));
  Value length = partLength(b, at.nk, tileK);
  Value parts = b.make<arith::CeilDivSIOp>(at.nk, length);
  auto several = b.make<scf::IfOp>(b.cmp(CmpIPredicate::sgt, parts, b.index(1)),
                                   /*withElse=*/false);
  b.setInsertionPointToStart(several.thenBlock());
  Value lastRow =
      b.min(b.add(firstRow, b.index(rowsOfItem)), b.index(dimE + 1));
  auto rows = b.make<scf::ForOp>(firstRow, lastRow, b.index(1));
  b.setInsertionPointToStart(rows.getBody());
  Value row = rows.getInductionVar();
  tile::TileType type = b.type("r", {rank});
  auto load = [&](Value part) -> Value {
    Value at0 = b.add(b.mul(part, b.index(dimE + 1)), row);
    return b.make<tile::LoadOp>(
        type, op.getState()[0],
        ValueRange{at.batch, stateHead(), at0, b.index(0)}, b.index(rank));
  };
  Value sum = load(b.index(0));
  auto loop = b.make<scf::ForOp>(
      b.index(1), parts, b.index(1), ValueRange{sum},
      [&](OpBuilder &nested, Location, Value part, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        Value next = b.map(type, {carried[0], load(part)},
                           [&](ValueRange x) { return b.add(x[0], x[1]); });
        b.make<scf::YieldOp>(ValueRange{next});
      });
  b.make<tile::StoreOp>(loop.getResult(0), op.getState()[0],
                        ValueRange{at.batch, stateHead(), row, b.index(0)},
                        b.index(rank));
  op.erase();
  return success();
}

LogicalResult LinearEmitter::lowerQueries() {
  Value tiles =
      b.make<arith::CeilDivSIOp>(b.dim(op.getQuery(), 2), b.index(tileQ));
  enterGrid(tiles, /*perQueryHead=*/true);
  Value q0 = b.mul(inductions[0], b.index(tileQ));
  Value first = b.add(q0, emitOffset(b, op, at));
  Value positions = b.iota(first, b.type("q", {tileQ}, b.getIndexType()));
  Value rows = queryRows(q0, positions);
  Value features = rows ? queryFeatures(rows, positions) : Value();
  if (!features)
    return failure();
  Value s = b.make<tile::LoadOp>(b.type("er", {dimE, rank}), op.getState()[0],
                                 ValueRange{at.batch, stateHead(), b.index(0)},
                                 b.index(dimE));
  RowSums sums;
  sums.isCheap = true;
  sums.acc = b.contract(features, s, b.splat(0, b.type("qe", {tileQ, dimE})));
  tile::TileType perQuery = b.type("q", {tileQ});
  if (needsMass) {
    Value z = b.make<tile::LoadOp>(
        b.type("r", {rank}), op.getState()[0],
        ValueRange{at.batch, stateHead(), b.index(dimE), b.index(0)},
        b.index(rank));
    sums.mass = b.contract(features, z, b.splat(0, perQuery));
  } else {
    sums.mass = b.splat(0, perQuery);
  }
  if (!op.wants(Result::O))
    sums.acc = {};
  RowResults results(b, op, at, tileQ);
  if (failed(results.emit(sums, q0, queryExtent, positions)))
    return failure();
  op.erase();
  return success();
}

unsigned attn::linearStages(LinearOp op) {
  return op.getLicence()->getLinear() == LinearScan::Whole ? 3 : 1;
}

LogicalResult attn::lowerLinear(LinearOp op, unsigned stage) {
  LinearEmitter emitter(op);
  if (op.getLicence()->getLinear() != LinearScan::Whole)
    return emitter.lowerOrdered();
  return stage == 0   ? emitter.lowerParts()
         : stage == 1 ? emitter.lowerMerge()
                      : emitter.lowerQueries();
}
