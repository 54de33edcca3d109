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
  if (failed(results.emit(sums, q0, queryExtent, positions)))
    return failure();
  if (op.wants(Result::Weights))
    return storeWeights(state, results.denominator, results.empty);
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
