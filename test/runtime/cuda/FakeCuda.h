//===- FakeCuda.h - what tests ask of the fake driver -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside the functions of libcuda, which they call too. The runtime opens the
// library by its path, so tests find these in it, and do not link it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FAKECUDA_H
#define ATTN_TEST_FAKECUDA_H

extern "C" {
/// A line a call that matters, in order, since the last time.
const char *fakeCudaTakeLog();
/// Lets a function return this code, once, after so many calls of it.
void fakeCudaFail(const char *function, int code, int after);
/// What memory of a device holds now, done or not what is enqueued.
void fakeCudaPeek(void *to, const void *from, unsigned long bytes);
/// How many blocks of memory are allocated.
int fakeCudaAllocations();
}

#endif // ATTN_TEST_FAKECUDA_H
