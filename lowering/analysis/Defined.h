//===- Defined.h - where kappa is not defined -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_DEFINED_H
#define ATTN_LOWERING_ANALYSIS_DEFINED_H

#include "lowering/analysis/ValueRange.h"
#include <string>
#include <vector>

namespace attn {

/// Diagnoses powers whose base may be negative and logarithms of what is never
/// positive: no kernel may have them.
mlir::LogicalResult verifyDomains(AttentionOp op, ValueRangeAnalysis &ranges);

/// A place where kappa is 1/0, or a root or logarithm of what it should not be.
struct Undefined {
  mlir::Value culprit; ///< null: kappa is defined wherever anybody looked
  std::string reason;
  /// What is not proven to be defined, though nothing was found.
  std::vector<std::string> unproven;
};

/// Looks at zero, equal, opposite and random rows, with parameters at their
/// bounds and inside them.
Undefined findUndefined(AttentionOp op, ValueRangeAnalysis &ranges);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_DEFINED_H
