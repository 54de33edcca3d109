//===- Sign.h - whether kappa is non-negative (S7) --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_SIGN_H
#define ATTN_LOWERING_ANALYSIS_SIGN_H

#include "lowering/analysis/ValueRange.h"
#include <string>

namespace attn {

/// A verdict on kappa >= 0, for all rows and all parameters in their bounds.
struct SignVerdict {
  Verdict nonnegative;
  /// The rule and its assumptions; or the obstacle; or the counterexample.
  std::string reason;
  /// Unless the verdict is yes: the sub-expression that breaks the proof.
  mlir::Value culprit;
};

SignVerdict decideSign(AttentionOp op, ValueRangeAnalysis &ranges);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_SIGN_H
