//===- Target.h - the machines that code is made for ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is a table plus a last step. This is the table: one row a feature
// level, with the tile sizes that its registers and caches favour. Levels of
// machines other than this one are compiled for and not run.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_TARGET_H
#define ATTN_LOWERING_TARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Triple.h"
#include <cstdint>
#include <optional>
#include <string>

namespace attn {

/// The register that rounding, flushing and traps are set in (S4, S8).
enum class FloatControl {
  MXCSR, ///< of x86-64
  FPCR   ///< of AArch64
};

/// What CPUID and XGETBV must report; 0s: the level is not told by them.
struct CpuidBits {
  uint32_t leaf1Ecx = 0, leaf7Ebx = 0, extended1Ecx = 0, xcr0 = 0, leaf7Edx = 0,
           leaf7Sub1Eax = 0;
};

/// The tile registers in XCR0. A process may use them if it asks the system.
inline constexpr uint32_t kTileRegisters = 0x60000;

/// One feature level of the CPU target.
struct CpuLevel {
  llvm::StringLiteral name;     ///< as in `--march=`, and in #attn.target
  llvm::StringLiteral triple;   ///< of code for other machines than this one
  llvm::StringLiteral cpu;      ///< LLVM's name of the machine
  llvm::StringLiteral features; ///< LLVM's feature string beyond `cpu`
  int64_t lanes;                ///< f32 lanes of a vector
  int64_t panelVectors;   ///< vectors of queries in a panel (register block)
  int64_t rowBlock;       ///< rows of the other operand in a register block
  int64_t unroll;         ///< steps of a product in one iteration
  int64_t panels;         ///< panels in a tile of queries
  int64_t tileK;          ///< keys in a tile
  bool hasHalfConversion; ///< converts f16 to f32 and back (F16C, FCVT)
  bool hasScale; ///< multiplies by 2^floor(x) (AVX-512: vscalefps, vreduceps)
  bool hasPairProducts; ///< adds two products of bf16 (AVX512_BF16: vdpbf16ps)
  FloatControl control; ///< what an entry sets and restores
  CpuidBits cpuid;      ///< for code that picks its level when it runs
  /// Vectors in a panel, and panels, where products of bf16 rows go through
  /// tiles of 16 rows of 64 bytes, or through vectors of pairs; 0: they are
  /// widened.
  int64_t matrixVectors = 0, matrixPanels = 0;
  bool hasMatrixUnit = false; ///< multiplies such tiles (AMX-BF16)
  bool fastMath = false;      ///< as asked for: fewer digits, special values
  /// The level whose instructions are used, where it is another one.
  llvm::StringRef code = {};
  /// Queries in a tile.
  int64_t tileQ() const { return lanes * panelVectors * panels; }
  /// The level with the register block of products on the matrix unit.
  CpuLevel onMatrixUnit() const;
  llvm::StringRef codeName() const { return code.empty() ? name : code; }
};

/// All levels: those of an architecture together, the most capable first.
llvm::ArrayRef<CpuLevel> cpuLevels();
/// The level of that name, or null.
const CpuLevel *findCpuLevel(llvm::StringRef name);
/// What `--march=` and Options::level say: a level's name, `native` or nothing
/// for the best of this machine, or `TILES@CODE`: the tiles of one level in
/// instructions of another (or `native`), which tests a row of the table on a
/// machine that lacks its instructions.
std::optional<CpuLevel> parseCpuLevel(llvm::StringRef text);
/// The text that parseCpuLevel reads as this level.
std::string nameOf(const CpuLevel &level);
/// The most capable level that this machine runs.
const CpuLevel &hostCpuLevel();
/// Whether this machine runs the instructions of a level.
bool hostRuns(const CpuLevel &level);
/// Whether code of a level is for this machine's architecture.
bool isHostArchitecture(const CpuLevel &level);
/// LLVM's triple: this process's where the architecture is this machine's.
llvm::Triple tripleOf(const CpuLevel &level);

} // namespace attn

#endif // ATTN_LOWERING_TARGET_H
