//===- Noise.h - what f32 arithmetic can promise ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_NOISE_H
#define ATTN_TOOLS_NOISE_H

#include "runtime/Kernel.h"

namespace attn {

/// Runs the reference with every intermediate result moved at random as if it
/// were rounded to f32. A seed that is not 0 names the numbers.
void runWithNoise(const runtime::Prepared &prepared, uint64_t seed);

} // namespace attn

#endif // ATTN_TOOLS_NOISE_H
