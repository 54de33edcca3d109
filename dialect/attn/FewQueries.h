//===- FewQueries.h - what counts as few queries ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_FEWQUERIES_H
#define ATTN_DIALECT_ATTN_FEWQUERIES_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace attn {

/// The name under which a module says how many queries its sequences have, at
/// least and at most: a dense array of two numbers.
inline constexpr llvm::StringLiteral kQueriesAttrName = "attn.queries";

/// Sequences of at most so many queries are few queries: tiles of queries would
/// be nearly empty, and there is an operation for them that splits the keys.
inline constexpr int64_t kFewQueries = 8;

/// Calls of at most so many tokens that go on from a state have a program of
/// their own on a GPU: its tiles are the smallest that there are.
inline constexpr int64_t kFewTokens = 16;

} // namespace attn

#endif // ATTN_DIALECT_ATTN_FEWQUERIES_H
