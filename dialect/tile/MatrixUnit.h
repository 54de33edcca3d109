//===- MatrixUnit.h - grids whose products have a unit ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_TILE_MATRIXUNIT_H
#define ATTN_DIALECT_TILE_MATRIXUNIT_H

#include "llvm/ADT/StringRef.h"

namespace attn::tile {

/// Stands on a grid: products of pairs are made by a unit that multiplies
/// 16-bit tiles and adds in f32. Weights are rounded to the type of the values
/// for it.
inline constexpr llvm::StringLiteral kMatrixUnitAttrName = "tile.matrix_unit";

} // namespace attn::tile

#endif // ATTN_DIALECT_TILE_MATRIXUNIT_H
