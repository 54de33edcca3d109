//===- Device.h - kernels on an NVIDIA GPU ----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver, libcuda, is opened at the first use. The device is the first, or
// that of ATTN_CUDA_DEVICE. Arrays may lie on the device or on the host; those
// on the host are copied there and back by every call.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DEVICE_H
#define ATTN_RUNTIME_CUDA_DEVICE_H

#include "runtime/Cache.h"
#include "runtime/cuda/LaunchArguments.h"

namespace attn::runtime {

/// The row of the architecture table that the device runs; throws Error where
/// there is no driver, no device, or an older one.
std::string deviceArchitecture();

/// Compiles the program by NVRTC, or takes it from the cache, and loads it.
std::shared_ptr<const GpuKernel> loadOnDevice(const CudaProgram &program,
                                              const Cache &cache);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_DEVICE_H
