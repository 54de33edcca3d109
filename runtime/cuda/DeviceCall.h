//===- DeviceCall.h - the arrays of a call on a GPU -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arrays of the device stay where they are. What lies on the host, what is
// converted, and workspaces get memory of the device: one block a call, from
// the device's pool, allocated and freed in the order of the stream, so that
// nothing waits and nothing is freed that is still used.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DEVICECALL_H
#define ATTN_RUNTIME_CUDA_DEVICECALL_H

#include "runtime/cuda/LaunchArguments.h"
#include "runtime/cuda/Unseen.h"

namespace attn::runtime {

/// A block of device memory in the order of a stream.
class StreamMemory {
public:
  StreamMemory(const CudaDevice &device, void *stream)
      : device(device), stream(stream) {}
  ~StreamMemory();
  StreamMemory(const StreamMemory &) = delete;
  /// Throws Error where the device has no more.
  DeviceAddress allocate(size_t bytes);

private:
  const CudaDevice &device;
  void *stream;
  DeviceAddress address = 0;
};

class DeviceCall {
public:
  /// Checks that arrays lie where they are said to, and enqueues the copies
  /// from the host and the checks of what the host does not see. The device is
  /// current.
  DeviceCall(const CudaProgram &program, const Binding &binding,
             const CudaDevice &device, UnseenChecks &checks);

  const LaunchArguments &getArguments() const { return arguments; }
  /// Enqueues the copies of results to the host, if any.
  void fetch() const;

private:
  /// An array that has a place in the block.
  struct Placed {
    size_t argument;
    size_t offset, bytes;
    char *host; ///< where it is copied from; null: nowhere
  };
  void checkAddresses(const Binding &binding) const;
  void place(const Binding &binding);
  void copyToDevice(const Placed &placed, DeviceAddress to) const;

  const CudaProgram &program;
  void *stream;
  LaunchArguments arguments;
  std::vector<Placed> placed;
  std::vector<DeviceAddress> addresses; ///< of `placed`
  size_t bytes = 0;
  StreamMemory memory;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_DEVICECALL_H
