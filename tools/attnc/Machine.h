//===- Machine.h - what this machine can do ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The yardsticks of `attnc bench`: the peak of fused multiply-adds, the clock,
// and the memory of this process.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_MACHINE_H
#define ATTN_TOOLS_MACHINE_H

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// Seconds of a clock that only goes forward.
double now();
/// From here on that clock stands still while this process does not run. On a
/// machine with other users, one thread is timed as if it were alone.
void countOwnTime();

/// GFLOP/s that `threads` threads reach together on chains of multiply-adds in
/// registers, over about `seconds`. The vectors have `lanes` numbers, or are
/// the widest of this machine where it has no such.
double measurePeak(int threads, double seconds = 0.01, int64_t lanes = 0);
/// The instructions measurePeak() runs: "AVX-512", "AVX2", "SSE" or "scalar".
std::string peakInstructions();

/// GFLOP/s of one thread on products of bf16 that are added in f32: on tiles of
/// AMX, two by two tiles of sums whose operands are loaded from the first-level
/// cache, or else by AVX512_BF16 on chains in registers; 0 where there is
/// neither.
double measureBf16Peak(double seconds = 0.01);

struct Span {
  const void *memory;
  int64_t bytes;
};

/// GB/s at which `threads` threads together read arrays from begin to end,
/// again and again over about `seconds`, and at least once. The better of two
/// ways: one array after the other; or 2 KiB of each in turns, which are asked
/// for 2 KiB before, since memory may serve two streams faster than one.
double measureRead(const std::vector<Span> &arrays, int threads,
                   double seconds = 0.01);

/// Seconds in which one thread reads and writes memory from begin to end, once.
double measureUpdate(void *memory, int64_t bytes);

/// The processor's name.
std::string machineName();

/// Gives unused memory back and makes the peak equal to what is in use now.
/// Returns that, in bytes; 0 where the system keeps no such count.
int64_t resetPeakMemory();
/// The most memory in use since resetPeakMemory(), in bytes.
int64_t peakMemory();

} // namespace attn

#endif // ATTN_TOOLS_MACHINE_H
