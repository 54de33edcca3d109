//===- GpuTargets.cpp - the targets that run CUDA source ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/GpuTargets.h"
#include "runtime/BinderImpl.h"
#include "runtime/Cache.h"
#include "runtime/Compile.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/Driver.h"
#include "runtime/emulator/Emulator.h"

using namespace attn;
using namespace attn::runtime;

bool runtime::isGpuTarget(const std::string &target) {
  return target == "cuda" || target == "cuda-emulator";
}

static bool isEmulated(const Options &options) {
  return options.target == "cuda-emulator";
}

void runtime::chooseDevice(Binding &binding, const Options &options) {
  if (isEmulated(options))
    return;
  bool isGiven = binding.place.kind == Device::Cuda;
  if (isGiven && options.device >= 0 && options.device != binding.place.ordinal)
    throw Error("the arrays lie on " + toString(binding.place) +
                ", and the kernel is for CUDA device " +
                std::to_string(options.device) + " (Options::device)");
  if (isGiven)
    binding.gpu = binding.place.ordinal;
  else if (options.device >= 0)
    binding.gpu = options.device;
  else
    binding.gpu = defaultDevice();
}

std::string runtime::architectureFor(const Binding &binding,
                                     const Options &options) {
  if (!options.level.empty())
    return options.level;
  return isEmulated(options) ? "sm_80"
                             : Driver::get().device(binding.gpu).architecture();
}

GpuProgram runtime::makeGpuKernel(Compilation &compilation,
                                  const StaticSizes &sizes, attn::Type storage,
                                  const std::string &architecture,
                                  const Options &options) {
  CudaOptions cuda;
  cuda.level = &cudaLevel(architecture);
  cuda.storage = storage;
  CudaProgram program = compilation.emitCuda(sizes, cuda);
  GpuProgram made;
  for (const LaunchArgument &argument : program.arguments)
    if (argument.isState())
      made.state = {argument.rows, argument.row, argument.perQueryHead};
  made.kernel = isEmulated(options)
                    ? emulate(program)
                    : loadOnDevice(program, Cache::folderFor(options.cache));
  return made;
}
