//===- QuadraticLoops.cpp - the grid and the loop over keys ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/QuadraticLoops.h"
#include "lowering/SplitKeys.h"
#include "lowering/loops/QuadraticEmitter.h"
#include "lowering/loops/Sequences.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

LogicalResult QuadraticEmitter::lower(unsigned stage) {
  bool isSplit = static_cast<bool>(op.getState()), isPart = isSplit && !stage;
  auto queryMemory = cast<MemRefType>(op.getQuery().getType());
  auto valueMemory = cast<MemRefType>(op.getValue().getType());
  auto keyMemory = cast<MemRefType>(op.getKey().getType());
  for (MemRefType memory : {queryMemory, keyMemory, valueMemory})
    if (memory.isDynamicDim(3))
      return op.emitOpError("is lowered once row lengths are known; specialise "
                            "the function first");
  dimE = valueMemory.getDimSize(3);
  perQuery = b.type("q", {tileQ});
  perQueryInt = b.type("q", {tileQ}, b.getIndexType());
  perQueryValue = b.type("qe", {tileQ, dimE});
  perPair = b.type("qk", {tileQ, tileK});

  auto yield = cast<YieldOp>(op.getKappa().front().getTerminator());
  gauge = yield.getValues().size() == 2;
  unitFactor = gauge && matchPattern(yield.getValues()[1], m_OneFloat());

  // Work items: batches, key/value heads, heads of the group, tiles of queries;
  // or parts of the keys, which one tile sees.
  Value batches = b.dim(op.getQuery(), 0), heads = b.dim(op.getQuery(), 1);
  Value kvHeads = b.dim(op.getKey(), 1);
  queryExtent = b.dim(op.getQuery(), 2);
  keyExtent = b.dim(op.getKey(), 2);
  // No heads, no groups: keep the division defined.
  Value group = b.make<arith::DivSIOp>(heads, b.max(kvHeads, b.index(1)));
  Value tiles = b.make<arith::CeilDivSIOp>(queryExtent, b.index(tileQ));
  Value last = isPart ? b.index(kKeyParts) : tiles;
  auto grid = b.make<scf::ForallOp>(
      ArrayRef<OpFoldResult>{batches, kvHeads, group, last}, ValueRange{},
      std::nullopt);
  b.setInsertionPointToStart(grid.getBody());
  at.batch = grid.getInductionVar(0);
  at.kvHead = grid.getInductionVar(1);
  at.head = b.add(b.mul(at.kvHead, group), grid.getInductionVar(2));
  Value item = grid.getInductionVar(3);
  q0 = isPart ? b.index(0) : b.mul(item, b.index(tileQ));
  at.nk = emitLength(b, op.getKeyLengths(), at.batch, keyExtent);
  at.nq = emitLength(b, op.getQueryLengths(), at.batch, queryExtent);
  enterChosen(b, *op.getSchedule(), op.getMask(), at);
  enterSplit();
  Value lo = b.index(0), hi = at.nk;
  if (isPart) {
    Value length = keyPartLength();
    lo = b.mul(item, length);
    auto used = b.make<scf::IfOp>(b.cmp(CmpIPredicate::slt, lo, at.nk),
                                  /*withElse=*/false);
    b.setInsertionPointToStart(used.thenBlock());
    hi = b.min(b.add(lo, length), at.nk);
  }

  firstPosition = b.add(q0, emitOffset(b, op, at));
  Value rowsHere = b.min(b.sub(queryExtent, q0), b.index(tileQ));
  lastPosition = b.sub(b.add(firstPosition, rowsHere), b.index(1));
  positions = b.iota(firstPosition, perQueryInt);
  bool isMerge = isSplit && !isPart;
  if (!isMerge && failed(enterQueries()))
    return failure();
  FailureOr<State> state = startState();
  if (failed(state))
    return failure();
  if (isMerge)
    mergeParts(*state);
  else if (failed(loopOverKeys(lo, hi, *state)))
    return failure();
  if (isPart)
    storePart(item, *state);
  else if (failed(finish(*state)))
    return failure();
  op.erase();
  return success();
}

LogicalResult QuadraticEmitter::enterQueries() {
  auto queryMemory = cast<MemRefType>(op.getQuery().getType());
  queries = b.make<tile::LoadOp>(
      b.type("qd", {tileQ, queryMemory.getDimSize(3)}), op.getQuery(),
      ValueRange{at.batch, at.head, q0}, at.nq);

  kappa.emplace(b, op.getKappa(), at, tileQ, tileK);
  mask.emplace(b, op.getMask(), at, tileQ, tileK);
  if (failed(kappa->enterQuery(queries, &op.getQueryMap(), positions)))
    return failure();
  return mask->enterQuery({}, nullptr, positions);
}

/// What is carried, and from what it starts. A sink starts the gauge (S3).
FailureOr<QuadraticEmitter::State> QuadraticEmitter::startState() {
  State state;
  auto carry = [&](Slot slot, bool wanted, auto start) {
    index[slot] = wanted ? static_cast<int>(state.size()) : -1;
    if (wanted)
      state.push_back(start());
  };
  Value sink;
  RegionTiles normalizer(b, op.getNormalizer(), at, tileQ, tileK);
  if (failed(normalizer.enterQuery({}, nullptr, positions)))
    return failure();
  auto term = [&](NormalizerTerm t) -> Value {
    Value v = op.getTerm(t);
    return v ? normalizer.uniform(v) : Value();
  };
  sink = term(NormalizerTerm::Sink);
  bool wantsO = op.wants(Result::O);
  bool wantsBest = op.wants(Result::Max) || op.wants(Result::Argmax);
  carry(Acc, wantsO, [&] { return b.splat(0, perQueryValue); });
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

//===----------------------------------------------------------------------===//
// The loop over keys
//===----------------------------------------------------------------------===//

Visibility QuadraticEmitter::visibility(Value j0, Value j1) {
  Box box{firstPosition, lastPosition, j0, b.sub(j1, b.index(1))};
  return emitVisibility(
      b, op.getMask(), box, [&](Value v) { return mask->uniform(v); },
      [&](Value v) { return mask->axes()(v) == Uniform; });
}

LogicalResult QuadraticEmitter::loopOverKeys(Value first, Value end,
                                             State &state) {
  bool failedInside = false;
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
              Visibility visible = visibility(j, end);
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
  auto step = [&](Value j0, Value, Visibility visible, const State &inside) {
    FailureOr<State> next = keyStep(j0, inside, visible);
    failedInside |= failed(next);
    return failed(next) ? inside : *next;
  };
  if (op.getMask().empty()) {
    loop(first, end, tileK, state, step);
    return failure(failedInside);
  }
  // Whole stretches that nobody sees are skipped at once.
  loop(first, end, 32 * tileK, state,
       [&](Value lo, Value hi, Visibility, const State &outer) {
         State carried(outer);
         loop(lo, hi, tileK, carried, step);
         return carried;
       });
  return failure(failedInside);
}

unsigned attn::quadraticStages(QuadraticOp op) { return op.getState() ? 2 : 1; }

LogicalResult attn::lowerQuadratic(QuadraticOp op, unsigned stage) {
  return QuadraticEmitter(op).lower(stage);
}
