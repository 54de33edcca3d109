//===- RowReadout.h - from the weights of a row to its results --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_REFERENCE_ROWREADOUT_H
#define ATTN_RUNTIME_REFERENCE_ROWREADOUT_H

#include "runtime/reference/Scaled.h"
#include <cstdint>
#include <vector>

namespace attn::reference {

/// How the sum of a row is divided.
struct Denominator {
  bool divide = true; ///< normalize = mass
  double delta = 0;
  double floor = 0;
  double sink = -std::numeric_limits<double>::infinity();
};

/// A visible key and its kappa.
struct VisibleKey {
  int64_t j;
  Scaled kappa;
};

/// The results of one row.
struct RowResults {
  double mass = 0;
  double lse = -std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  int64_t argmax = -1;
  double entropy = 0;
  /// The factor of each visible key's value in o, times exp(outer).
  std::vector<double> weights;
  /// Under `none`, the gauge that multiplies the sum last (S6).
  double outer = 0;
  /// S3 applies: o is zero whatever the values of the visible keys are.
  bool empty = false;
};

/// Everything but o itself. `weightDigits`: see Noise; mass is summed before.
RowResults readOut(const std::vector<VisibleKey> &keys,
                   const Denominator &denominator, int weightDigits = 0);

/// x * exp(e), where an exact zero stays zero.
inline double timesExp(double x, double e) { return plain({x, e}); }

} // namespace attn::reference

#endif // ATTN_RUNTIME_REFERENCE_ROWREADOUT_H
