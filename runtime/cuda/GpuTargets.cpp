//===- GpuTargets.cpp - the targets that run CUDA source ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/GpuTargets.h"
#include "runtime/Compile.h"
#include "runtime/cuda/Device.h"
#include "runtime/emulator/Emulator.h"

using namespace attn;
using namespace attn::runtime;

bool runtime::isGpuTarget(const std::string &target) {
  return target == "cuda" || target == "cuda-emulator";
}

std::shared_ptr<const GpuKernel>
runtime::makeGpuKernel(Compilation &compilation, const StaticSizes &sizes,
                       attn::Type storage, const Options &options) {
  bool emulated = options.target == "cuda-emulator";
  std::string architecture = options.level;
  if (architecture.empty())
    architecture = emulated ? "sm_80" : deviceArchitecture();
  CudaOptions cuda;
  cuda.level = &cudaLevel(architecture);
  cuda.storage = storage;
  CudaProgram program = compilation.emitCuda(sizes, cuda);
  if (emulated)
    return emulate(program);
  return loadOnDevice(program, Cache(Cache::folderFor(options.cache)));
}
