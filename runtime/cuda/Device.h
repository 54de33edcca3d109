//===- Device.h - kernels on NVIDIA GPUs ------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DEVICE_H
#define ATTN_RUNTIME_CUDA_DEVICE_H

#include "runtime/cuda/LaunchArguments.h"

namespace attn::runtime {

/// The device of ATTN_CUDA_DEVICE, or the first.
int defaultDevice();

/// Compiles the program by NVRTC, or takes it from the cache in that folder.
/// It is loaded on a device by the first call there.
std::shared_ptr<const GpuKernel> loadOnDevice(const CudaProgram &program,
                                              const std::string &cacheFolder);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_DEVICE_H
