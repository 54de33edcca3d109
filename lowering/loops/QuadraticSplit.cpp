//===- QuadraticSplit.cpp - few queries against parts of the keys ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The queries of one head are too few for a tile, and too few work items for
// the threads. So the heads that share keys give their queries to one tile, a
// row each, and the keys are split into parts. A part's sums are rows of a
// workspace: where parts begin and the order in which they are merged depend on
// nk alone (S8).
//
//===----------------------------------------------------------------------===//

#include "dialect/tile/RowMajor.h"
#include "lowering/SplitKeys.h"
#include "lowering/loops/QuadraticEmitter.h"
#include "lowering/loops/Sequences.h"

using namespace mlir;
using namespace attn;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

/// Lanes are keys, or coordinates of rows: there are no queries to fill them.
static void makeRowMajor(scf::ForallOp grid) {
  grid->setAttr(tile::kRowMajorAttrName, UnitAttr::get(grid.getContext()));
}

/// The head becomes the region's last argument: it goes with the query.
static void makeHeadArgument(Region &region) {
  if (region.empty())
    return;
  Value head =
      region.addArgument(IndexType::get(region.getContext()), region.getLoc());
  region.walk([&](IndexOp index) {
    if (index.getPosition() == Position::Head)
      index.getResult().replaceAllUsesWith(head);
  });
}

/// Keys of a part: whole tiles, and not so few that merging the parts costs
/// more than splitting gains.
Value QuadraticEmitter::partLength() {
  const int64_t leastKeys = split.getPerHead() ? kLeastTiles * tileK : 1024;
  Value tiles = b.make<arith::CeilDivSIOp>(at.nk, b.index(tileK));
  Value each = b.make<arith::CeilDivSIOp>(tiles, b.index(split.getParts()));
  int64_t least = llvm::divideCeil(leastKeys, tileK);
  return b.mul(b.max(each, b.index(least)), b.index(tileK));
}

/// `length` columns of the state's rows from `column` on; without `length` one
/// column, without that axis.
Value QuadraticEmitter::stateRows(int64_t column, int64_t length) {
  auto state = cast<MemRefType>(op.getState()[0].getType());
  SmallVector<OpFoldResult> offsets(4, b.getIndexAttr(0)),
      sizes{b.dim(op.getState()[0], 0), b.dim(op.getState()[0], 1),
            b.getIndexAttr(state.getDimSize(2)),
            b.getIndexAttr(std::max<int64_t>(length, 1))},
      strides(4, b.getIndexAttr(1));
  offsets[3] = b.getIndexAttr(column);
  if (length)
    return b.make<memref::SubViewOp>(op.getState()[0], offsets, sizes, strides);
  auto type = memref::SubViewOp::inferRankReducedResultType(
      {ShapedType::kDynamic, ShapedType::kDynamic, state.getDimSize(2)}, state,
      offsets, sizes, strides);
  return b.make<memref::SubViewOp>(cast<MemRefType>(type), op.getState()[0],
                                   offsets, sizes, strides);
}

/// The state's first row of sums of a part: behind the rows of queries.
Value QuadraticEmitter::sumRow(Value part) {
  Value queriesOfGroup = b.mul(group, at.nq);
  return b.add(b.mul(group, b.index(kFewQueries)), b.mul(part, queriesOfGroup));
}

//===----------------------------------------------------------------------===//
// The queries of a group of heads as rows
//===----------------------------------------------------------------------===//

