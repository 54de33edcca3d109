//===- Fibers.h - a block of threads, as fibers of one ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block runs as one fiber a thread. A warp runs on until all its threads wait
// for another warp, and the warps take turns in a random order: a barrier that
// is missing is not made up for by luck. Shared memory begins as NaN.
// Collectives of a warp that not all its threads enter, and barriers that some
// threads never reach, fail.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_FIBERS_H
#define ATTN_RUNTIME_EMULATOR_FIBERS_H

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <ucontext.h>
#endif

typedef unsigned u32;
typedef unsigned short u16;
typedef long long i64;
typedef unsigned long long u64;

namespace attn_host {

//===- fibers -------------------------------------------------------------===//

#if defined(__x86_64__)
// swapcontext makes two system calls a switch; this makes none.
extern "C" void attn_host_switch(void **save, void *load);
__asm__(
    ".text\n.local attn_host_switch\n.type attn_host_switch,@function\n"
    "attn_host_switch:\n pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n"
    " pushq %r14\n pushq %r15\n movq %rsp,(%rdi)\n movq %rsi,%rsp\n"
    " popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n"
    " popq %rbp\n ret\n");
struct Context {
  void *stack = nullptr;
};
inline void enter(Context &from, Context &to) {
  attn_host_switch(&from.stack, to.stack);
}
inline void prepare(Context &c, char *stack, size_t size, void (*f)()) {
  auto *top = reinterpret_cast<u64 *>(
      reinterpret_cast<uintptr_t>(stack + size) & ~uintptr_t(63));
  *--top = 0;
  *--top = reinterpret_cast<u64>(f);
  for (int i = 0; i < 6; ++i)
    *--top = 0;
  c.stack = top;
}
#else
struct Context {
  ucontext_t context;
};
inline void enter(Context &from, Context &to) {
  swapcontext(&from.context, &to.context);
}
inline void prepare(Context &c, char *stack, size_t size, void (*f)()) {
  getcontext(&c.context);
  c.context.uc_stack.ss_sp = stack;
  c.context.uc_stack.ss_size = size;
  c.context.uc_link = nullptr;
  makecontext(&c.context, f, 0);
}
#endif

//===- a block ------------------------------------------------------------===//

struct Copy {
  void *to;
  const void *from;
  int bytes;
  bool inside;
};
/// Sums of a product of four warps that were not waited for yet.
struct Product {
  float *sums; ///< in this thread, of which nothing is known meanwhile
  std::vector<float> result;
  int commit = 0; ///< which one of the thread's it is part of; 0: none yet
};
struct Warp {
  void *slots[32];
  const char *operations[32];
  int entered = 0;
  unsigned generation = 0;
  std::vector<std::array<u64, 3>> products; ///< what was multiplied, in order
};
struct Fiber {
  Context context;
  std::vector<char> stack;
  int thread = 0;
  bool done = false;
  enum { Runs, InWarp, AtBarrier } waits = Runs;
  unsigned generation = 0; ///< of what it waits for
  std::vector<Copy> open;  ///< copies without a commit
  std::vector<std::vector<Copy>> committed;
  std::vector<Product> products;
  int commits = 0;        ///< of products
  bool registers = false; ///< what they hold is there for products
};

constexpr size_t kStack = 512 << 10;
inline std::vector<Fiber> fibers;
inline std::vector<Warp> warps;
inline std::vector<int> order; ///< fibers in the order of their warps' turns
inline int position = -1, atBarrier = 0, alive = 0;
inline bool barrierAny = false, barrierResult = false;
inline unsigned barrierGeneration = 0, seed = 1;
inline Fiber *current = nullptr;
inline Context scheduler;
inline i64 block = 0;
inline unsigned char *shared = nullptr;
inline size_t sharedBytes = 0;
/// Shared memory as the matrix unit of four warps sees it.
inline std::vector<unsigned char> shown;
inline std::function<void()> body;
inline const char *error = nullptr;

inline Warp &warpOf(Fiber &f) { return warps[f.thread / 32]; }

inline bool isReady(Fiber &f) {
  if (f.done)
    return false;
  return f.waits == Fiber::Runs ||
         (f.waits == Fiber::InWarp ? warpOf(f).generation
                                   : barrierGeneration) != f.generation;
}

/// Gives up on the block: back to whoever launched it.
[[noreturn]] inline void fail(const char *what) {
  error = what;
  Fiber *me = current;
  current = nullptr;
  enter(me->context, scheduler);
  std::abort();
}

/// Runs another fiber: of this warp if one can run, else of the first warp in
/// order that can.
inline void yield() {
  int count = static_cast<int>(fibers.size()), next = -1;
  if (position >= 0) {
    int first = position / 32 * 32;
    for (int k = 1; k <= 32 && next < 0; ++k)
      if (int p = first + (position - first + k) % 32;
          isReady(fibers[order[p]]))
        next = p;
  }
  for (int p = 0; p < count && next < 0; ++p)
    if (isReady(fibers[order[p]]))
      next = p;
  Fiber *me = current;
  if (next < 0) {
    if (alive)
      error = atBarrier ? "some threads never reach a barrier"
                        : "some threads of a warp never enter a collective";
    current = nullptr;
    enter(me ? me->context : scheduler, scheduler);
    return;
  }
  position = next;
  current = &fibers[order[next]];
  if (me != current)
    enter(me ? me->context : scheduler, current->context);
}

inline void waitFor(decltype(Fiber::waits) what, unsigned generation) {
  current->waits = what;
  current->generation = generation;
  yield();
  current->waits = Fiber::Runs;
}

inline void fiberMain() {
  body();
  if (!current->products.empty())
    fail("products of a group of warps are never waited for");
  current->done = true;
  --alive;
  yield();
}

/// All threads of a warp meet; the last one computes for all.
template <class Slot, class F>
void collective(const char *operation, Slot &slot, F compute) {
  Warp &warp = warpOf(*current);
  int lane = current->thread % 32;
  warp.slots[lane] = &slot;
  warp.operations[lane] = operation;
  if (++warp.entered < 32)
    return waitFor(Fiber::InWarp, warp.generation);
  for (const char *other : warp.operations)
    if (std::strcmp(other, operation) != 0)
      fail("the threads of a warp enter different collectives");
  compute(reinterpret_cast<Slot **>(warp.slots));
  warp.entered = 0;
  ++warp.generation;
}

inline bool meet(bool x) {
  barrierAny |= x;
  if (++atBarrier < static_cast<int>(fibers.size())) {
    waitFor(Fiber::AtBarrier, barrierGeneration);
    return barrierResult;
  }
  atBarrier = 0;
  barrierResult = barrierAny;
  barrierAny = false;
  ++barrierGeneration;
  return barrierResult;
}

inline unsigned random() { return seed = seed * 1664525u + 1013904223u; }

/// Runs `blocks` blocks; null, or what went wrong.
template <class F>
const char *launch(i64 blocks, int threads, size_t bytes, F kernel) {
  fibers.resize(threads);
  warps.resize(threads / 32);
  order.resize(threads);
  body = kernel;
  error = nullptr;
  sharedBytes = bytes;
  constexpr size_t behind = 4096; // what nobody may write
  std::vector<unsigned char> memory(sharedBytes + 128 + behind);
  shared = reinterpret_cast<unsigned char *>(
      (reinterpret_cast<uintptr_t>(memory.data()) + 127) & ~uintptr_t(127));
#if defined(__x86_64__)
  unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040); // FTZ, DAZ: as --ftz=true
#endif
  for (block = 0; block < blocks && !error; ++block) {
    std::fill(memory.begin(), memory.end(), 0xff);
    shown.assign(bytes, 0xff);
    std::vector<int> turns(warps.size());
    for (size_t w = 0; w < warps.size(); ++w) {
      warps[w] = Warp();
      size_t at = random() / 65536 % (w + 1);
      turns[w] = turns[at];
      turns[at] = static_cast<int>(w);
    }
    atBarrier = 0;
    barrierAny = false;
    alive = threads;
    for (int t = 0; t < threads; ++t) {
      order[t] = turns[t / 32] * 32 + t % 32;
      Fiber &f = fibers[t];
      f.stack.resize(kStack);
      f.thread = t;
      f.done = false;
      f.waits = Fiber::Runs;
      f.open.clear();
      f.committed.clear();
      f.products.clear();
      f.commits = 0;
      f.registers = false;
      prepare(f.context, f.stack.data(), kStack, fiberMain);
    }
    position = -1;
    current = nullptr;
    yield();
    for (size_t w = 0; w < warps.size() && !error; ++w)
      if (warps[w].products != warps[w / 4 * 4].products)
        error = "the warps of a group multiply different matrices";
    for (size_t n = 0; n < behind && !error; ++n)
      if (shared[sharedBytes + n] != 0xff)
        error = "more shared memory is written than there is";
  }
#if defined(__x86_64__)
  _mm_setcsr(mode);
#endif
  return error;
}

} // namespace attn_host

#endif // ATTN_RUNTIME_EMULATOR_FIBERS_H
