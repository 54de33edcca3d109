//===- Pieces.h - a sequence in several calls -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How `check` sees the recurrent order: the tokens of a call, a prompt at once,
// two steps, and the rest, must have the results of all of them together.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_PIECES_H
#define ATTN_TOOLS_PIECES_H

#include "Cases.h"
#include "Compare.h"
#include "runtime/Kernel.h"

#include <functional>

namespace attn {

/// Makes the case one of tokens: as many keys as queries, which stand where the
/// state says.
void makeTokens(Recipe &recipe);

/// Runs a kernel of the recurrent order on parts of the tokens, each from the
/// state that the last one left, in place. `outputs` are all but the state.
void runInPieces(Kernel::Impl &impl, const std::vector<Argument> &arguments,
                 const std::vector<Output> &outputs,
                 const std::function<void(const runtime::Prepared &)> &run);

/// Zeros in the rows that no sequence has, whose results mean nothing.
void blankPastEnds(Results &results, const std::vector<Argument> &arguments,
                   const InputRoles &roles);

} // namespace attn

#endif // ATTN_TOOLS_PIECES_H
