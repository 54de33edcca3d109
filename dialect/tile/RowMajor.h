//===- RowMajor.h - grids without queries in their lanes --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_TILE_ROWMAJOR_H
#define ATTN_DIALECT_TILE_ROWMAJOR_H

#include "llvm/ADT/StringRef.h"

namespace attn::tile {

/// Stands on a grid whose tiles have lanes along their last axis: keys of
/// pairs, coordinates of rows. Without it lanes are queries.
inline constexpr llvm::StringLiteral kRowMajorAttrName = "tile.row_major";
/// Stands on a map that makes positions or heads, which are as small as those
/// that come from outside.
inline constexpr llvm::StringLiteral kPositionsAttrName = "tile.positions";

} // namespace attn::tile

#endif // ATTN_DIALECT_TILE_ROWMAJOR_H
