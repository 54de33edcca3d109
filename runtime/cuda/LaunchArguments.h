//===- LaunchArguments.h - the values of kernel parameters ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a binding to what an entry is launched with; the same for a device and
// for the emulator.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_LAUNCHARGUMENTS_H
#define ATTN_RUNTIME_CUDA_LAUNCHARGUMENTS_H

#include "lowering/cuda/Launch.h"
#include "runtime/Binder.h"

namespace attn::runtime {

/// A kernel that runs the arrays of a binding, somewhere.
class GpuKernel {
public:
  virtual ~GpuKernel() = default;
  virtual void run(const Binding &binding) const = 0;
  /// Waits until what runs enqueued is done, and throws what it found.
  virtual void synchronize() const {}
  /// Seconds that each of so many runs takes, without copies from and to the
  /// host, after one that is not counted.
  virtual std::vector<double> time(const Binding &binding,
                                   int64_t repetitions) const;
};

/// The type that all rows of a call have; throws where they differ.
Type rowTypeOf(const Signature &signature, const Binding &binding);

/// Whether a LaunchArgument of that role is a result, not an input or
/// workspace.
bool isOutputRole(const std::string &role);

/// The arguments of the attention function in order, workspaces included,
/// whose memory is the caller's to bring.
class LaunchArguments {
public:
  LaunchArguments(const CudaProgram &program, const Binding &binding);

  std::vector<Tensor> tensors;
  std::vector<size_t> workspaces; ///< which of them are workspaces
  /// Bytes of a tensor from element [0, ..., 0] to the first and past the last
  /// byte that kernels may touch.
  std::pair<int64_t, int64_t> span(size_t n) const;

  int64_t blocks(const LaunchStage &stage) const;
  /// A word a parameter: an address, or a whole number.
  std::vector<int64_t> values(const LaunchStage &stage) const;

private:
  const CudaProgram &program;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_LAUNCHARGUMENTS_H
