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

#include "lowering/loops/Documents.h"
#include "lowering/loops/LinearEmitter.h"
#include "lowering/loops/RowResults.h"
#include "lowering/loops/Sequences.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

LogicalResult LinearEmitter::lowerOrdered() {
  enterGrid({}, /*perQueryHead=*/true);
  Value offset = emitOffset(b, op, at);
  if (failed(enterUniforms()))
    return failure();
  auto clamped = [&](Value position) {
    return b.min(b.max(position, b.index(0)), at.nk);
  };
  tile::TileType perQuery = b.type("q", {tileQ});
  tile::TileType perQueryInt = b.type("q", {tileQ}, b.getIndexType());
  tile::TileType perQueryValue = b.type("qe", {tileQ, dimE});
  tile::TileType perPair = b.type("qk", {tileQ, tileQ});

  // Keys that all queries see; of those, the document of the last.
  Documents documents(b, op.getMask(), at);
  Value seen = clamped(offset), start = b.index(0);
  if (documents.areThere())
    start = documents.begin(start, seen);
  State before = absorbRange(start, seen, zeroState(), offset);
  // Made before its body, so that what stands in it has parents.
  auto loop = b.make<scf::ForOp>(b.index(0), queryExtent, b.index(tileQ),
                                 toValues(before));
  b.setInsertionPointToStart(loop.getBody());
  Value q0 = loop.getInductionVar();
  State state = fromValues(loop.getRegionIterArgs());
  Value first = b.add(q0, offset), past = b.add(first, b.index(tileQ));
  Value j0 = clamped(first), end = clamped(past);
  Value positions = b.iota(first, perQueryInt);
  Value keyPositions = b.iota(j0, b.type("k", {tileQ}, b.getIndexType()));
  Value queryRows = this->queryRows(q0, positions);
  Value query = queryRows ? queryFeatures(queryRows, positions) : Value();
  Value keyRows = this->keyRows(j0, end, tileQ);
  Value key = keyFeatures(keyRows, j0, end, tileQ);
  Value values = keyValues(j0, end, tileQ);
  RegionTiles kappa(b, op.getKappa(), at, tileQ, tileQ);
  RegionTiles mask(b, op.getMask(), at, tileQ, tileQ);
  if (!query || !key ||
      failed(kappa.enterQuery(queryRows, nullptr, positions)) ||
      failed(kappa.enterKeys(keyRows ? keyRows : key, j0, keyPositions)) ||
      failed(mask.enterQuery({}, nullptr, positions)) ||
      failed(mask.enterKeys({}, j0, keyPositions))) {
    return failure();
  }

  // Inside the tile: pairs, by kappa itself. A row of few keys may have a kappa
  // far below the features that it is a sum of.
  ValueRange yields =
      cast<YieldOp>(op.getKappa().front().getTerminator()).getValues();
  Value edge = b.boolean(true);
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
    fade = ratioTile(positions, first, /*isQuery=*/true);
  Value fresh; // queries of another document than the state's
  SmallVector<Value> ids;
  if (documents.areThere()) {
    ids = documents.at(b.max(b.sub(j0, b.index(1)), b.index(0)));
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
    sums.acc = b.contract(weights, values, old, edge, keep);
  }
  sums.mass = b.splat(0, perQuery);
  if (needsMass)
    sums.mass = b.reduce(tile::Combine::Add, weights,
                         faded(b.contract(query, state.z, sums.mass)));
  RowResults results(b, op, at, tileQ);
  if (failed(results.emit(sums, q0, queryExtent, positions)))
    return failure();

  // The next tile's state: of the document that its last key is in.
  Value scale;
  if (documents.areThere()) {
    Value begin = documents.begin(j0, end);
    keyPositions = b.iota(begin, b.type("k", {tileQ}, b.getIndexType()));
    key = keyFeatures(this->keyRows(begin, end, tileQ), begin, end, tileQ);
    values = keyValues(begin, end, tileQ);
    Value last = b.max(b.sub(end, b.index(1)), b.index(0));
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
    scale = ratio(past, first);
    key = scaledBy(key, ratioTile(keyPositions, past, false));
  }
  b.make<scf::YieldOp>(toValues(absorb(key, values, state, scale)));
  op.erase();
  return success();
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
  return b.map(
      b.type(type.getAxes(), type.getShape()), positions, [&](ValueRange x) {
        return isQuery ? emitExponent(x[0], other) : emitExponent(other, x[0]);
      });
}

Value LinearEmitter::scaledBy(Value tile, Value factor) {
  return b.map(cast<tile::TileType>(tile.getType()), {tile, factor},
               [&](ValueRange x) { return b.mul(x[0], x[1]); });
}
