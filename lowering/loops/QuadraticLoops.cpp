//===- QuadraticLoops.cpp - the grid and the loop over keys ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/QuadraticLoops.h"
#include "dialect/tile/MatrixUnit.h"
#include "lowering/loops/QuadraticEmitter.h"
#include "lowering/loops/Sequences.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

LogicalResult QuadraticEmitter::begin(int64_t queries) {
  tileQ = queries;
  for (Value input : {op.getQuery(), op.getKey(), op.getValue()})
    if (cast<MemRefType>(input.getType()).isDynamicDim(3))
      return op.emitOpError("is lowered once row lengths are known; specialise "
                            "the function first");
  dimE = cast<MemRefType>(op.getValue().getType()).getDimSize(3);
  perQuery = b.type("q", {tileQ});
  perQueryInt = b.type("q", {tileQ}, b.getIndexType());
  perQueryValue = b.type("qe", {tileQ, dimE});
  perPair = b.type("qk", {tileQ, tileK});

  auto yield = cast<YieldOp>(op.getKappa().front().getTerminator());
  gauge = yield.getValues().size() == 2;
  unitFactor = gauge && matchPattern(yield.getValues()[1], m_OneFloat());
  queryExtent = endOfQueries = b.dim(op.getQuery(), 2);
  keyExtent = b.dim(op.getKey(), 2);
  // No heads, no groups: keep the division defined.
  group = b.make<arith::DivSIOp>(b.dim(op.getQuery(), 1),
                                 b.max(b.dim(op.getKey(), 1), b.index(1)));
  return success();
}

/// Work items: batches, key/value heads and `extents`.
scf::ForallOp QuadraticEmitter::enterGrid(ArrayRef<OpFoldResult> extents) {
  SmallVector<OpFoldResult> all{b.dim(op.getQuery(), 0), b.dim(op.getKey(), 1)};
  all.append(extents.begin(), extents.end());
  auto grid = b.make<scf::ForallOp>(all, ValueRange{}, std::nullopt);
  b.setInsertionPointToStart(grid.getBody());
  at.batch = grid.getInductionVar(0);
  at.kvHead = grid.getInductionVar(1);
  return grid;
}

/// The lengths of this item's sequence, and whether it is one to compute.
void QuadraticEmitter::enterSequence() {
  at.nk = emitLength(b, op.getKeyLengths(), at.batch, keyExtent);
  at.nq = emitLength(b, op.getQueryLengths(), at.batch, queryExtent);
  enterChosen(b, *op.getSchedule(), op.getMask(), at);
  enterQueries(b, split, at);
}

/// Where the queries of a tile of one head stand.
void QuadraticEmitter::enterPositions() {
  firstPosition = b.add(q0, emitOffset(b, op, at));
  Value rowsHere = b.min(b.sub(endOfQueries, q0), b.index(tileQ));
  lastPosition = b.sub(b.add(firstPosition, rowsHere), b.index(1));
  positions = b.iota(firstPosition, perQueryInt);
}

FailureOr<Value> QuadraticEmitter::sinkOf() {
  RegionTiles normalizer(b, op.getNormalizer(), at, tileQ, tileK);
  if (failed(normalizer.enterQuery({}, nullptr, positions)))
    return failure();
  Value sink = op.getTerm(NormalizerTerm::Sink);
  return sink ? normalizer.uniform(sink) : Value();
}

/// What is carried, and from what it starts. A sink (or null) starts the gauge
/// (S3).
QuadraticEmitter::State QuadraticEmitter::initialState(Value sink) {
  State state;
  auto carry = [&](Slot slot, bool wanted, auto start) {
    index[slot] = wanted ? static_cast<int>(state.size()) : -1;
    if (wanted)
      state.push_back(start());
  };
  bool wantsBest = op.wants(Result::Max) || op.wants(Result::Argmax);
  carry(Acc, op.wants(Result::O), [&] { return b.splat(0, perQueryValue); });
  carry(Mass, true, [&] { return b.splat(0, perQuery); });
  carry(GaugeMax, gauge, [&] {
    return sink ? b.splat(b.mul(sink, b.real(kLog2e)), perQuery)
                : b.splat(-INFINITY, perQuery);
  });
  carry(Best, wantsBest, [&] { return b.splat(-INFINITY, perQuery); });
  carry(BestAt, op.wants(Result::Argmax),
        [&] { return b.splat(b.index(-1), perQueryInt); });
  carry(PLogP, op.wants(Result::Entropy), [&] { return b.splat(0, perQuery); });
  return state;
}

/// The tile of queries of one head, and what needs no key.
LogicalResult QuadraticEmitter::loadQueries() {
  int64_t length = cast<MemRefType>(op.getQuery().getType()).getDimSize(3);
  Value end = endOfQueries == queryExtent ? at.nq : b.min(at.nq, endOfQueries);
  queries = b.make<tile::LoadOp>(b.type("qd", {tileQ, length}), op.getQuery(),
                                 ValueRange{at.batch, at.head, q0}, end);
  kappa.emplace(b, op.getKappa(), at, tileQ, tileK);
  mask.emplace(b, op.getMask(), at, tileQ, tileK);
  if (failed(kappa->enterQuery(queries, &op.getQueryMap(), positions)))
    return failure();
  return mask->enterQuery({}, nullptr, positions);
}

FailureOr<QuadraticEmitter::State> QuadraticEmitter::stateFromSink() {
  FailureOr<Value> sink = sinkOf();
  if (failed(sink))
    return failure();
  return initialState(*sink);
}

