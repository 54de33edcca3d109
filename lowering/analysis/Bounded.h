//===- Bounded.h - an upper bound for rows of bounded norm ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_BOUNDED_H
#define ATTN_LOWERING_ANALYSIS_BOUNDED_H

#include "lowering/analysis/NormalForm.h"

namespace attn {

/// A bound of |kappa| for rows of norm <= R, a polynomial of the symbol R and
/// of parameters; nothing where none is found.
std::optional<Polynomial> boundOf(NormalForm &form);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_BOUNDED_H
