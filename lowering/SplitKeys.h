//===- SplitKeys.h - few queries, many keys ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where one tile of queries meets many keys, a GPU would be idle: the keys are
// split into parts, and what the parts sum is merged in their order. Whether,
// and where, is a function of a sequence's own nq and nk (S8).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_SPLITKEYS_H
#define ATTN_LOWERING_SPLITKEYS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attn {

/// The axis of rows of that workspace: kKeyParts (min(Nq, kSplitQueries) + 2),
/// of sums of values, one of masses, one of gauges.
inline constexpr llvm::StringLiteral kSplitAxisName = "split";

inline constexpr int64_t kSplitQueries = 16; ///< at most
inline constexpr int64_t kSplitKeys = 1024;  ///< at least
inline constexpr int64_t kKeyParts = 32;     ///< at most
/// Tiles of keys in a part, at least: a part is written and read again.
inline constexpr int64_t kLeastTiles = 4;

} // namespace attn

#endif // ATTN_LOWERING_SPLITKEYS_H
