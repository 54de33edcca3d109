//===- LinearOrdered.cpp - the state passes along the queries -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of queries takes from the state the keys before the tile, and from the
// pairs inside it the rest; then the tile's keys join the state. A decaying
// state is relative to the first position of the next tile: ratios of nearby
// positions, never the decay of a whole sequence.
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/LinearEmitter.h"
#include "lowering/loops/RowResults.h"
#include "lowering/loops/Sequences.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

LogicalResult LinearEmitter::lowerOrdered() {
  // A state of the caller's is written by one item, whatever heads read it.
  bool recurrent = op.isRecurrent();
  enterGrid({}, /*perQueryHead=*/!recurrent || statePerHead);
  enterTokens();
  if (recurrent)
    tokens = loadTokens();
  // The tokens of a call that goes on are its queries.
  Value offset = recurrent ? b.index(0) : emitOffset(b, op, at);
  if (failed(enterUniforms()))
    return failure();

  // Keys that all queries see; of those, the document of the last.
  Documents documents(b, op.getMask(), at);
  State before;
  if (recurrent) {
    before = loadState();
  } else {
    Value seen = clamped(offset), start = b.index(0);
    if (documents.areThere())
      start = documents.begin(start, seen);
    before =
        absorbRange(start, seen, zeroState(), positionOf(b.min(offset, at.nk)));
  }
  if (op.getSchedule()->getOneToken()) { // or none
    auto some = b.make<scf::IfOp>(
        b.cmp(CmpIPredicate::sgt, queryExtent, b.index(0)), /*withElse=*/true);
    b.setInsertionPointToStart(some.elseBlock());
    storeState(before);
    b.setInsertionPointToStart(some.thenBlock());
    FailureOr<State> after = emitTile(b.index(0), offset, before, documents);
    if (failed(after))
      return failure();
    storeState(*after);
    op.erase();
    return success();
  }
  // Made before its body, so that what stands in it has parents.
  auto loop = b.make<scf::ForOp>(b.index(0), queryExtent, b.index(tileQ),
                                 toValues(before));
  b.setInsertionPointToStart(loop.getBody());
  FailureOr<State> after =
      emitTile(loop.getInductionVar(), offset,
               fromValues(loop.getRegionIterArgs()), documents);
  if (failed(after))
    return failure();
  b.make<scf::YieldOp>(toValues(*after));
  if (recurrent) {
    b.setInsertionPointAfter(loop);
    storeState(fromValues(loop.getResults()));
  }
  op.erase();
  return success();
}

/// The results of the queries from row q0 on, in all heads of the item, and the
/// state with their keys. What a decaying state is relative to: the next
/// position, or the first behind the keys.
FailureOr<LinearEmitter::State> LinearEmitter::emitTile(Value q0, Value offset,
                                                        State state,
                                                        Documents &documents) {
  auto base = [&](Value j) { return positionOf(b.min(j, at.nk)); };
  Value first = b.add(q0, offset), past = b.add(first, b.index(tileQ));
  TileOfKeys keys;
  keys.begin = clamped(first);
  keys.end = clamped(past);
  keys.rows = keyRows(keys.begin, keys.end, tileQ);
  keys.features = keyFeatures(keys.rows, keys.begin, keys.end, tileQ);
  keys.values = keyValues(keys.begin, keys.end, tileQ);
  if (!keys.features)
    return failure();

  SmallVector<Value> ids; // of the document that the state is of
  if (documents.areThere())
    ids = documents.at(b.max(b.sub(keys.begin, b.index(1)), b.index(0)));
  Value firstBase = base(first), pastBase = base(past);
  {
    OpBuilder::InsertionGuard guard(b);
    if (group) { // the state stays, heads pass by
      auto heads = b.make<scf::ForOp>(b.index(0), group, b.index(1));
      b.setInsertionPointToStart(heads.getBody());
      at.head = b.add(b.mul(at.kvHead, group), heads.getInductionVar());
    }
    if (failed(emitQueries(q0, first, firstBase, keys, state, documents, ids)))
      return failure();
    if (group)
      at.head = at.kvHead;
  }

  // The next tile's state: of the document that its last key is in.
  Value scale, keyPositions = this->keyPositions(keys.begin, tileQ);
  if (documents.areThere()) {
    Value begin = documents.begin(keys.begin, keys.end);
    keyPositions = this->keyPositions(begin, tileQ);
    keys.features =
        keyFeatures(keyRows(begin, keys.end, tileQ), begin, keys.end, tileQ);
    keys.values = keyValues(begin, keys.end, tileQ);
    Value last = b.max(b.sub(keys.end, b.index(1)), b.index(0));
    Value goesOn = documents.same(last, ids);
    auto kept = [&](Value x) {
      return b.map(cast<tile::TileType>(x.getType()), x, [&](ValueRange v) {
        return b.select(goesOn, v[0], b.real(0));
      });
    };
    state.s = kept(state.s);
    if (state.z)
      state.z = kept(state.z);
  }
  if (decays()) {
    scale = ratio(pastBase, firstBase);
    keys.features =
        scaledBy(keys.features, ratioTile(keyPositions, pastBase, false));
  }
  return absorb(keys.features, keys.values, state, scale);
}