/// What `extent` lacks to be whole tiles.
Value QuadraticEmitter::padding(Value extent, int64_t tile) {
  Value tiles = b.make<arith::CeilDivSIOp>(extent, b.index(tile));
  return b.sub(b.mul(tiles, b.index(tile)), extent);
}

scf::ForallOp QuadraticEmitter::enterTilesOfHeads() {
  Value tiles = b.make<arith::CeilDivSIOp>(queryExtent, b.index(tileQ));
  scf::ForallOp grid = enterGrid({group, tiles});
  if (op.getSchedule()->getProducts() == Products::Tiles)
    grid->setAttr(tile::kMatrixUnitAttrName, UnitAttr::get(grid.getContext()));
  at.head = b.add(b.mul(at.kvHead, group), grid.getInductionVar(2));
  q0 = b.mul(grid.getInductionVar(3), b.index(tileQ));
  if (op.getSchedule()->getShortFirst()) {
    Value start = b.sub(q0, padding(queryExtent, tileQ));
    endOfQueries = b.add(start, b.index(tileQ));
    q0 = b.max(start, b.index(0));
  }
  enterSequence();
  enterPositions();
  return grid;
}

LogicalResult QuadraticEmitter::lower() {
  if (failed(begin(tileQ)))
    return failure();
  enterTilesOfHeads();
  if (failed(loadQueries()))
    return failure();
  FailureOr<State> state = stateFromSink();
  Value missing =
      op.getSchedule()->getShortFirst() ? padding(at.nk, tileK) : Value();
  if (failed(state) ||
      failed(loopOverKeys(b.index(0), at.nk, *state, missing)) ||
      failed(finish(*state)))
    return failure();
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The loop over keys
//===----------------------------------------------------------------------===//

Visibility QuadraticEmitter::visibility(Value j0, Value j1) {
  Box box{firstPosition, lastPosition, j0, b.sub(j1, b.index(1))};
  return emitVisibility(
      b, op.getMask(), box, [&](Value v) { return mask->uniform(v); },
      [&](Value v) { return mask->axes()(v) == Uniform; });
}

LogicalResult QuadraticEmitter::loopOverKeys(Value first, Value last,
                                             State &state, Value missing) {
  bool failedInside = false;
  // The loops count keys that are missing, too.
  if (missing)
    last = b.add(last, missing);
  auto keyAt = [&](Value j) {
    return missing ? b.max(b.sub(j, missing), first) : j;
  };
  // A loop from `lo` to `hi`; under a mask its body runs where some pair of
  // [j, j + step) may be visible.
  auto loop =
      [&](Value lo, Value hi, int64_t step, State &carried,
          function_ref<State(Value, Value, Visibility, const State &)> body) {
        auto forOp = b.make<scf::ForOp>(
            lo, hi, b.index(step), carried,
            [&](OpBuilder &nested, Location, Value j, ValueRange arguments) {
              OpBuilder::InsertionGuard guard(b);
              b.setInsertionPoint(nested.getInsertionBlock(),
                                  nested.getInsertionPoint());
              State inside(arguments);
              Value end = b.min(b.add(j, b.index(step)), hi);
              Visibility visible = visibility(keyAt(j), keyAt(end));
              if (op.getMask().empty()) {
                b.make<scf::YieldOp>(body(j, end, visible, inside));
                return;
              }
              auto ifOp = b.make<scf::IfOp>(TypeRange(arguments), visible.some,
                                            /*withElse=*/true);
              b.setInsertionPointToStart(ifOp.elseBlock());
              b.make<scf::YieldOp>(arguments);
              b.setInsertionPointToStart(ifOp.thenBlock());
              b.make<scf::YieldOp>(body(j, end, visible, inside));
              b.setInsertionPointAfter(ifOp);
              b.make<scf::YieldOp>(ifOp.getResults());
            });
        carried.assign(forOp.getResults().begin(), forOp.getResults().end());
      };
  auto step = [&](Value j, Value end, Visibility visible, const State &inside) {
    Value limit = at.nk;
    if (missing) // of the first tile; later ones say how far keys go
      limit =
          b.select(b.cmp(CmpIPredicate::slt, j, missing), keyAt(end), limit);
    FailureOr<State> next = keyStep(keyAt(j), limit, inside, visible);
    failedInside |= failed(next);
    return failed(next) ? inside : *next;
  };
  if (op.getMask().empty()) {
    loop(first, last, tileK, state, step);
    return failure(failedInside);
  }
  // Whole stretches that nobody sees are skipped at once.
  loop(first, last, 32 * tileK, state,
       [&](Value lo, Value hi, Visibility, const State &outer) {
         State carried(outer);
         loop(lo, hi, tileK, carried, step);
         return carried;
       });
  return failure(failedInside);
}

unsigned attn::quadraticStages(QuadraticOp op) {
  KeySplitAttr split = op.getSchedule()->getKeySplit();
  return split.getParts() == 0 ? 1 : split.getPerHead() ? 2 : 3;
}

LogicalResult attn::lowerQuadratic(QuadraticOp op, unsigned stage) {
  QuadraticEmitter emitter(op);
  KeySplitAttr split = op.getSchedule()->getKeySplit();
  if (split.getParts() == 0)
    return emitter.lower();
  if (split.getPerHead())
    return stage == 0 ? emitter.lowerPartsOfHead() : emitter.lowerMergeOfHead();
  return stage == 0   ? emitter.lowerGather()
         : stage == 1 ? emitter.lowerParts()
                      : emitter.lowerMerge();
}
