//===- PolynomialRange.h - the sign of sums and products --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_POLYNOMIALRANGE_H
#define ATTN_LOWERING_ANALYSIS_POLYNOMIALRANGE_H

#include "lowering/analysis/ValueRange.h"

namespace attn {

/// Whether `value` is a sum, product, quotient or power that no other such
/// operation takes in: where expanding it into a polynomial pays.
bool isWholePolynomial(mlir::Value value);

/// The sign of the sum of `terms`, expanded into a polynomial of its atoms; all
/// reals where that proves nothing. The ranges of the atoms must be known
/// already. `budget` is the number of operations to expand, and is used up.
Interval polynomialSign(mlir::ValueRange terms, ValueRangeAnalysis &ranges,
                        int &budget);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_POLYNOMIALRANGE_H
