//===- Series.h - Taylor coefficients of kernels of one dot -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_SERIES_H
#define ATTN_LOWERING_ANALYSIS_SERIES_H

#include "lowering/analysis/NormalForm.h"

namespace attn {

/// The coefficients of s^0, s^1, ... of `p` as a function of the dot `s`, up to
/// `order` of them; empty where p is not analytic at 0 in s alone or a rule is
/// missing. They are polynomials of parameters.
std::vector<Polynomial> taylorSeries(NormalForm &form, const Polynomial &p,
                                     AtomId s, unsigned order);

/// The only dot that p depends on, if p depends on rows and positions in no
/// other way.
std::optional<AtomId> onlyDot(const NormalForm &form, const Polynomial &p);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_SERIES_H
