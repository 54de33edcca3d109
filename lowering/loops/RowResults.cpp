//===- RowResults.cpp - from sums over keys to the outputs ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/RowResults.h"

using namespace mlir;
using namespace attn;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

static constexpr double kLn2 = 0.693147180559945309417;
static constexpr double kLog2e = 1.442695040888963407360;

LogicalResult RowResults::emit(const RowSums &sums, Value q0, Value queryExtent,
                               Value positions) {
  RegionTiles terms(b, normalizer, at, tileQ, /*tileK=*/1);
  if (failed(terms.enterQuery({}, nullptr, positions)))
    return failure();
  auto term = [&](NormalizerTerm t) -> Value {
    Value v = termOf(t);
    return v ? terms.uniform(v) : Value();
  };
  auto wants = [&](Result kind) { return static_cast<bool>(outputOf(kind)); };
  auto store = [&](Value tile, Result kind) {
    b.make<tile::StoreOp>(tile, outputOf(kind),
                          ValueRange{at.batch, at.head, q0}, queryExtent);
  };
  tile::TileType perQuery = b.type("q", {tileQ});
  tile::TileType perQueryInt = b.type("q", {tileQ}, b.getIndexType());
  bool gauge = static_cast<bool>(sums.gauge);
  Value delta = term(NormalizerTerm::Delta),
        floor = term(NormalizerTerm::Floor), sink = term(NormalizerTerm::Sink);
  Value m = sums.gauge, keyMass = sums.mass;
  Value rows = b.iota(q0, perQueryInt);
  // x 2^m in two halves: 2^m alone may be out of range where the product is
  // not.
  auto ungauge = [&](Value x, Value exponent) {
    Value half = b.exp2(b.mul(exponent, b.real(0.5)));
    Value zero = b.cmp(CmpFPredicate::OEQ, x, b.real(0));
    return b.select(zero, b.real(0), b.mul(b.mul(x, half), half));
  };
  mass = keyMass; // in units of 2^m, the sink included
  if (sink)
    mass = b.map(perQuery, {keyMass, m}, [&](ValueRange x) {
      Value e = b.sub(b.mul(sink, b.real(kLog2e)), x[1]);
      return b.add(x[0], b.exp2(e));
    });
  // S3: no mass, or a row past a given query length.
  empty = b.map(
      b.type("q", {tileQ}, b.getI1Type()), {mass, rows}, [&](ValueRange x) {
        Value magnitude = b.make<math::AbsFOp>(x[0]);
        return b.either(b.cmp(CmpFPredicate::OLT, magnitude, b.real(0x1p-126)),
                        b.cmp(CmpIPredicate::sge, x[1], at.nq));
      });

  bool normalized = normalize == Normalize::Mass;
  denominator = mass;
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

  if (Value acc = sums.acc) {
    auto perQueryValue = cast<tile::TileType>(acc.getType());
    Value o;
    if (normalized && sums.isCheap) {
      // 1/d is below the normal numbers where d is large: then both shrink.
      auto shrink = [&](Value d) {
        Value large =
            b.cmp(CmpFPredicate::OGT, b.make<math::AbsFOp>(d), b.real(0x1p90));
        return b.select(large, b.real(0x1p-32), b.real(1));
      };
      Value inverse = b.map(perQuery, {denominator, empty}, [&](ValueRange x) {
        Value quotient = b.div(b.real(1), b.mul(x[0], shrink(x[0])));
        return b.select(x[1], b.real(0), quotient);
      });
      o = b.map(perQueryValue, {acc, inverse, denominator, empty},
                [&](ValueRange x) {
                  Value value = b.mul(b.mul(x[0], shrink(x[2])), x[1]);
                  return b.select(x[3], b.real(0), value);
                });
    } else if (normalized)
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
  if (wants(Result::Mass))
    store(perRow(mass, b.real(0),
                 [&](Value x, Value e) { return gauge ? ungauge(x, e) : x; }),
          Result::Mass);
  if (wants(Result::Lse))
    store(perRow(mass, b.real(-INFINITY),
                 [&](Value x, Value e) {
                   Value l = b.log(x);
                   return gauge ? b.add(l, b.mul(e, b.real(kLn2))) : l;
                 }),
          Result::Lse);
  if (wants(Result::Entropy)) {
    // -sum w log w with w = p / mass: (keys' share) log mass - sum p log p /
    // mass
    Value h =
        b.map(perQuery, {mass, keyMass, sums.plogp, empty}, [&](ValueRange x) {
          Value share = b.div(x[1], x[0]);
          Value value = b.sub(b.mul(share, b.log(x[0])), b.div(x[2], x[0]));
          value = b.make<arith::MaximumFOp>(value, b.real(0));
          return b.select(x[3], b.real(0), value);
        });
    store(h, Result::Entropy);
  }
  if (wants(Result::Max)) {
    SmallVector<Value> inputs{sums.best, rows};
    if (gauge)
      inputs.push_back(m);
    Value best = b.map(perQuery, inputs, [&](ValueRange x) {
      Value none = b.either(b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY)),
                            b.cmp(CmpIPredicate::sge, x[1], at.nq));
      Value value = !gauge            ? x[0]
                    : sums.unitFactor ? b.exp2(x[0])
                                      : ungauge(x[0], x[2]);
      return b.select(none, b.real(-INFINITY), value);
    });
    store(best, Result::Max);
  }
  if (wants(Result::Argmax))
    store(b.map(perQueryInt, {sums.bestAt, rows},
                [&](ValueRange x) {
                  Value past = b.cmp(CmpIPredicate::sge, x[1], at.nq);
                  return b.select(past, b.index(-1), x[0]);
                }),
          Result::Argmax);
  return success();
}
