//===- Fibers.cpp - a block of threads, as fibers of one ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Fibers.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace attn::emulator {

std::vector<Fiber> fibers;
std::vector<Warp> warps;
Fiber *current = nullptr;
size_t sharedBytes = 0;
std::vector<unsigned char> shown;

} // namespace attn::emulator

using namespace attn;
using namespace attn::emulator;

//===- fibers -------------------------------------------------------------===//

constexpr size_t kStack = 512 << 10;

#if defined(__x86_64__)
// swapcontext makes two system calls a switch; this makes none.
extern "C" void attn_host_switch(void **save, void *load);
__asm__(
    ".text\n.local attn_host_switch\n.type attn_host_switch,@function\n"
    "attn_host_switch:\n pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n"
    " pushq %r14\n pushq %r15\n movq %rsp,(%rdi)\n movq %rsi,%rsp\n"
    " popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n"
    " popq %rbp\n ret\n");
static void enter(Context &from, Context &to) {
  attn_host_switch(&from.stack, to.stack);
}
static void prepare(Context &c, char *stack, void (*f)()) {
  auto *top = reinterpret_cast<u64 *>(
      reinterpret_cast<uintptr_t>(stack + kStack) & ~uintptr_t(63));
  *--top = 0;
  *--top = reinterpret_cast<u64>(f);
  for (int i = 0; i < 6; ++i)
    *--top = 0;
  c.stack = top;
}
#else
static void enter(Context &from, Context &to) {
  swapcontext(&from.context, &to.context);
}
static void prepare(Context &c, char *stack, void (*f)()) {
  getcontext(&c.context);
  c.context.uc_stack.ss_sp = stack;
  c.context.uc_stack.ss_size = kStack;
  c.context.uc_link = nullptr;
  makecontext(&c.context, f, 0);
}
#endif

//===- a block ------------------------------------------------------------===//

static std::vector<int> order; ///< fibers in the order of their warps' turns
static int position = -1, atBarrier = 0, alive = 0;
static bool barrierAny = false, barrierResult = false;
static unsigned barrierGeneration = 0;
static Context scheduler;
static void (*body)(void *) = nullptr;
static void *bodyContext = nullptr;
static const char *error = nullptr;

static Warp &warpOf(Fiber &f) { return warps[f.thread / 32]; }

static bool isReady(Fiber &f) {
  if (f.done)
    return false;
  return f.waits == Fiber::Runs ||
         (f.waits == Fiber::InWarp ? warpOf(f).generation
                                   : barrierGeneration) != f.generation;
}

void emulator::fail(const char *what) {
  error = what;
  Fiber *me = current;
  current = nullptr;
  enter(me->context, scheduler);
  std::abort();
}

/// Runs another fiber: of this warp if one can run, else of the first warp in
/// order that can.
static void yield() {
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
  machine.thread = current->thread;
  if (me != current)
    enter(me ? me->context : scheduler, current->context);
}

static void waitFor(decltype(Fiber::waits) what, unsigned generation) {
  current->waits = what;
  current->generation = generation;
  yield();
  current->waits = Fiber::Runs;
}

static void fiberMain() {
  body(bodyContext);
  if (!current->products.empty())
    fail("products of a group of warps are never waited for");
  current->done = true;
  --alive;
  yield();
}

void **emulator::enterWarp(const char *operation, void *slot) {
  Warp &warp = warpOf(*current);
  int lane = current->thread % 32;
  warp.slots[lane] = slot;
  warp.operations[lane] = operation;
  if (++warp.entered < 32) {
    waitFor(Fiber::InWarp, warp.generation);
    return nullptr;
  }
  for (const char *other : warp.operations)
    if (std::strcmp(other, operation) != 0)
      fail("the threads of a warp enter different collectives");
  return warp.slots;
}
void emulator::leaveWarp() {
  Warp &warp = warpOf(*current);
  warp.entered = 0;
  ++warp.generation;
}

bool emulator::meet(bool x) {
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

const char *emulator::launch(i64 blocks, int threads, i64 bytes, unsigned seed,
                             void (*kernel)(void *), void *context) {
  auto random = [&] { return seed = seed * 1664525u + 1013904223u; };
  // Frames that a launch has left without a return are still there for
  // sanitizers: such stacks are not used again.
  static bool isWhole = true;
  if (!isWhole)
    fibers.clear();
  isWhole = false;
  fibers.resize(threads);
  warps.resize(threads / 32);
  order.resize(threads);
  body = kernel;
  bodyContext = context;
  error = nullptr;
  sharedBytes = bytes;
  constexpr size_t behind = 4096; // what nobody may write
  std::vector<unsigned char> memory(sharedBytes + 128 + behind);
  unsigned char *shared = reinterpret_cast<unsigned char *>(
      (reinterpret_cast<uintptr_t>(memory.data()) + 127) & ~uintptr_t(127));
  machine.shared = shared;
#if defined(__x86_64__)
  unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040); // FTZ, DAZ: as --ftz=true
#endif
  for (i64 block = 0; block < blocks && !error; ++block) {
    machine.block = block;
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
      if (!f.stack)
        f.stack.reset(new char[kStack]);
      f.thread = t;
      f.done = false;
      f.waits = Fiber::Runs;
      f.open.clear();
      f.committed.clear();
      f.products.clear();
      f.commits = 0;
      f.registers = false;
      prepare(f.context, f.stack.get(), fiberMain);
    }
    position = -1;
    current = nullptr;
    yield();
    if (!error)
      error = checkProducts();
    for (size_t n = 0; n < behind && !error; ++n)
      if (shared[sharedBytes + n] != 0xff)
        error = "more shared memory is written than there is";
  }
#if defined(__x86_64__)
  _mm_setcsr(mode);
#endif
  isWhole = !error;
  return error;
}
