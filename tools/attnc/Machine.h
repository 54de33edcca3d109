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

namespace attn {

/// Seconds of a clock that only goes forward.
double now();

/// GFLOP/s that `threads` threads reach together on chains of multiply-adds in
/// registers, over about `seconds`. The vectors are the widest of this machine.
double measurePeak(int threads, double seconds = 0.01);
/// The instructions measurePeak() runs: "AVX-512", "AVX2", "SSE" or "scalar".
std::string peakInstructions();

/// The processor's name.
std::string machineName();

/// Gives unused memory back and makes the peak equal to what is in use now.
/// Returns that, in bytes; 0 where the system keeps no such count.
int64_t resetPeakMemory();
/// The most memory in use since resetPeakMemory(), in bytes.
int64_t peakMemory();

} // namespace attn

#endif // ATTN_TOOLS_MACHINE_H