LogicalResult QuadraticEmitter::lowerGather() {
  if (failed(begin(kFewQueries)))
    return failure();
  scf::ForallOp grid = enterGrid({group});
  makeRowMajor(grid);
  Value member = grid.getInductionVar(2), first = b.mul(at.kvHead, group);
  at.head = b.add(first, member);
  q0 = b.index(0);
  enterSequence();
  enterPositions();
  int64_t length = cast<MemRefType>(op.getQuery().getType()).getDimSize(3);
  Value rows =
      b.make<tile::LoadOp>(b.type("qd", {tileQ, length}), op.getQuery(),
                           ValueRange{at.batch, at.head, q0}, at.nq);
  rows = emitRowMap(b, op.getQueryMap(), rows, positions, at);
  Value row = b.mul(member, at.nq);
  b.make<tile::StoreOp>(rows, stateRows(0, op.getMappedRow(0).getLength()),
                        ValueRange{at.batch, first, row}, b.add(row, at.nq));
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The sums of a part
//===----------------------------------------------------------------------===//

LogicalResult QuadraticEmitter::lowerParts() {
  if (failed(begin(tileQ)))
    return failure();
  Value most = b.mul(group, b.min(queryExtent, b.index(kFewQueries)));
  scf::ForallOp grid =
      enterGrid({b.getIndexAttr(split.getParts()),
                 Value(b.make<arith::CeilDivSIOp>(most, b.index(tileQ)))});
  makeRowMajor(grid);
  Value part = grid.getInductionVar(2);
  q0 = b.mul(grid.getInductionVar(3), b.index(tileQ)); // counts rows here
  at.head = b.mul(at.kvHead, group);
  enterSequence();
  Value length = partLength(), lo = b.mul(part, length);
  Value hi = b.min(b.add(lo, length), at.nk);
  Value rows = b.mul(group, at.nq);
  auto used = b.make<scf::IfOp>(b.both(b.cmp(CmpIPredicate::slt, lo, at.nk),
                                       b.cmp(CmpIPredicate::slt, q0, rows)),
                                /*withElse=*/false);
  b.setInsertionPointToStart(used.thenBlock());

  // Row r is query r % nq of head r / nq of the group; rows past the last one
  // repeat it.
  firstPosition = emitOffset(b, op, at);
  lastPosition = b.add(firstPosition, b.sub(at.nq, b.index(1)));
  Value last = b.sub(rows, b.index(1));
  auto perRow = [&](auto body) {
    Value made = b.map(perQueryInt, b.iota(q0, perQueryInt), [&](ValueRange r) {
      return body(Value(b.make<arith::MinSIOp>(r[0], last)));
    });
    made.getDefiningOp()->setAttr(tile::kPositionsAttrName, b.getUnitAttr());
    return made;
  };
  positions = perRow([&](Value r) {
    return b.add(firstPosition, b.make<arith::RemSIOp>(r, at.nq));
  });
  at.heads = perRow([&](Value r) {
    return b.add(at.head, b.make<arith::DivSIOp>(r, at.nq));
  });

  for (Region *region : {&op.getKappa(), &op.getMask()})
    makeHeadArgument(*region);

  int64_t mapped = op.getMappedRow(0).getLength();
  queries =
      b.make<tile::LoadOp>(b.type("qd", {tileQ, mapped}), stateRows(0, mapped),
                           ValueRange{at.batch, at.head, q0}, rows);
  kappa.emplace(b, op.getKappa(), at, tileQ, tileK,
                op.getSchedule()->getProducts());
  mask.emplace(b, op.getMask(), at, tileQ, tileK);
  if (failed(kappa->enterQuery(queries, nullptr, positions)) ||
      failed(mask->enterQuery({}, nullptr, positions)))
    return failure();
  State state = initialState({});
  if (failed(loopOverKeys(lo, hi, state)))
    return failure();

  Value row = b.add(sumRow(part), q0), end = b.add(sumRow(part), rows);
  auto store = [&](Value sums, Value memory) {
    b.make<tile::StoreOp>(sums, memory, ValueRange{at.batch, at.head, row},
                          end);
  };
  if (Value acc = get(state, Acc))
    store(acc, stateRows(0, dimE));
  store(get(state, Mass), stateRows(dimE, 0));
  if (gauge)
    store(get(state, GaugeMax), stateRows(dimE + 1, 0));
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The parts in order
//===----------------------------------------------------------------------===//

QuadraticEmitter::State QuadraticEmitter::sumOf(const State &before,
                                                const State &part) {
  State next(before.size());
  Value old, fresh;
  if (gauge) {
    Value m1 = b.map(perQuery, {get(before, GaugeMax), get(part, GaugeMax)},
                     [&](ValueRange x) {
                       return b.select(b.cmp(CmpFPredicate::OLT, x[0], x[1]),
                                       x[1], x[0]);
                     });
    auto factor = [&](Value of) {
      return b.map(perQuery, {of, m1}, [&](ValueRange x) {
        // Nothing was seen yet; -inf - -inf is no number.
        Value none = b.cmp(CmpFPredicate::OEQ, x[1], b.real(-INFINITY));
        return b.exp2Below(x[0], b.select(none, b.real(0), x[1]));
      });
    };
    old = factor(get(before, GaugeMax));
    fresh = factor(get(part, GaugeMax));
    next[index[GaugeMax]] = m1;
  }
  for (Slot slot : {Acc, Mass}) {
    Value x = get(before, slot), y = get(part, slot);
    if (!x)
      continue;
    auto type = cast<tile::TileType>(x.getType());
    next[index[slot]] =
        gauge ? b.map(type, {x, old, y, fresh},
                      [&](ValueRange v) {
                        return b.add(b.mul(v[0], v[1]), b.mul(v[2], v[3]));
                      })
              : b.map(type, {x, y},
                      [&](ValueRange v) { return b.add(v[0], v[1]); });
  }
  return next;
}

/// The sums of `parts` parts for the queries whose first one has row `row` in
/// each part's rows.
QuadraticEmitter::State QuadraticEmitter::mergeParts(const State &first,
                                                     Value parts, Value row) {
  auto merge = [&](Value part, const State &before) {
    Value from = b.add(sumRow(part), row);
    Value end = b.add(from, b.sub(at.nq, q0));
    Value head = b.mul(at.kvHead, group);
    auto load = [&](Slot slot, Value memory) -> Value {
      Value like = get(before, slot);
      return !like
                 ? Value()
                 : b.make<tile::LoadOp>(like.getType(), memory,
                                        ValueRange{at.batch, head, from}, end);
    };
    State sums(before.size());
    auto set = [&](Slot slot, Value memory) {
      if (Value tile = load(slot, memory))
        sums[index[slot]] = tile;
    };
    set(Acc, stateRows(0, dimE));
    set(Mass, stateRows(dimE, 0));
    set(GaugeMax, stateRows(dimE + 1, 0));
    return sumOf(before, sums);
  };
  auto loop = b.make<scf::ForOp>(
      b.index(0), parts, b.index(1), first,
      [&](OpBuilder &nested, Location, Value part, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        b.make<scf::YieldOp>(merge(part, State(carried)));
      });
  return State(loop.getResults());
}

LogicalResult QuadraticEmitter::lowerMerge() {
  if (failed(begin(kFewQueries)))
    return failure();
  // Rows past a given length are written too.
  scf::ForallOp grid = enterTilesOfHeads();
  makeRowMajor(grid);
  Value member = grid.getInductionVar(2);
  FailureOr<State> first = stateFromSink();
  if (failed(first))
    return failure();
  Value parts = b.make<arith::CeilDivSIOp>(at.nk, partLength());
  Value isPast = b.cmp(CmpIPredicate::sge, q0, at.nq);
  State state = mergeParts(*first, b.select(isPast, b.index(0), parts),
                           b.add(b.mul(member, at.nq), q0));
  if (failed(finish(state)))
    return failure();
  op.erase();
  return success();
}
