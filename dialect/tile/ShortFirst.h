//===- ShortFirst.h - tiles counted from the end ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_TILE_SHORTFIRST_H
#define ATTN_DIALECT_TILE_SHORTFIRST_H

#include "llvm/ADT/StringRef.h"

namespace attn::tile {

/// Stands on an attn.quadratic whose first tile is the one that is not whole,
/// of queries as of keys. Where the mask is causal its few queries see the
/// fewest keys, and tiles of queries end where the diagonal leaves a tile of
/// keys.
inline constexpr llvm::StringLiteral kShortFirstAttrName = "tile.short_first";

} // namespace attn::tile

#endif // ATTN_DIALECT_TILE_SHORTFIRST_H
