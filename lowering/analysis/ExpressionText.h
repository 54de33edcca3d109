//===- ExpressionText.h - kernel expressions in the user's words -*- C++
//-*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_EXPRESSIONTEXT_H
#define ATTN_LOWERING_ANALYSIS_EXPRESSIONTEXT_H

#include "dialect/attn/Attn.h"
#include <string>

namespace attn {

/// The expression that computes `value` as a spec would write it, for
/// diagnostics: `dot(q, k) + b`. Deep parts are left out as `...`.
std::string describe(mlir::Value value);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_EXPRESSIONTEXT_H
