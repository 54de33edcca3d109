//===- GpuTargets.h - the targets that run CUDA source ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_GPUTARGETS_H
#define ATTN_RUNTIME_CUDA_GPUTARGETS_H

#include "runtime/cuda/EmitCuda.h"
#include "runtime/cuda/LaunchArguments.h"

namespace attn::runtime {

class Compilation;

/// "cuda", a device; or "cuda-emulator", this machine's CPU.
bool isGpuTarget(const std::string &target);

/// The kernel at these sizes, for rows of this type. Options::level names the
/// architecture; empty: the device's, and sm_80 in the emulator.
std::shared_ptr<const GpuKernel> makeGpuKernel(Compilation &compilation,
                                               const StaticSizes &sizes,
                                               Type storage,
                                               const Options &options);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_GPUTARGETS_H
