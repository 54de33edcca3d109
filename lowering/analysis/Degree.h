//===- Degree.h - how fast kappa grows with its rows ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_DEGREE_H
#define ATTN_LOWERING_ANALYSIS_DEGREE_H

#include "dialect/attn/Attn.h"

namespace attn {

/// The degree of a dot, sqdist or sqnorm, counted so that a dot of plain rows
/// has 1. Unit rows count 0, `power(x, p)` p times its row. S6 calls for a
/// gauge where the degree of a product or power is more than 4.
double pairDegree(mlir::Operation *op);

/// What a row adds to the degree of a dot that it stands in.
double rowDegree(mlir::Value row);

/// The degree above which a running power of two is divided out (S6).
inline constexpr double kHighDegree = 4;

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_DEGREE_H
