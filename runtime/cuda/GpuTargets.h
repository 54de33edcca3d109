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

/// Decides on which device a call computes, Binding::gpu. Nothing to decide in
/// the emulator.
void chooseDevice(Binding &binding, const Options &options);

/// The architecture that a call needs code for: that of Options::level; empty:
/// its device's, and sm_80 in the emulator.
std::string architectureFor(const Binding &binding, const Options &options);

/// A kernel, and the state that its calls take and give (the recurrent order).
struct GpuProgram {
  std::shared_ptr<const GpuKernel> kernel;
  StateShape state;
};
/// The kernel at these sizes, for rows of this type.
GpuProgram makeGpuKernel(Compilation &compilation, const StaticSizes &sizes,
                         Type storage, const std::string &architecture,
                         const Options &options);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_GPUTARGETS_H
