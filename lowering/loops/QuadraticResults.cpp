//===- QuadraticResults.cpp - from the last state to the outputs ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/QuadraticEmitter.h"

using namespace mlir;
using namespace attn;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

static constexpr double kLn2 = 0.693147180559945309417;

void QuadraticEmitter::store(Value tile, Result kind) {
  Value memory = op.getOutput(kind);
  b.make<tile::StoreOp>(tile, memory, ValueRange{at.batch, at.head, q0},
                        queryExtent);
}

LogicalResult QuadraticEmitter::finish(const State &state) {
  RegionTiles normalizer(b, op.getNormalizer(), at, tileQ, tileK);
  if (failed(normalizer.enterQuery({}, nullptr, positions)))
    return failure();
  auto term = [&](NormalizerTerm t) -> Value {
    Value v = op.getTerm(t);
    return v ? normalizer.uniform(v) : Value();
  };
  Value delta = term(NormalizerTerm::Delta),
        floor = term(NormalizerTerm::Floor), sink = term(NormalizerTerm::Sink);
  Value m = get(state, GaugeMax), keyMass = get(state, Mass);
  Value rows = b.iota(q0, perQueryInt);
  // x 2^m in two halves: 2^m alone may be out of range where the product is
  // not.
  auto ungauge = [&](Value x, Value exponent) {
    Value half = b.exp2(b.mul(exponent, b.real(0.5)));
    Value zero = b.cmp(CmpFPredicate::OEQ, x, b.real(0));
    return b.select(zero, b.real(0), b.mul(b.mul(x, half), half));
  };
  Value mass = keyMass; // in units of 2^m, the sink included
  if (sink)
    mass = b.map(perQuery, {keyMass, m}, [&](ValueRange x) {
      Value e = b.sub(b.mul(sink, b.real(kLog2e)), x[1]);
      return b.add(x[0], b.exp2(e));
    });
  // S3: no mass, or a row past a given query length.
  Value empty = b.map(
      b.type("q", {tileQ}, b.getI1Type()), {mass, rows}, [&](ValueRange x) {
        Value magnitude = b.make<math::AbsFOp>(x[0]);
        return b.either(b.cmp(CmpFPredicate::OLT, magnitude, b.real(0x1p-126)),
                        b.cmp(CmpIPredicate::sge, x[1], at.nq));
      });

  bool normalized = op.getNormalize() == Normalize::Mass;
  Value denominator = mass;
  if (normalized && (delta || floor))
    denominator =
        b.map(perQuery, gauge ? ValueRange{mass, m} : ValueRange{mass},
              [&](ValueRange x) {
                // delta and floor are absolute; the mass is in units of 2^m.
                auto inUnits = [&](Value t) {
                  return gauge ? b.mul(t, b.exp2(b.sub(b.real(0), x[1]))) : t;
                };
                Value d = delta ? b.add(x[0], inUnits(delta)) : x[0];
                if (!floor)
                  return d;
                // The floor is for the mass, and replaces the denominator
                // whole.
                Value limit = inUnits(floor);
                Value magnitude = b.make<math::AbsFOp>(x[0]);
                Value small = b.cmp(CmpFPredicate::OLT, magnitude, limit);
                return b.select(
                    small, Value(b.make<math::CopySignOp>(limit, x[0])), d);
              });

  if (Value acc = get(state, Acc)) {
    Value o;
    if (normalized)
      o = b.map(perQueryValue, {acc, denominator, empty}, [&](ValueRange x) {
        return b.select(x[2], b.real(0), b.div(x[0], x[1]));
      });
    else if (gauge)
      o = b.map(perQueryValue, {acc, m, rows}, [&](ValueRange x) {
        Value none = b.cmp(CmpFPredicate::OEQ, x[1], b.real(-INFINITY));
        Value past = b.cmp(CmpIPredicate::sge, x[2], at.nq);
        return b.select(b.either(none, past), b.real(0), ungauge(x[0], x[1]));
      });
    else
      o = b.map(perQueryValue, {acc, rows}, [&](ValueRange x) {
        Value past = b.cmp(CmpIPredicate::sge, x[1], at.nq);
        return b.select(past, b.real(0), x[0]);
      });
    store(o, Result::O);
  }
  auto perRow = [&](Value x, Value whenEmpty, auto body) {
    SmallVector<Value> inputs{x, empty};
    if (gauge)
      inputs.push_back(m);
    return b.map(perQuery, inputs, [&](ValueRange v) {
      return b.select(v[1], whenEmpty, body(v[0], gauge ? v[2] : Value()));
    });
  };
  if (op.wants(Result::Mass))
    store(perRow(mass, b.real(0),
                 [&](Value x, Value e) { return gauge ? ungauge(x, e) : x; }),
          Result::Mass);
  if (op.wants(Result::Lse))
    store(perRow(mass, b.real(-INFINITY),
                 [&](Value x, Value e) {
                   Value l = b.log(x);
                   return gauge ? b.add(l, b.mul(e, b.real(kLn2))) : l;
                 }),
          Result::Lse);
  if (op.wants(Result::Entropy)) {
    // -sum w log w with w = p / mass: (keys' share) log mass - sum p log p /
    // mass
    Value h = b.map(
        perQuery, {mass, keyMass, get(state, PLogP), empty}, [&](ValueRange x) {
          Value share = b.div(x[1], x[0]);
          Value value = b.sub(b.mul(share, b.log(x[0])), b.div(x[2], x[0]));
          value = b.make<arith::MaximumFOp>(value, b.real(0));
          return b.select(x[3], b.real(0), value);
        });
    store(h, Result::Entropy);
  }
  if (op.wants(Result::Max)) {
    SmallVector<Value> inputs{get(state, Best), rows};
    if (gauge)
      inputs.push_back(m);
    Value best = b.map(perQuery, inputs, [&](ValueRange x) {
      Value none = b.either(b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY)),
                            b.cmp(CmpIPredicate::sge, x[1], at.nq));
      Value value = !gauge       ? x[0]
                    : unitFactor ? b.exp2(x[0])
                                 : ungauge(x[0], x[2]);
      return b.select(none, b.real(-INFINITY), value);
    });
    store(best, Result::Max);
  }
  if (op.wants(Result::Argmax))
    store(b.map(perQueryInt, {get(state, BestAt), rows},
                [&](ValueRange x) {
                  Value past = b.cmp(CmpIPredicate::sge, x[1], at.nq);
                  return b.select(past, b.index(-1), x[0]);
                }),
          Result::Argmax);
  if (op.wants(Result::Weights))
    return storeWeights(state, denominator, empty);
  return success();
}

