//===- Conditions.h - what parameters must be for a property ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A property that the declared bounds leave open may still hold for one sign of
// a parameter: `yes if c >= 0`. The conditions are tried, weakest first.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_CONDITIONS_H
#define ATTN_LOWERING_ANALYSIS_CONDITIONS_H

#include "lowering/analysis/ValueRange.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace attn {

/// The first sign of a parameter of kappa, or of all, under which `holds`, in
/// words; empty where none is found.
std::string findCondition(
    AttentionOp op,
    llvm::function_ref<bool(const ValueRangeAnalysis::Assumptions &)> holds);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_CONDITIONS_H
