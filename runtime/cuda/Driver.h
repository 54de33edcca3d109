//===- Driver.h - NVIDIA's driver and its devices ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver, libcuda, is opened at the first use, or what ATTN_CUDA points to.
// Every device has one context, the primary one, which other libraries of the
// process use too; it is current only as long as something is asked of it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DRIVER_H
#define ATTN_RUNTIME_CUDA_DRIVER_H

#include "runtime/cuda/Library.h"

#include <cstddef>
#include <memory>
#include <mutex>

namespace attn::runtime {

/// CUdeviceptr.
using DeviceAddress = unsigned long long;
struct MemoryPoolProperties;

/// A device that the driver knows, with its context.
struct CudaDevice {
  int ordinal = 0;
  int handle = 0;
  int capability = 0; ///< 80 for 8.0
  void *context = nullptr;
  /// Memory that streams allocate and free in their order; null where the
  /// device has none.
  void *pool = nullptr;
  /// The row of the architecture table that it runs; throws Error where there
  /// is none.
  std::string architecture() const;
};

/// The functions of cuda.h that are used; handles are pointers, results 0 for
/// success.
class Driver {
public:
  /// Throws Error where there is no driver, which says where it was looked for.
  static const Driver &get();
  /// Throws Error where there is no such device.
  const CudaDevice &device(int ordinal) const;
  /// Throws Error with the driver's words unless the result is 0.
  void check(int result, const char *what) const;

  int (*deviceAttribute)(int *, int, int);
  int (*pushContext)(void *);
  int (*popContext)(void **);
  int (*synchronizeContext)();
  int (*loadModule)(void **, const void *);
  int (*unloadModule)(void *);
  int (*getFunction)(void **, void *, const char *);
  int (*setFunctionAttribute)(void *, int, int);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, void *, void **, void **);
  int (*allocate)(DeviceAddress *, size_t);
  int (*free)(DeviceAddress);
  int (*allocateFrom)(DeviceAddress *, size_t, void *, void *);
  int (*freeInOrder)(DeviceAddress, void *);
  int (*allocateHost)(void **, size_t, unsigned);
  int (*freeHost)(void *);
  int (*toDevice)(DeviceAddress, const void *, size_t, void *);
  int (*toHost)(void *, DeviceAddress, size_t, void *);
  int (*fillWords)(DeviceAddress, unsigned, size_t, void *);
  int (*pointerAttribute)(void *, int, DeviceAddress);
  int (*synchronize)(void *);
  int (*makeEvent)(void **, unsigned);
  int (*destroyEvent)(void *);
  int (*recordEvent)(void *, void *);
  int (*synchronizeEvent)(void *);
  int (*elapsedMilliseconds)(float *, void *, void *);

private:
  Driver();
  CudaDevice open(int ordinal) const;

  int (*init)(unsigned);
  int (*deviceCount)(int *);
  int (*deviceGet)(int *, int);
  int (*retainContext)(void **, int);
  int (*makePool)(void **, const MemoryPoolProperties *);
  int (*setPoolAttribute)(void *, int, void *);
  int (*errorText)(int, const char **);
  Library library;
  int count = 0;
  mutable std::mutex mutex; ///< guards `devices`
  mutable std::vector<std::unique_ptr<const CudaDevice>> devices;
};

/// Makes a device's context current for a scope.
class CurrentDevice {
public:
  explicit CurrentDevice(const CudaDevice &device) : driver(Driver::get()) {
    driver.check(driver.pushContext(device.context), "the GPU cannot be used");
  }
  ~CurrentDevice() {
    void *context = nullptr;
    driver.popContext(&context);
  }
  CurrentDevice(const CurrentDevice &) = delete;

private:
  const Driver &driver;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_DRIVER_H
