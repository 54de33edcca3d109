//===- Target.cpp - the table of CPU feature levels -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/Target.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace attn;

// What the x86-64 levels promise (System V ABI for x86-64, section 3.1.1), as
// bits of CPUID and of XCR0 (Intel's manual, volume 1, chapters 13 to 15).
static constexpr CpuidBits v2{1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 |
                                  1u << 20 | 1u << 23, // SSE3 to POPCNT
                              0, 1u << 0, 0};
static constexpr CpuidBits v3{v2.leaf1Ecx | 1u << 12 | 1u << 22 | 1u << 27 |
                                  1u << 28 | 1u << 29,     // FMA to F16C
                              1u << 3 | 1u << 5 | 1u << 8, // BMI, AVX2, BMI2
                              v2.extended1Ecx | 1u << 5,   // LZCNT
                              0x6};                        // XMM, YMM
static constexpr CpuidBits v4{v3.leaf1Ecx,
                              v3.leaf7Ebx | 1u << 16 | 1u << 17 | 1u << 28 |
                                  1u << 30 | 1u << 31, // AVX512F to VL
                              v3.extended1Ecx, 0xe6};
static constexpr CpuidBits bf16{v4.leaf1Ecx, v4.leaf7Ebx, v4.extended1Ecx,
                                v4.xcr0,     0,           1u << 5};
static constexpr CpuidBits amx{bf16.leaf1Ecx,       bf16.leaf7Ebx,
                               bf16.extended1Ecx,   bf16.xcr0 | kTileRegisters,
                               1u << 22 | 1u << 24, // AMX-BF16, AMX-TILE
                               bf16.leaf7Sub1Eax};

static constexpr llvm::StringLiteral x86 = "x86_64-unknown-linux-gnu";

// panelVectors * rowBlock accumulators, panelVectors operands and one broadcast
// must leave a register to spare (2 * 6 + 2 + 1 = 15 of 16, 4 * 4 + 4 + 1 of
// 32): without one, unrolling makes the scheduler spill an accumulator in the
// inner loop. Many panels: keys come from far once a tile of queries, and a
// mask is looked at panel by panel.
// On the matrix unit a panel is two tiles wide, and what it works on (pairs,
// their 16-bit copies, sums, rows of keys and values: 8 + 4 + 8 + 16 KiB for
// rows of 64) stays in the first-level cache; many panels share the packing of
// keys and values.
static const CpuLevel levels[] = {
    {"amx", x86, "x86-64-v4", "-prefer-256-bit,+amx-tile,+amx-bf16,+avx512bf16",
     16, 4, 4, 4, 1, 64, true, true, true, FloatControl::MXCSR, amx, 2, 8,
     true},
    {"avx512bf16", x86, "x86-64-v4", "-prefer-256-bit,+avx512bf16", 16, 4, 4, 4,
     1, 64, true, true, true, FloatControl::MXCSR, bf16, 4, 4},
    {"x86-64-v4", x86, "x86-64-v4", "-prefer-256-bit", 16, 4, 4, 4, 1, 64, true,
     true, false, FloatControl::MXCSR, v4},
    {"x86-64-v3", x86, "x86-64-v3", "", 8, 2, 6, 4, 8, 60, true, false, false,
     FloatControl::MXCSR, v3},
    {"x86-64-v2", x86, "x86-64-v2", "", 4, 2, 6, 1, 8, 60, false, false, false,
     FloatControl::MXCSR, v2},
    // Armv8.0 with Advanced SIMD, which every AArch64 Linux has. 4 * 4 + 4 of
    // 32 registers, and multiplications by a lane of what else is loaded.
    {"aarch64", "aarch64-unknown-linux-gnu", "generic", "", 4, 4, 4, 4, 4, 64,
     true, false, false, FloatControl::FPCR, CpuidBits()},
};

llvm::ArrayRef<CpuLevel> attn::cpuLevels() { return levels; }

const CpuLevel *attn::findCpuLevel(llvm::StringRef name) {
  for (const CpuLevel &level : levels)
    if (level.name == name)
      return &level;
  return nullptr;
}

std::optional<CpuLevel> attn::parseCpuLevel(llvm::StringRef text) {
  if (text.empty() || text == "native")
    return hostCpuLevel();
  auto [tiles, code] = text.split('@');
  const CpuLevel *level = findCpuLevel(tiles);
  const CpuLevel *machine = !text.contains('@') ? level
                            : code == "native"  ? &hostCpuLevel()
                                                : findCpuLevel(code);
  if (!level || !machine)
    return std::nullopt;
  CpuLevel result = *machine;
  result.name = level->name;
  result.lanes = level->lanes;
  result.panelVectors = level->panelVectors;
  result.rowBlock = level->rowBlock;
  result.unroll = level->unroll;
  result.panels = level->panels;
  result.tileK = level->tileK;
  result.matrixVectors = level->matrixVectors;
  result.matrixPanels = level->matrixPanels;
  if (machine != level)
    result.code = machine->name;
  return result;
}

CpuLevel CpuLevel::onMatrixUnit() const {
  CpuLevel level = *this;
  level.rowBlock = panelVectors * rowBlock / matrixVectors;
  level.panelVectors = matrixVectors;
  level.panels = matrixPanels;
  return level;
}

/// Whether the system lets this process use the tile registers, which it has to
/// be asked for (Linux, Documentation/arch/x86/xstate.rst).
static bool mayUseTileRegisters() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

static const CpuLevel &detectLevel() {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  auto has = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names,
                        [&](llvm::StringRef n) { return host.lookup(n); });
  };
  if (isHostArchitecture(*findCpuLevel("aarch64")))
    return *findCpuLevel("aarch64");
  if (has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) {
    if (!has({"avx512bf16"}))
      return *findCpuLevel("x86-64-v4");
    bool tiles = has({"amx-tile", "amx-bf16"}) && mayUseTileRegisters();
    return *findCpuLevel(tiles ? "amx" : "avx512bf16");
  }
  if (has({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}))
    return *findCpuLevel("x86-64-v3");
  return *findCpuLevel("x86-64-v2");
}

const CpuLevel &attn::hostCpuLevel() {
  // Asked on every call of a kernel, and asking the machine takes 50 us.
  static const CpuLevel &level = detectLevel();
  return level;
}

std::string attn::nameOf(const CpuLevel &level) {
  std::string name = level.name.str();
  return level.code.empty() ? name : name + "@" + level.code.str();
}

bool attn::isHostArchitecture(const CpuLevel &level) {
  return llvm::Triple(level.triple).getArch() ==
         llvm::Triple(llvm::sys::getProcessTriple()).getArch();
}

llvm::Triple attn::tripleOf(const CpuLevel &level) {
  return isHostArchitecture(level) ? llvm::Triple(llvm::sys::getProcessTriple())
                                   : llvm::Triple(level.triple);
}

bool attn::hostRuns(const CpuLevel &level) {
  // Asked on every call of a kernel, too: no triple is parsed.
  const CpuLevel *known = findCpuLevel(level.codeName());
  return known->triple == hostCpuLevel().triple && known >= &hostCpuLevel();
}