/// A second pass over the keys, once the mass is known.
LogicalResult QuadraticEmitter::storeWeights(const State &state,
                                             Value denominator, Value empty) {
  bool failedInside = false;
  Value m = get(state, GaugeMax), shift;
  if (gauge)
    shift = b.map(perQuery, m, [&](ValueRange x) {
      Value none = b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY));
      return b.select(none, b.real(0), x[0]);
    });
  b.make<scf::ForOp>(
      b.index(0), keyExtent, b.index(tileK), ValueRange{},
      [&](OpBuilder &nested, Location, Value j0, ValueRange) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        Value end = b.min(b.add(j0, b.index(tileK)), keyExtent);
        FailureOr<Weights> w = enterTile(j0, visibility(j0, end));
        Value p = failed(w) ? Value() : pairWeights(*w, shift);
        if (!p) {
          failedInside = true;
        } else {
          Value weights;
          if (op.getNormalize() == Normalize::Mass) {
            weights =
                b.map(perPair, {p, denominator, empty}, [&](ValueRange x) {
                  return b.select(x[2], b.real(0), b.div(x[0], x[1]));
                });
          } else { // rows past a given query length weigh nothing
            SmallVector<Value> inputs{p, b.iota(q0, perQueryInt)};
            if (gauge)
              inputs.push_back(shift);
            weights = b.map(perPair, inputs, [&](ValueRange x) {
              Value none = b.cmp(CmpIPredicate::sge, x[1], at.nq);
              if (!gauge)
                return b.select(none, b.real(0), x[0]);
              // 0 stays 0, also where 2^m is infinite.
              none = b.either(none, b.cmp(CmpFPredicate::OEQ, x[0], b.real(0)));
              Value half = b.exp2(b.mul(x[2], b.real(0.5)));
              return b.select(none, b.real(0), b.mul(b.mul(x[0], half), half));
            });
          }
          b.make<tile::StoreOp>(weights, op.getOutput(Result::Weights),
                                ValueRange{at.batch, at.head, q0, j0},
                                queryExtent);
        }
        b.make<scf::YieldOp>();
      });
  return failure(failedInside);
}
