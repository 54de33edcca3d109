//===- Target.h - the machines that code is made for ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is a table plus a last step. This is the table: one row a feature
// level, with the tile sizes that its registers and caches favour.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_TARGET_H
#define ATTN_LOWERING_TARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attn {

/// One feature level of the CPU target.
struct CpuLevel {
  llvm::StringLiteral name;     ///< as in `--march=`, and in #attn.target
  llvm::StringLiteral cpu;      ///< LLVM's name of the machine
  llvm::StringLiteral features; ///< LLVM's feature string beyond `cpu`
  int64_t lanes;                ///< f32 lanes of a vector
  int64_t panelVectors; ///< vectors of queries in a panel (register block)
  int64_t rowBlock;     ///< rows of the other operand in a register block
  int64_t unroll;       ///< steps of a product in one iteration
  int64_t panels;       ///< panels in a tile of queries
  int64_t tileK;        ///< keys in a tile
  /// Queries in a tile.
  int64_t tileQ() const { return lanes * panelVectors * panels; }
};

/// All levels, the most capable first.
llvm::ArrayRef<CpuLevel> cpuLevels();
/// The level of that name, or null.
const CpuLevel *findCpuLevel(llvm::StringRef name);
/// The most capable level that this machine runs.
const CpuLevel &hostCpuLevel();

} // namespace attn

#endif // ATTN_LOWERING_TARGET_H
