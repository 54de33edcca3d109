//===- CudaTarget.h - the GPUs that code is made for ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As Target.h, for NVIDIA GPUs: one row an architecture.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CUDATARGET_H
#define ATTN_LOWERING_CUDATARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstdint>
#include <optional>

namespace attn {

/// One architecture.
struct CudaLevel {
  llvm::StringLiteral name; ///< as in `--arch=`, and in #attn.target
  int64_t sharedBytes;      ///< of shared memory that a block may have
  int64_t warps;            ///< in a block, of 16 queries each
  int64_t tileK;            ///< keys in a tile, rows of up to `wideRow`
  int64_t wideRow;          ///< longer rows get half as many keys
  bool warpGroups; ///< four warps multiply together, from shared memory (wgmma)
};

/// All architectures, the oldest first.
llvm::ArrayRef<CudaLevel> cudaLevels();
/// The architecture of that name, or null.
const CudaLevel *findCudaLevel(llvm::StringRef name);

/// Queries and keys in a tile.
struct CudaTiles {
  int64_t tileQ, tileK;
};
/// Bytes of a row of `length` elements in shared memory: whole fragments, and
/// 16 bytes so that rows begin in different banks.
int64_t cudaRowBytes(int64_t length, int64_t elementBytes);
/// What the quadratic order keeps in shared memory, in bytes.
struct CudaQuadratic {
  int64_t perQuery = 8, perKey = 8; ///< norms and scalars, and rows
  int64_t perMapped = 0; ///< where a kernel ahead makes rows, `tileQ` at a time
  int64_t longest = 0;   ///< elements of the longest row
  /// A row that lies there, of a query or key.
  void addRow(int64_t &per, int64_t length, int64_t elementBytes) {
    per += cudaRowBytes(length, elementBytes);
    longest = std::max(longest, length);
  }
  bool fits(const CudaLevel &level, CudaTiles tiles) const {
    return std::max(tiles.tileQ * perQuery + tiles.tileK * perKey,
                    tiles.tileQ * perMapped) <= level.sharedBytes;
  }
};
/// Tiles that fit into shared memory; the smallest where none do.
CudaTiles chooseCudaTiles(const CudaLevel &level,
                          const CudaQuadratic &quadratic);

/// What the linear order keeps in shared memory.
struct CudaLinear {
  int64_t queryRow, keyRow, valueRow; ///< lengths of rows
  int64_t rank;                       ///< features
  bool ordered;                       ///< queries and keys are there together
  bool apart; ///< features are made of rows that kappa takes, too,
  bool queryMapped, keyMapped; ///< which maps have made: in 4 bytes
  bool perThread;              ///< a feature is a function of one element
  int64_t kept;                ///< elements that a row map keeps a row
  int64_t bytes(int64_t tileQ, int64_t tileK, int64_t elementBytes) const;
};
/// Tiles of the linear order: of `tileQ` queries, if that is not 0; nothing
/// where the state leaves no room.
std::optional<CudaTiles> chooseCudaTiles(const CudaLevel &level,
                                         const CudaLinear &linear,
                                         int64_t tileQ, int64_t elementBytes);

} // namespace attn

#endif // ATTN_LOWERING_CUDATARGET_H
