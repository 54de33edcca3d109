//===- Noise.h - what a target can promise ----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_NOISE_H
#define ATTN_TOOLS_NOISE_H

#include "runtime/Kernel.h"
#include "runtime/reference/Noise.h"

namespace attn {

/// Runs the reference with every intermediate result moved at random as if it
/// were rounded as `noise` says.
void runWithNoise(const runtime::Prepared &prepared, const Noise &noise);

} // namespace attn

#endif // ATTN_TOOLS_NOISE_H
