//===- Formula.h - regions printed as formulas ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler understood, in the notation of the spec: printed from the
// IR, so that names are resolved, constants folded and functions inlined.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_FORMULA_H
#define ATTN_TOOLS_FORMULA_H

#include "dialect/attn/Attn.h"

#include <string>
#include <vector>

namespace attn {

/// The formula of value `result` that a region yields; `arguments` are the
/// names of the region's arguments. What a long formula uses more than once is
/// named: `t1*t1 where t1 = ...`; what is longer still ends in "...".
std::string formulaOf(mlir::Region &region, unsigned result,
                      const std::vector<std::string> &arguments);

} // namespace attn

#endif // ATTN_TOOLS_FORMULA_H
