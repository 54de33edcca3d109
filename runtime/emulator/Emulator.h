//===- Emulator.h - CUDA kernels on this machine's CPU ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The emitted source, compiled by the host's C++ compiler against Host.h: every
// kernel can be executed and compared where there is no GPU.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_EMULATOR_H
#define ATTN_RUNTIME_EMULATOR_EMULATOR_H

#include "runtime/cuda/LaunchArguments.h"

#include "llvm/ADT/StringRef.h"

namespace attn::runtime {

/// Compiles the program for the emulator; throws Error where there is no C++
/// compiler, or it refuses the source.
std::shared_ptr<const GpuKernel> emulate(const CudaProgram &program);

/// What kernels see of the machine: it is compiled with their source.
llvm::StringRef hostPrelude();

} // namespace attn::runtime

#endif // ATTN_RUNTIME_EMULATOR_EMULATOR_H
