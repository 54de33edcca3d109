//===- MatrixTiles.h - the tiles of a matrix unit ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_MATRIXTILES_H
#define ATTN_LOWERING_CPU_MATRIXTILES_H

#include <cstdint>

namespace attn {

inline constexpr int64_t kTileRows = 16;  ///< of a tile register
inline constexpr int64_t kTileDepth = 32; ///< bf16 numbers in a row of it

} // namespace attn

#endif // ATTN_LOWERING_CPU_MATRIXTILES_H
