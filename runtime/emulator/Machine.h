//===- Machine.h - what an emulated kernel runs on --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The machine is compiled once, as part of attnc (Fibers.cpp, Machine.cpp,
// GroupProducts.cpp); a kernel, which is compiled on its own, is given this
// table of it. Both sides read this file, kernels as text: it includes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_MACHINE_H
#define ATTN_RUNTIME_EMULATOR_MACHINE_H

typedef unsigned u32;
typedef unsigned short u16;
typedef long long i64;
typedef unsigned long long u64;

namespace attn_host {

/// What the matrix unit multiplies.
enum Element { kBf16, kF16, kTf32 };

/// sums (64 x 8 groups) += a (64 x 16) b (16 x 8 groups), over four warps; sums
/// are one thread's. Matrices in shared memory are given by descriptors.
struct GroupProduct {
  float *sums;
  int groups;
  Element element;
  const u32 *registers; ///< the left factor; null: `left` says where
  u64 left, right;
  bool rightByColumns; ///< rows of the right one's cores run along the sum
};

struct Machine {
  /// Runs body(context) on each thread of each block; null, or what went wrong.
  /// `seed` says in which order warps take turns.
  const char *(*launch)(i64 blocks, int threads, i64 sharedBytes, unsigned seed,
                        void (*body)(void *), void *context);

  // Of the thread that runs, and of its block.
  int thread;
  i64 block;
  unsigned char *shared; ///< begins as NaN
  /// Gives up on the launch.
  void (*fail)(const char *what);

  /// All threads of the block meet; whether any gives true.
  bool (*meet)(bool);
  /// The value of another thread of the warp.
  void (*exchange)(const char *name, void *value, int bytes, int from);
  /// The destination is NaN until the copy is waited for.
  void (*copyAsync)(void *to, const void *from, int bytes, bool inside);
  void (*commitCopies)();
  void (*waitForCopies)(int open);
  void (*loadMatrices)(u32 *to, const void *row, bool transposed);
  void (*multiply)(float *c, const u32 *a, u32 b0, u32 b1, Element);
  u16 (*toF16)(float);
  float (*fromF16)(u16);

  // Four warps together.
  void (*showMatrixUnit)();
  void (*beginProducts)();
  void (*multiplyGroup)(const GroupProduct &);
  void (*commitProducts)();
  void (*waitForProducts)(int open);
};

/// The machine of this process.
const Machine *getMachine();

} // namespace attn_host

#endif // ATTN_RUNTIME_EMULATOR_MACHINE_H
