//===- Execute.h - running compiled stages ----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code computes a range of work items; the threads are brought here.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EXECUTE_H
#define ATTN_RUNTIME_EXECUTE_H

#include "runtime/Binder.h"

#include <functional>

namespace attn::runtime {

/// The two entries of a stage; `args[t]` points to the MLIR memref descriptor
/// of function argument t.
struct StageEntry {
  void (*run)(void **args, int64_t begin, int64_t end) = nullptr;
  int64_t (*items)(void **args) = nullptr;
};

/// A workspace argument: [B, Hk, Nk, row] or, without `row`, [B, Hk, Nk]; of
/// f32. One that depends on the query head has Hq heads.
struct Workspace {
  int64_t row = 1;
  bool hasRow = true;
  bool perQueryHead = false;
  int64_t rows = 0; ///< instead of Nk; 0: Nk
};

/// The threads of a kernel's calls.
class Threads {
public:
  /// `count` 0 stands for one thread a core.
  explicit Threads(int count);
  ~Threads();
  int count() const { return concurrency; }
  /// Calls `body(begin, end)` over a partition of [0, items), on all threads.
  void forRange(int64_t items,
                const std::function<void(int64_t, int64_t)> &body) const;

private:
  struct Arena; // TBB stays out of this header
  int concurrency;
  std::unique_ptr<Arena> arena;
};

/// Workspaces hold as many (batch, key head) at a time as fit into so many
/// bytes, and at least one.
inline constexpr int64_t kWorkspaceLimit = int64_t(16) << 20;

/// Runs all stages on the arrays of a binding.
void execute(const std::vector<StageEntry> &stages,
             const std::vector<Workspace> &workspaces, const Binding &binding,
             const Threads &threads);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_EXECUTE_H
