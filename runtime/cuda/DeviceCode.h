//===- DeviceCode.h - machine code on devices -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DEVICECODE_H
#define ATTN_RUNTIME_CUDA_DEVICECODE_H

#include "runtime/cuda/Driver.h"

#include <string>
#include <vector>

namespace attn::runtime {

/// Kernels that are loaded on each device when it first needs them, and stay
/// there as long as this object.
class DeviceCode {
public:
  struct Entry {
    std::string name;
    int64_t sharedBytes = 0;
  };
  DeviceCode(std::string cubin, std::vector<Entry> entries)
      : cubin(std::move(cubin)), entries(std::move(entries)) {}
  ~DeviceCode();
  DeviceCode(const DeviceCode &) = delete;

  /// The functions, in the order of the entries, of the device, which is
  /// current.
  const std::vector<void *> &on(const CudaDevice &device) const;
  /// Waits until all devices that have the code are idle.
  void synchronize() const;

private:
  struct Loaded {
    const CudaDevice *device;
    void *module = nullptr;
    std::vector<void *> functions;
  };
  std::vector<const CudaDevice *> devices() const;

  std::string cubin;
  std::vector<Entry> entries;
  mutable std::mutex mutex; ///< guards `loaded`
  mutable std::vector<std::unique_ptr<Loaded>> loaded;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_DEVICECODE_H
