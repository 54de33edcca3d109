//===- Kernel.h - what a kernel keeps between calls -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the project's own tools, which time binding, compiling and running apart.
// No MLIR here; Compile.h has the IR's side.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_KERNEL_H
#define ATTN_RUNTIME_KERNEL_H

#include "attn/attn.h"
#include "runtime/Binder.h"
#include "runtime/Execute.h"
#include "runtime/Signature.h"
#include "runtime/reference/Noise.h"

#include <mutex>
#include <shared_mutex>

namespace attn {
struct CpuLevel;

namespace runtime {

class Compilation;
class GpuKernel;
class Specialisation;

/// A call whose arguments are checked and whose code is there; `run` may be
/// repeated.
struct Prepared {
  Binding binding;
  std::shared_ptr<Specialisation> code;
  /// What making the code took in this call; 0 where it was kept from before.
  double compileMilliseconds = 0;
  /// What runs, where the target is a GPU or stands in for one.
  std::shared_ptr<const GpuKernel> gpu;
};

} // namespace runtime

struct Kernel::Impl {
  Impl(std::shared_ptr<runtime::Compilation> compilation,
       const Options &options);
  ~Impl();

  /// Checks arguments and outputs and makes the code, if it is not there yet.
  runtime::Prepared prepare(const std::vector<Argument> &arguments,
                            const std::vector<Output> &outputs,
                            void *stream = nullptr);
  /// Computes the outputs. Allocates nothing but workspaces, checks nothing.
  void run(const runtime::Prepared &prepared) const;
  /// As Kernel::synchronize.
  void synchronize() const;
  /// The shapes of all results, in the order of `signature.results`.
  std::vector<std::vector<int64_t>>
  shapesOf(const std::vector<Argument> &arguments);
  const CpuLevel &getLevel() const { return *level; }
  /// The feature level or architecture, for messages.
  std::string levelName() const;
  /// Whether weights of values of this type may be rounded to it before they
  /// are summed: by the matrix units of GPUs and CPUs.
  bool roundsWeights(Type storage) const;
  /// How far results on the way may move where q, k and v are of this type.
  Noise noiseOf(Type storage) const;

  std::shared_ptr<runtime::Compilation> compilation;
  const runtime::Signature &signature;
  Options options;
  runtime::BindRules rules;
  runtime::Threads threads;

private:
  std::unique_ptr<const CpuLevel> level;
  /// The specialisation for these sizes, new or kept. Not yet compiled.
  std::shared_ptr<runtime::Specialisation>
  specialise(const runtime::StaticSizes &sizes);

  bool isRecurrent() const { return options.schedule == runtime::kRecurrent; }
  /// Makes the code unless that is done; the milliseconds that it took.
  double compile(runtime::Specialisation &code) const;

  struct GpuCode;
  /// The code of a GPU target for the sizes and row types of a binding.
  const GpuCode &gpuKernel(const runtime::Binding &binding,
                           double &milliseconds);
  /// What a state is follows from the code, which is made for that.
  runtime::StateShape stateOf(const runtime::Binding &binding,
                              runtime::Specialisation &code,
                              double &milliseconds);
  mutable std::mutex gpuMutex; ///< guards `gpuCode`
  std::vector<std::unique_ptr<GpuCode>> gpuCode;

  std::shared_mutex mutex; ///< guards `specialisations`
  std::vector<std::shared_ptr<runtime::Specialisation>> specialisations;
};

} // namespace attn

#endif // ATTN_RUNTIME_KERNEL_H
