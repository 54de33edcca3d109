//===- CudaTarget.cpp - the table of GPU architectures --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/CudaTarget.h"

#include <algorithm>

using namespace attn;

// 163, 99 and 227 KiB of shared memory a block: CUDA C++ Programming Guide,
// "Technical Specifications per Compute Capability". With 64 keys a thread
// holds 32 pairs, which leaves registers for the results of 128 channels. PTX
// has wgmma for sm_90a alone.
static const CudaLevel levels[] = {
    {"sm_80", 166912, 4, 64, 128, false},
    {"sm_86", 101376, 4, 64, 128, false},
    {"sm_89", 101376, 4, 64, 128, false},
    {"sm_90a", 232448, 4, 64, 128, true},
    {"sm_100", 232448, 4, 64, 128, false},
    {"sm_120", 101376, 4, 64, 128, false},
};

llvm::ArrayRef<CudaLevel> attn::cudaLevels() { return levels; }

const CudaLevel *attn::findCudaLevel(llvm::StringRef name) {
  for (const CudaLevel &level : levels)
    if (level.name == name)
      return &level;
  return nullptr;
}

int64_t attn::cudaRowBytes(int64_t length, int64_t elementBytes) {
  return (length + 15) / 16 * 16 * elementBytes + 16;
}

CudaTiles attn::chooseCudaTiles(const CudaLevel &level,
                                const CudaQuadratic &quadratic) {
  constexpr int64_t least = 16;
  int64_t most =
      quadratic.longest > level.wideRow ? level.tileK / 2 : level.tileK;
  // Fewer keys first: with fewer queries every key is read more often.
  for (int64_t q = 16 * level.warps; q >= least; q /= 2)
    for (int64_t k = most; k >= least; k /= 2)
      if (quadratic.fits(level, {q, k}))
        return {q, k};
  return {least, least};
}

int64_t CudaLinear::bytes(int64_t tileQ, int64_t tileK,
                          int64_t elementBytes) const {
  int64_t whole = (rank + 15) / 16 * 16, features = cudaRowBytes(whole, 4);
  int64_t perQuery = cudaRowBytes(queryRow, elementBytes) + 16,
          perKey = cudaRowBytes(keyRow, elementBytes) +
                   cudaRowBytes(valueRow, elementBytes) + 16;
  if (apart && queryMapped)
    perQuery += cudaRowBytes(queryRow, 4);
  if (apart && keyMapped)
    perKey += cudaRowBytes(keyRow, 4);
  if (!perThread)
    perQuery += features;
  if (!perThread || elementBytes < 4)
    perKey += features;
  int64_t scratch = kept ? cudaRowBytes(kept, 4) : 0;
  int64_t queries = tileQ * perQuery, keys = tileK * perKey;
  int64_t state = (valueRow + 15) / 16 * 16 * (whole + 8) * 4 + 4 * whole;
  return state + std::max(tileQ, tileK) * scratch +
         (ordered ? queries + keys : std::max(queries, keys)) + 1024;
}

std::optional<CudaTiles> attn::chooseCudaTiles(const CudaLevel &level,
                                               const CudaLinear &linear,
                                               int64_t tileQ,
                                               int64_t elementBytes) {
  constexpr int64_t least = 16, mostPairs = 64; // that a thread has bits for
  for (int64_t q = tileQ ? tileQ : 16 * level.warps; q >= least; q /= 2) {
    for (int64_t k = std::min(q, mostPairs); k >= least; k /= 2) {
      if (linear.ordered && k != q)
        break;
      if (linear.bytes(q, k, elementBytes) <= level.sharedBytes)
        return CudaTiles{q, k};
    }
    if (tileQ)
      break;
  }
  return std::nullopt;
}
