//===- Execute.cpp - running compiled stages ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Execute.h"
#include "runtime/Arrays.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

using namespace attn;
using namespace attn::runtime;

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

struct Threads::Arena {
  tbb::task_arena arena;
  explicit Arena(int concurrency) : arena(concurrency) {}
};

Threads::Threads(int count)
    : concurrency(count > 0 ? count : tbb::info::default_concurrency()) {
  // TBB has a worker a core; asked for more it warns on stderr and disobeys.
  int workers = std::min(concurrency, tbb::info::default_concurrency());
  if (workers > 1)
    arena = std::make_unique<Arena>(workers);
}

Threads::~Threads() = default;

namespace {
/// TBB orders what its tasks do after what came before them, and before what
/// comes after; but its library is not instrumented, so that ThreadSanitizer
/// needs to be told. Nothing in other builds.
class Order {
#ifdef __SANITIZE_THREAD__
public:
  void begin() { started.store(1, std::memory_order_release); }
  void beginTask() { (void)started.load(std::memory_order_acquire); }
  void endTask() { ended.fetch_add(1, std::memory_order_acq_rel); }
  void end() { (void)ended.load(std::memory_order_acquire); }

private:
  std::atomic<int> started{0}, ended{0};
#else
public:
  void begin() {}
  void beginTask() {}
  void endTask() {}
  void end() {}
#endif
};
} // namespace

void Threads::forRange(
    int64_t items, const std::function<void(int64_t, int64_t)> &body) const {
  if (items <= 0)
    return;
  if (!arena || items == 1)
    return body(0, items);
  Order order;
  order.begin();
  arena->arena.execute([&] {
    // An item is a tile of queries against all keys that it sees: costly, and
    // under a mask uneven. So ranges are halved until threads stop asking for
    // more.
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, items, 1),
        [&](const tbb::blocked_range<int64_t> &range) {
          order.beginTask();
          body(range.begin(), range.end());
          order.endTask();
        },
        tbb::auto_partitioner());
  });
  order.end();
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

namespace {
/// MLIR memref descriptors, {base, aligned, offset, sizes[r], strides[r]} each,
/// and the array of pointers to them.
class Descriptors {
public:
  void reserve(size_t count) {
    starts.reserve(count);
    words.reserve(11 * count); // of rank 4; a few have more
  }
  void add(const Tensor &tensor) {
    starts.push_back(words.size());
    auto address =
        static_cast<int64_t>(reinterpret_cast<intptr_t>(tensor.data));
    words.insert(words.end(), {address, address, 0});
    words.insert(words.end(), tensor.shape.begin(), tensor.shape.end());
    words.insert(words.end(), tensor.strides.begin(), tensor.strides.end());
  }
  /// Lets array `n` begin `bytes` earlier, so that what lay `bytes` behind its
  /// begin is what lies there now.
  void moveBack(size_t n, int64_t bytes) {
    words[starts[n]] -= bytes;
    words[starts[n] + 1] -= bytes;
  }
  /// Valid until the next `add`.
  void **arguments() {
    pointers.clear();
    pointers.reserve(starts.size());
    for (size_t start : starts)
      pointers.push_back(words.data() + start);
    return pointers.data();
  }

private:
  std::vector<int64_t> words;
  std::vector<size_t> starts;
  std::vector<void *> pointers;
};

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;
} // namespace

/// Memory aligned to a cache line, so that vector loads do not straddle two.
static Memory allocateAligned(int64_t bytes) {
  constexpr int64_t line = 64;
  Memory memory(std::aligned_alloc(line, (bytes + line - 1) / line * line));
  if (!memory)
    throw Error("out of memory: a workspace takes " + std::to_string(bytes) +
                " bytes");
  return memory;
}

static int64_t rowsOf(const Workspace &workspace, const Binding &binding) {
  return workspace.rows ? workspace.rows : binding.keys;
}

/// Elements of one (batch, head) in a workspace.
static int64_t elementsOfHead(const Workspace &workspace,
                              const Binding &binding) {
  int64_t elements;
  if (__builtin_mul_overflow(rowsOf(workspace, binding), workspace.row,
                             &elements))
    throw Error("a workspace exceeds 64 bits");
  return elements;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Runs the items of a stage that belong to the pairs [first, last) of batches
/// and key heads.
static void runPairs(const StageEntry &stage, void **arguments, int64_t first,
                     int64_t last, int64_t pairs, const Threads &threads) {
  int64_t items = stage.items(arguments);
  if (items % pairs)
    throw Error("internal: work items do not divide by batches and heads");
  int64_t each = items / pairs;
  threads.forRange((last - first) * each, [&](int64_t begin, int64_t end) {
    stage.run(arguments, first * each + begin, first * each + end);
  });
}

void runtime::execute(const std::vector<StageEntry> &stages,
                      const std::vector<Workspace> &workspaces,
                      const Binding &binding, const Threads &threads) {
  int64_t pairs, bytesOfPair = 0;
  if (__builtin_mul_overflow(binding.batch, binding.keyHeads, &pairs))
    throw Error("batch times heads exceeds 64 bits");
  int64_t group = binding.queryHeads / std::max<int64_t>(binding.keyHeads, 1);
  // Elements that a pair has in a workspace.
  auto ofPair = [&](const Workspace &workspace) {
    int64_t elements;
    if (__builtin_mul_overflow(elementsOfHead(workspace, binding),
                               workspace.perQueryHead ? group : 1, &elements))
      throw Error("a workspace exceeds 64 bits");
    return elements;
  };
  for (const Workspace &workspace : workspaces) {
    int64_t bytes;
    if (__builtin_mul_overflow(ofPair(workspace), int64_t(sizeof(float)),
                               &bytes) ||
        __builtin_add_overflow(bytesOfPair, bytes, &bytesOfPair))
      throw Error("the workspace exceeds 64 bits");
  }
  // As many pairs at a time as fit, one at least.
  int64_t slots =
      std::clamp<int64_t>(kWorkspaceLimit / std::max<int64_t>(bytesOfPair, 1),
                          1, std::max<int64_t>(pairs, 1));

  Descriptors descriptors;
  descriptors.reserve(binding.arrays.size() + workspaces.size());
  for (const Tensor &tensor : binding.arrays)
    descriptors.add(tensor);
  std::vector<Memory> memories;
  for (const Workspace &workspace : workspaces) {
    int64_t head = elementsOfHead(workspace, binding), bytes;
    int64_t heads =
        workspace.perQueryHead ? binding.queryHeads : binding.keyHeads;
    if (__builtin_mul_overflow(ofPair(workspace),
                               slots * int64_t(sizeof(float)), &bytes))
      throw Error("a workspace exceeds 64 bits");
    memories.push_back(allocateAligned(std::max<int64_t>(bytes, 1)));
    Tensor tensor(memories.back().get(), Type::f32,
                  {binding.batch, heads, rowsOf(workspace, binding)},
                  {head * heads, head, workspace.row});
    if (workspace.hasRow) {
      tensor.shape.push_back(workspace.row);
      tensor.strides.push_back(1);
    }
    descriptors.add(tensor);
  }

  void **arguments = descriptors.arguments();
  // The stages of some pairs run before the next pairs take their place.
  for (int64_t first = 0; first < pairs; first += slots) {
    int64_t last = std::min(first + slots, pairs);
    for (const StageEntry &stage : stages)
      runPairs(stage, arguments, first, last, pairs, threads);
    for (size_t n = 0; n < workspaces.size(); ++n)
      descriptors.moveBack(binding.arrays.size() + n,
                           slots * ofPair(workspaces[n]) *
                               int64_t(sizeof(float)));
  }
}
