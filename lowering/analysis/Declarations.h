//===- Declarations.h - what arguments and memory stand for -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_DECLARATIONS_H
#define ATTN_LOWERING_ANALYSIS_DECLARATIONS_H

#include "dialect/attn/Attn.h"
#include "lowering/analysis/Interval.h"

namespace attn {

/// The first value that a region yields; null for an absent region.
mlir::Value yieldedRow(mlir::Region &region);
/// The mapped row of q or k that an argument of kappa stands for; null for an
/// input row.
mlir::Value mappedRowOfArgument(mlir::BlockArgument argument);
/// The declaration of the parameter that `memory` views, or null.
ArgAttr declarationOf(mlir::Value memory);
/// The values that a declaration promises; all reals where it is null.
Interval declaredRange(ArgAttr declaration);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_DECLARATIONS_H