/// The results of a tile of queries of one head: of keys before the tile by
/// `state`, which is relative to position `base`, of the keys inside it one by
/// one.
LogicalResult LinearEmitter::emitQueries(Value q0, Value first, Value base,
                                         const TileOfKeys &keys,
                                         const State &state,
                                         Documents &documents, ValueRange ids) {
  tile::TileType perQuery = b.type("q", {tileQ});
  tile::TileType perQueryInt = b.type("q", {tileQ}, b.getIndexType());
  tile::TileType perQueryValue = b.type("qe", {tileQ, dimE});
  tile::TileType perPair = b.type("qk", {tileQ, tileQ});
  Value positions = b.iota(positionOf(first), perQueryInt);
  Value keyPositions = this->keyPositions(keys.begin, tileQ);
  Value queryRows = this->queryRows(q0, positions);
  Value query = queryRows ? queryFeatures(queryRows, positions) : Value();
  RegionTiles kappa(b, op.getKappa(), at, tileQ, tileQ);
  RegionTiles mask(b, op.getMask(), at, tileQ, tileQ);
  if (!query || failed(kappa.enterQuery(queryRows, nullptr, positions)) ||
      failed(kappa.enterKeys(keys.rows ? keys.rows : keys.features, keys.begin,
                             keyPositions, at.nk)) ||
      failed(mask.enterQuery({}, nullptr, positions)) ||
      failed(mask.enterKeys({}, keys.begin, keyPositions, at.nk)))
    return failure();

  // Inside the tile: pairs, by kappa itself. A row of few keys may have a kappa
  // far below the features that it is a sum of.
  ValueRange yields =
      cast<YieldOp>(op.getKappa().front().getTerminator()).getValues();
  Value edge = b.boolean(true), end = positionOf(keys.end);
  Value keep = mask.mapPairs(
      cast<YieldOp>(op.getMask().front().getTerminator()).getValues()[0],
      keyPositions, b.getI1Type(), [&](ValueRange root, ValueRange j) {
        return b.both(root[0], b.cmp(CmpIPredicate::slt, j[0], end));
      });
  Value weights = yields.size() == 1
                      ? kappa.pairs(yields[0])
                      : kappa.mapPairs(yields, {}, b.getF32Type(),
                                       [&](ValueRange root, ValueRange) {
                                         return b.mul(b.exp2(root[0]), root[1]);
                                       });
  weights = b.make<tile::MaskOp>(perPair, weights, edge, keep, b.real(0));

  // Before the tile: the state.
  RowSums sums;
  sums.isCheap = true;
  Value fade;
  if (decays())
    fade = ratioTile(positions, base, /*isQuery=*/true);
  Value fresh; // queries of another document than the state's
  if (documents.areThere()) {
    // As a number: it is looked up for every column, and not worked out.
    fresh = b.map(perQuery, positions, [&](ValueRange i) {
      return b.select(documents.same(i[0], ids), b.real(0), b.real(1));
    });
  }
  auto faded = [&](Value x) {
    if (fade)
      x = scaledBy(x, fade);
    if (!fresh)
      return x;
    return b.map(
        cast<tile::TileType>(x.getType()), {x, fresh}, [&](ValueRange v) {
          Value other = b.cmp(arith::CmpFPredicate::ONE, v[1], b.real(0));
          return b.select(other, b.real(0), v[0]);
        });
  };
  if (op.wants(Result::O)) {
    Value old = faded(b.contract(query, state.s, b.splat(0, perQueryValue)));
    sums.acc = b.contract(weights, keys.values, old, edge, keep);
  }
  sums.mass = b.splat(0, perQuery);
  if (needsMass)
    sums.mass = b.reduce(tile::Combine::Add, weights,
                         faded(b.contract(query, state.z, sums.mass)));
  RowResults results(b, op, at, tileQ);
  return results.emit(sums, q0, queryExtent, positions);
}

//===----------------------------------------------------------------------===//
// Decay
//===----------------------------------------------------------------------===//

bool LinearEmitter::decays() const { return !LinearOp(op).getDecay().empty(); }

/// The scalars of the decay that no position changes, at the builder's place.
LogicalResult LinearEmitter::enterUniforms() {
  if (!decays())
    return success();
  RegionTiles decay(b, op.getDecay(), at, tileQ, tileQ);
  Value none = b.iota(b.index(0), b.type("q", {tileQ}, b.getIndexType()));
  if (failed(decay.enterQuery({}, nullptr, none)))
    return failure();
  for (Operation &nested : op.getDecay().front())
    for (Value v : nested.getResults())
      if (decay.axes()(v) == Uniform)
        uniforms.map(v, decay.uniform(v));
  return success();
}

/// exp(e(i) - e(j)) at the builder's place, for scalar positions.
Value LinearEmitter::emitExponent(Value i, Value j) {
  Block &decay = op.getDecay().front();
  AxesOf axes(op.getDecay(), {});
  IRMapping map(uniforms);
  for (Operation &nested : decay.without_terminator()) {
    if (auto index = dyn_cast<IndexOp>(nested)) {
      if (index.getPosition() == Position::I)
        map.map(index.getResult(), i);
      else if (index.getPosition() == Position::J)
        map.map(index.getResult(), j);
      continue;
    }
    if (axes(nested.getResult(0)) != Uniform)
      b.clone(nested, map);
  }
  return b.make<math::ExpOp>(
      map.lookupOrDefault(decay.getTerminator()->getOperand(0)));
}

Value LinearEmitter::ratio(Value i, Value j) { return emitExponent(i, j); }

Value LinearEmitter::ratioTile(Value positions, Value other, bool isQuery) {
  auto type = cast<tile::TileType>(positions.getType());
  return b.map(b.type(type.getAxes(), type.getShape()), positions,
               [&](ValueRange x) {
                 // Keys past the end, whose features are 0, would have infinite
                 // ratios.
                 return isQuery ? emitExponent(x[0], other)
                                : emitExponent(other, b.min(x[0], other));
               });
}

Value LinearEmitter::scaledBy(Value tile, Value factor) {
  return b.map(cast<tile::TileType>(tile.getType()), {tile, factor},
               [&](ValueRange x) { return b.mul(x[0], x[1]); });
}
