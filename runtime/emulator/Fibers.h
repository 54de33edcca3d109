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
// There is one machine, and one launch at a time: whoever launches sees to it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_FIBERS_H
#define ATTN_RUNTIME_EMULATOR_FIBERS_H

#include "runtime/emulator/Machine.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace attn::emulator {

using attn_host::Element;

#if defined(__x86_64__)
struct Context {
  void *stack = nullptr;
};
#else
struct Context {
  ucontext_t context;
};
#endif

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
  std::unique_ptr<char[]> stack;
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

/// The machine, and what of it kernels need not see.
extern attn_host::Machine machine;
extern std::vector<Fiber> fibers;
extern std::vector<Warp> warps;
extern Fiber *current;
extern size_t sharedBytes;
/// Shared memory as the matrix unit of four warps sees it.
extern std::vector<unsigned char> shown;

/// Gives up on the block: back to whoever launched it.
[[noreturn]] void fail(const char *what);

/// This thread of a warp, with its part of an operation, meets the others. The
/// last one is given all parts; the others null, once `leaveWarp` was called.
void **enterWarp(const char *operation, void *slot);
void leaveWarp();

/// All threads of a warp meet; the last one computes for all.
template <class Slot, class F>
void collective(const char *operation, Slot &slot, F compute) {
  if (void **slots = enterWarp(operation, &slot)) {
    compute(reinterpret_cast<Slot **>(slots));
    leaveWarp();
  }
}

bool meet(bool x);
const char *launch(i64 blocks, int threads, i64 bytes, unsigned seed,
                   void (*body)(void *), void *context);

// GroupProducts.cpp
void showMatrixUnit();
void beginProducts();
void multiplyGroup(const attn_host::GroupProduct &product);
void commitProducts();
void waitForProducts(int open);
/// What is wrong with the products of a block that has ended; null: nothing.
const char *checkProducts();

/// An element as a number.
float toFloat(u32 bits, Element element);

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_FIBERS_H
