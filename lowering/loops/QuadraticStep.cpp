//===- QuadraticStep.cpp - one tile of keys -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the rows of a tile of keys to the next state: exponent, new gauge,
// weights, and what every result adds up.
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/QuadraticEmitter.h"

using namespace mlir;
using namespace attn;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

FailureOr<QuadraticEmitter::Weights>
QuadraticEmitter::enterTile(Value j0, Value limit, Visibility visible) {
  Weights w;
  Value keyPositions = b.iota(j0, b.type("k", {tileK}, b.getIndexType()));
  if (failed(kappa->enterKeys(op.getKey(), j0, keyPositions, limit)) ||
      failed(mask->enterKeys({}, j0, keyPositions, limit)))
    return failure();
  // A pair counts where the mask says so and the key is one of the tile's.
  Value past = b.cmp(CmpIPredicate::sgt, b.add(j0, b.index(tileK)), limit);
  w.edge = b.either(past, b.negate(visible.all));
  SmallVector<Value> roots;
  if (!op.getMask().empty())
    roots.push_back(
        cast<YieldOp>(op.getMask().front().getTerminator()).getValues()[0]);
  w.keep = mask->mapPairs(
      roots, keyPositions, b.getI1Type(), [&](ValueRange root, ValueRange j) {
        Value exists = b.cmp(CmpIPredicate::slt, j[0], limit);
        return root.empty() ? exists : b.both(root[0], exists);
      });
  if (!w.keep)
    return failure();
  if (gauge) {
    Value exponent =
        cast<YieldOp>(op.getKappa().front().getTerminator()).getValues()[0];
    Value e = kappa->pairs(exponent);
    if (!e)
      return failure();
    w.exponent =
        b.make<tile::MaskOp>(perPair, e, w.edge, w.keep, b.real(-INFINITY));
  }
  return w;
}

/// p = kappa / 2^m, exactly 0 where masked.
Value QuadraticEmitter::pairWeights(const Weights &w, Value gaugeShift) {
  auto yield = cast<YieldOp>(op.getKappa().front().getTerminator());
  auto masked = [&](Value p) -> Value {
    return b.make<tile::MaskOp>(perPair, p, w.edge, w.keep, b.real(0));
  };
  if (!gauge) {
    Value p = kappa->pairs(yield.getValues()[0]);
    return p ? masked(p) : p;
  }
  if (unitFactor) // exp2(-inf) is the exact zero
    return b.map(perPair, {w.exponent, gaugeShift},
                 [&](ValueRange x) { return b.exp2Below(x[0], x[1]); });
  return masked(
      kappa->mapPairs(yield.getValues()[1], {w.exponent, gaugeShift},
                      b.getF32Type(), [&](ValueRange factor, ValueRange x) {
                        return b.mul(b.exp2Below(x[0], x[1]), factor[0]);
                      }));
}

