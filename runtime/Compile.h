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

#include "lowering/Target.h"
#include "runtime/Execute.h"
#include "runtime/Import.h"
#include "runtime/Signature.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <mutex>

namespace attn::runtime {

class Code; // JIT-ed machine code, freed with its owner

/// Where to stop and print.
enum class Stage { Attn, Scheduled, Loops, Llvm, Asm };

class Compilation;

struct Explanation; // runtime/Explanation.h

/// A kernel at fixed sizes.
class Specialisation {
public:
  ~Specialisation();

  const StaticSizes sizes;
  /// The length of the rows of o.
  int64_t outputRow = 0;

  /// Makes machine code unless that is done; safe to call from many threads.
  /// Returns the milliseconds that this call spent on it.
  double compile(const CpuLevel &level);
  /// Runs the machine code.
  void run(const Binding &binding, const Threads &threads) const;
  /// Runs the reference interpreter; with `noise`, as if results were rounded.
  void interpret(const Binding &binding, uint64_t noise = 0) const;

private:
  friend class Compilation;
  Specialisation(std::shared_ptr<Compilation> parent, StaticSizes sizes);

  std::shared_ptr<Compilation> parent; ///< owns the context
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::once_flag once;
  std::vector<StageEntry> stages;
  std::vector<Workspace> workspaces;
  std::unique_ptr<Code> code;
};

/// A kernel's IR. Its context is single-threaded: a lock is held around its
/// use.
class Compilation : public std::enable_shared_from_this<Compilation> {
public:
  /// Parses a text of either kind and issues the licence, so that what cannot
  /// be compiled is refused before there are arrays; throws Error.
  /// `acceptSigned`: a kernel that may be negative is read all the same, to
  /// explain it.
  static std::shared_ptr<Compilation> parse(std::string_view text,
                                            std::string_view name,
                                            std::string_view file,
                                            bool acceptSigned = false);
  ~Compilation();

  const Signature &getSignature() const { return signature; }

  /// A specialisation at these sizes; throws where they contradict the kernel.
  std::shared_ptr<Specialisation> specialise(const StaticSizes &sizes);

  /// The text at a stage. Without sizes only Stage::Attn keeps them open; the
  /// others take `defaultSizes`.
  std::string emit(Stage stage, const StaticSizes *sizes,
                   const CpuLevel &level);

  /// The module after the schedule pipeline, for tools that explain it. Use it
  /// while holding the lock.
  mlir::OwningOpRef<mlir::ModuleOp> schedule(const StaticSizes &sizes,
                                             const CpuLevel &level);
  /// A copy of the kernel's module at these sizes. Use it while holding the
  /// lock.
  mlir::OwningOpRef<mlir::ModuleOp>
  specialisedModule(const StaticSizes &sizes, int64_t *outputRow = nullptr);
  /// Proves everything about the kernel at these sizes; throws Error where it
  /// is not defined. Use it while holding the lock.
  Explanation explain(const StaticSizes &sizes);
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex); }

private:
  friend class Specialisation;
  Compilation();
  /// Runs `work`, which reports by diagnostics; throws what it reported if it
  /// fails.
  void check(llvm::function_ref<mlir::LogicalResult()> work);

  std::mutex mutex;
  mlir::MLIRContext context;
  std::string text, file; ///< for diagnostics with source lines
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Signature signature;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_COMPILE_H
