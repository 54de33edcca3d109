//===- Univariate.h - the sign of a polynomial on an interval ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_UNIVARIATE_H
#define ATTN_LOWERING_ANALYSIS_UNIVARIATE_H

#include "lowering/analysis/Interval.h"
#include "lowering/analysis/Rational.h"
#include <vector>

namespace attn {

/// The sign of c[0] + c[1] t + ... for t in `domain`, decided exactly by Sturm
/// sequences: one of [0, inf), (0, inf), (-inf, 0], (-inf, 0), a point 0, or
/// all reals where the polynomial takes both signs.
Interval signOnInterval(const std::vector<Rational> &coefficients,
                        const Interval &domain);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_UNIVARIATE_H