FailureOr<QuadraticEmitter::State>
QuadraticEmitter::keyStep(Value j0, Value limit, const State &state,
                          Visibility visible) {
  FailureOr<Weights> weights = enterTile(j0, limit, visible);
  if (failed(weights))
    return failure();
  Value mass = get(state, Mass), acc = get(state, Acc);
  Value best = get(state, Best), plogp = get(state, PLogP);
  Value m = get(state, GaugeMax), m1, shift, scale;
  if (gauge) {
    m1 = b.reduce(tile::Combine::Max, weights->exponent, m);
    // A row without a visible key has maximum -inf; -inf - -inf is no number.
    shift = b.map(perQuery, m1, [&](ValueRange x) {
      Value none = b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY));
      return b.select(none, b.real(0), x[0]);
    });
    scale = b.map(perQuery, {m, shift},
                  [&](ValueRange x) { return b.exp2Below(x[0], x[1]); });
  }
  auto rescaled = [&](Value x) {
    return !gauge ? x
                  : b.map(cast<tile::TileType>(x.getType()), {x, scale},
                          [&](ValueRange v) { return b.mul(v[0], v[1]); });
  };
  Value p = pairWeights(*weights, shift);
  if (!p)
    return failure();

  State next(state.size());
  auto set = [&](Slot slot, Value v) {
    if (index[slot] >= 0)
      next[index[slot]] = v;
  };
  set(GaugeMax, m1);
  if (plogp) { // sum p log p in new units: scale (t + mass log scale)
    Value before = plogp;
    if (gauge)
      before = b.map(perQuery, {plogp, mass, scale}, [&](ValueRange x) {
        Value none = b.cmp(CmpFPredicate::OLE, x[2], b.real(0));
        Value moved = b.mul(x[2], b.add(x[0], b.mul(x[1], b.log(x[2]))));
        return b.select(none, b.real(0), moved);
      });
    Value pairs = b.map(perPair, p, [&](ValueRange x) {
      Value none = b.cmp(CmpFPredicate::OLE, x[0], b.real(0));
      return b.select(none, b.real(0), b.mul(x[0], b.log(x[0])));
    });
    set(PLogP, b.reduce(tile::Combine::Add, pairs, before));
  }
  set(Mass, b.reduce(tile::Combine::Add, p, rescaled(mass)));
  if (best) {
    // Under an exponential alone the exponent orders the keys, and never moves.
    bool byExponent = gauge && unitFactor;
    Value score =
        b.make<tile::MaskOp>(perPair, byExponent ? weights->exponent : p,
                             weights->edge, weights->keep, b.real(-INFINITY));
    Value before = best;
    if (gauge && !byExponent)
      before = b.map(perQuery, {best, scale}, [&](ValueRange x) {
        Value none = b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY));
        return b.select(none, x[0], b.mul(x[0], x[1]));
      });
    Value best1 = b.reduce(tile::Combine::Max, score, before);
    set(Best, best1);
    if (Value bestAt = get(state, BestAt)) {
      // The first key that attains the maximum of this tile, if it is a new
      // one.
      int64_t never = std::numeric_limits<int32_t>::max();
      Value keyPositions = b.iota(j0, b.type("k", {tileK}, b.getIndexType()));
      Value candidates =
          b.map(b.type("qk", {tileQ, tileK}, b.getIndexType()),
                {score, best1, keyPositions, weights->keep}, [&](ValueRange x) {
                  Value attains =
                      b.both(b.cmp(CmpFPredicate::OEQ, x[0], x[1]), x[3]);
                  return b.select(attains, x[2], b.index(never));
                });
      Value first = b.reduce(tile::Combine::Min, candidates,
                             b.splat(b.index(never), perQueryInt));
      set(BestAt,
          b.map(perQueryInt, {bestAt, first, before, best1}, [&](ValueRange x) {
            Value fresh =
                b.both(b.cmp(CmpIPredicate::slt, x[1], b.index(never)),
                       b.either(b.cmp(CmpFPredicate::OLT, x[2], x[3]),
                                b.cmp(CmpIPredicate::slt, x[0], b.index(0))));
            return b.select(fresh, x[1], x[0]);
          }));
    }
  }
  if (acc) {
    Value v = b.make<tile::LoadOp>(b.type("ke", {tileK, dimE}), op.getValue(),
                                   ValueRange{at.batch, at.kvHead, j0}, limit);
    // Keys past the last are no rows of `v`: only a mask hides values (S2).
    bool hides = !op.getMask().empty();
    // Products of pairs take weights of the values' type.
    if (op.getSchedule()->getProducts() == Products::Pairs)
      p = b.make<tile::CastOp>(b.type("qk", {tileQ, tileK}, b.getBF16Type()),
                               p);
    set(Acc, b.contract(p, v, rescaled(acc), hides ? weights->edge : Value(),
                        hides ? weights->keep : Value()));
  }
  return next;
}
