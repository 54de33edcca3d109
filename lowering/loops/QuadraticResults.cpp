//===- QuadraticResults.cpp - from the last state to the outputs ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/QuadraticEmitter.h"
#include "lowering/loops/RowResults.h"

using namespace mlir;
using namespace attn;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

LogicalResult QuadraticEmitter::finish(const State &state) {
  RowSums sums{get(state, Acc),  get(state, Mass),   get(state, GaugeMax),
               get(state, Best), get(state, BestAt), get(state, PLogP),
               unitFactor};
  RowResults results(b, op, at, tileQ);
  if (failed(results.emit(sums, q0, endOfQueries, positions)))
    return failure();
  if (op.wants(Result::Weights))
    return storeWeights(state, results.denominator, results.empty);
  return success();
}

/// kappa of a tile over the denominator, both in units of 2^m.
Value QuadraticEmitter::shares(const Weights &w, Value shift, Value denominator,
                               Value empty) {
  Value p = pairWeights(w, shift);
  if (!p)
    return p;
  Value share = b.map(perPair, {p, denominator, empty}, [&](ValueRange x) {
    return b.select(x[2], b.real(0), b.div(x[0], x[1]));
  });
  // S2, once more: 0 over a denominator that is no number is none either.
  return b.make<tile::MaskOp>(perPair, share, w.edge, w.keep, b.real(0));
}

/// kappa of a tile itself, which needs no common unit: what f32 does not hold
/// is infinite or 0. Rows past a given query length weigh nothing.
Value QuadraticEmitter::absoluteWeights(const Weights &w) {
  auto yield = cast<YieldOp>(op.getKappa().front().getTerminator());
  SmallVector<Value> roots(yield.getValues()), extra{b.iota(q0, perQueryInt)};
  if (gauge) {
    roots.erase(roots.begin()); // as a tile that is masked already
    extra.push_back(w.exponent);
    if (unitFactor)
      roots.clear();
  }
  Value kappaOfPairs = kappa->mapPairs(
      roots, extra, b.getF32Type(), [&](ValueRange factor, ValueRange x) {
        Value past = b.cmp(CmpIPredicate::sge, x[0], at.nq);
        Value value = factor.empty() ? b.real(1) : factor[0];
        if (gauge) { // in two halves; 0 stays 0 where 2^e is infinite
          Value half = b.exp2(b.mul(x[1], b.real(0.5)));
          Value none = b.cmp(CmpFPredicate::OEQ, value, b.real(0));
          value = b.select(none, value, b.mul(b.mul(value, half), half));
        }
        return b.select(past, b.real(0), value);
      });
  if (!kappaOfPairs)
    return kappaOfPairs;
  return b.make<tile::MaskOp>(perPair, kappaOfPairs, w.edge, w.keep, b.real(0));
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
        FailureOr<Weights> w = enterTile(j0, at.nk, visibility(j0, end));
        Value weights;
        if (succeeded(w))
          weights = op.getNormalize() == Normalize::Mass
                        ? shares(*w, shift, denominator, empty)
                        : absoluteWeights(*w);
        failedInside |= !weights;
        if (weights)
          b.make<tile::StoreOp>(weights, op.getOutput(Result::Weights),
                                ValueRange{at.batch, at.head, q0, j0},
                                endOfQueries);
        b.make<scf::YieldOp>();
      });
  return failure(failedInside);
}
