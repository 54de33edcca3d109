//===- RowResults.h - from sums over keys to the outputs --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every order of the parentheses ends in: normaliser, empty rows (S3), the
// gauge taken out again (S6), rows past a given query length.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_ROWRESULTS_H
#define ATTN_LOWERING_LOOPS_ROWRESULTS_H

#include "lowering/loops/RegionTiles.h"

namespace attn {

/// Tiles of one value (acc: one row) a query; null where it was not summed.
/// Sums are in units of 2^gauge, or absolute without one.
struct RowSums {
  mlir::Value acc, mass, gauge, best, bestAt, plogp;
  bool unitFactor = true; ///< best is an exponent
  /// Sums of little work, where one division a value would be much of it: one a
  /// row instead.
  bool isCheap = false;
};

/// Emits the outputs of tiles of queries of one operation.
class RowResults {
public:
  template <typename Op>
  RowResults(TileBuilder &b, Op op, const Coordinates &at, int64_t tileQ)
      : b(b), at(at), tileQ(tileQ), normalize(op.getNormalize()),
        normalizer(op.getNormalizer()),
        outputOf([op](Result kind) mutable { return op.getOutput(kind); }),
        termOf([op](NormalizerTerm term) mutable { return op.getTerm(term); }) {
  }

  /// All outputs but the weights, for the queries from row q0 on.
  mlir::LogicalResult emit(const RowSums &sums, mlir::Value q0,
                           mlir::Value queryExtent, mlir::Value positions);

  /// What `emit` found: by what to divide, and the rows that are empty.
  mlir::Value mass, denominator, empty;

private:
  TileBuilder &b;
  Coordinates at;
  int64_t tileQ;
  Normalize normalize;
  mlir::Region &normalizer;
  std::function<mlir::Value(Result)> outputOf;
  std::function<mlir::Value(NormalizerTerm)> termOf;
};

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_ROWRESULTS_H
