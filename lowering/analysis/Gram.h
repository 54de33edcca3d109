//===- Gram.h - counterexamples from Gram matrices --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_GRAM_H
#define ATTN_LOWERING_ANALYSIS_GRAM_H

#include "dialect/attn/Attn.h"
#include <string>
#include <vector>

namespace attn {

/// The eigenvalues of a symmetric matrix, ascending, by Jacobi rotations.
std::vector<double> eigenvalues(std::vector<std::vector<double>> matrix);

/// Evaluates kappa at points, rows as f_Q and f_K give them with positions,
/// and looks for two that it is not symmetric in or for a Gram matrix with a
/// negative eigenvalue. Text that says what was found; empty if nothing was.
std::string findGramCounterexample(AttentionOp op, uint64_t seed = 1);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_GRAM_H
