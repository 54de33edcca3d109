//===- Unseen.h - values that only a device sees ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parameters and lengths that lie on a device are checked there, by a kernel
// before the call's own; what it finds is known when somebody waits for the
// stream.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_UNSEEN_H
#define ATTN_RUNTIME_CUDA_UNSEEN_H

#include "runtime/Binder.h"
#include "runtime/Cache.h"
#include "runtime/cuda/DeviceCode.h"

#include "llvm/ADT/StringRef.h"

#include <map>

namespace attn::runtime {

/// TakeUnseen.cu: the kernel, behind the device's half of the prelude.
llvm::StringRef takeUnseenSource();

class UnseenChecks {
public:
  UnseenChecks(std::string architecture, std::string cacheFolder)
      : architecture(std::move(architecture)),
        cacheFolder(std::move(cacheFolder)) {}
  ~UnseenChecks();

  /// Enqueues the check on the device, which is current; converted values go to
  /// `to`.
  void enqueue(const CudaDevice &device, void *stream,
               const Binding::Unseen &unseen, DeviceAddress to);
  /// Throws what was found since the last time, if anything. What is still
  /// enqueued is not waited for.
  void report();

private:
  const DeviceCode &code();

  std::string architecture, cacheFolder;
  std::mutex mutex; ///< guards all below
  std::unique_ptr<DeviceCode> made;
  /// A word of the host that devices write: what was broken, and where.
  volatile int64_t *found = nullptr;
  std::map<size_t, std::string> rules; ///< by formal
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_UNSEEN_H
