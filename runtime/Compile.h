//===- Compile.h - from a spec to code --------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Compilation holds a kernel's IR in a context of its own. Specialised on
// sizes, it is interpreted, compiled, or printed at any stage on the way.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_COMPILE_H
#define ATTN_RUNTIME_COMPILE_H

#include "dialect/spec/Spec.h"
#include "lowering/Target.h"
#include "runtime/Execute.h"
#include "runtime/Import.h"
#include "runtime/Signature.h"
#include "runtime/StoredCode.h"
#include "runtime/reference/Noise.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include <mutex>

namespace attn {
struct CudaProgram; // lowering/cuda/Launch.h
}

namespace attn::runtime {

class Cache;
class Code; // JIT-ed machine code, freed with its owner
struct AheadOfTime;
struct CudaOptions; // runtime/cuda/EmitCuda.h

/// Where to stop and print.
enum class Stage { Attn, Scheduled, Loops, Llvm, Asm };

class Compilation;

/// Runs a pipeline of Pipelines.h; what is wrong is a diagnostic.
mlir::LogicalResult runPipeline(mlir::ModuleOp module,
                                void (*build)(mlir::OpPassManager &));
struct Explanation; // runtime/Explanation.h

/// A kernel at fixed sizes.
class Specialisation {
public:
  ~Specialisation();

  const StaticSizes sizes;
  /// The length of the rows of o.
  int64_t outputRow = 0;

  /// Makes machine code unless that is done, from the cache if it was there;
  /// safe to call from many threads. Returns the milliseconds that this call
  /// spent on it.
  double compile(const CpuLevel &level);
  /// The state that calls take and give, in the recurrent order. Once there is
  /// machine code.
  const StateShape &state() const { return stored.state; }
  /// Runs the machine code.
  void run(const Binding &binding, const Threads &threads) const;
  /// Runs the reference interpreter; with `noise`, as if results were rounded.
  void interpret(const Binding &binding, const Noise &noise = {});

private:
  friend class Compilation;
  Specialisation(std::shared_ptr<Compilation> parent, StaticSizes sizes);

  void generate(const CpuLevel &level);
  void link();

  std::shared_ptr<Compilation> parent;      ///< owns the context
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< what is interpreted
  std::once_flag once;
  StoredCode stored; ///< without an object: not generated yet
  std::vector<StageEntry> stages;
  std::unique_ptr<Code> code;
};

/// A kernel's IR. Its context is single-threaded: a lock is held around its
/// use.
class Compilation : public std::enable_shared_from_this<Compilation> {
public:
  /// Parses a text of either kind and issues the licence, so that what cannot
  /// be compiled is refused before there are arrays; throws Error. Licences and
  /// code come from the cache, if there is one. `acceptSigned`: a kernel that
  /// may be negative is read all the same, to explain it.
  static std::shared_ptr<Compilation>
  parse(std::string_view text, std::string_view name, std::string_view file,
        std::shared_ptr<const Cache> cache = nullptr,
        bool acceptSigned = false);
  /// The same from a tree; its text stands in for the one that it lacks.
  static std::shared_ptr<Compilation>
  import(const Spec &spec, std::shared_ptr<const Cache> cache = nullptr);
  ~Compilation();

  const Signature &getSignature() const { return signature; }
  /// The order that code is to have, as in Options::schedule; before it is
  /// made. The recurrent one adds a state to what a call takes and gives.
  void setOrder(std::string order);

  /// A specialisation at these sizes; throws where they contradict the kernel.
  /// `level` is what it will be compiled for; null: it is interpreted.
  std::shared_ptr<Specialisation> specialise(const StaticSizes &sizes,
                                             const CpuLevel *level);

  /// The text at a stage. Without sizes only Stage::Attn keeps them open; the
  /// others take `defaultSizes`.
  std::string emit(Stage stage, const StaticSizes *sizes,
                   const CpuLevel &level);

  /// The object file of a C library of one kernel, whose functions begin with
  /// `name` (empty: the spec's). Of several levels, the most capable first, the
  /// library picks one when it runs. Throws where C cannot have that name, or
  /// levels need other arguments.
  AheadOfTime compileAhead(const StaticSizes &sizes,
                           llvm::ArrayRef<CpuLevel> levels,
                           llvm::StringRef name);

  /// A number that another kernel does not have: it is made of the IR, without
  /// the spec's name.
  uint64_t fingerprint();

  /// The CUDA C++ source of the kernel, and how to launch it.
  CudaProgram emitCuda(const StaticSizes &sizes, const CudaOptions &options);

  /// The module after the schedule pipeline, for tools that explain it. Use it
  /// while holding the lock.
  mlir::OwningOpRef<mlir::ModuleOp> schedule(const StaticSizes &sizes,
                                             const CpuLevel &level);
  /// Takes what `schedule` made through the other pipelines; throws what the
  /// CPU refuses. Use it while holding the lock.
  void lower(mlir::ModuleOp scheduled);
  /// A copy of the kernel's module at these sizes. Use it while holding the
  /// lock.
  mlir::OwningOpRef<mlir::ModuleOp>
  specialisedModule(const StaticSizes &sizes, int64_t *outputRow = nullptr);
  /// Leaves the kernel exact where it asks for features; whether it did. Before
  /// the first specialisation.
  bool dropFeatures();
  /// Proves everything about the kernel at these sizes; throws Error where it
  /// is not defined. Use it while holding the lock.
  Explanation explain(const StaticSizes &sizes);
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex); }

private:
  friend class Specialisation;
  explicit Compilation(std::shared_ptr<const Cache> cache);
  /// What is left to do once there is a module.
  void adopt(mlir::OwningOpRef<mlir::ModuleOp> parsed, std::string_view name,
             bool acceptSigned);
  /// The module that the reference interprets: features are part of a kernel's
  /// meaning.
  void applyFeatures(mlir::ModuleOp specialised);
  /// Runs `work`, which reports by diagnostics; throws what it reported if it
  /// fails.
  void check(llvm::function_ref<mlir::LogicalResult()> work);
  /// The module of one level with its C interface; `made` grows by what is
  /// said of it.
  mlir::OwningOpRef<mlir::ModuleOp> lowerAhead(const StaticSizes &sizes,
                                               const CpuLevel &level,
                                               llvm::StringRef name,
                                               AheadOfTime &made);

  std::mutex mutex;
  mlir::MLIRContext context;
  std::string text, file; ///< for diagnostics with source lines
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Signature signature;

  /// Keys of the cache begin with which build compiles which IR.
  std::string key(const std::string &what) const;
  std::string codeKey(const StaticSizes &sizes, const CpuLevel &level) const;
  std::shared_ptr<const Cache> cache; ///< null: none
  std::string ir;                     ///< printed; empty without a cache
  std::string order;                  ///< asked for; empty: to be chosen
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_COMPILE_H
