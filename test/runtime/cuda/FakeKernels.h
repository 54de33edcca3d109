//===- FakeKernels.h - the fake driver's kernels, on the host ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are those of the fake NVRTC, their source, compiled by the host's C++
// compiler as the emulator does.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FAKEKERNELS_H
#define ATTN_TEST_FAKEKERNELS_H

#include "runtime/emulator/Machine.h"

#include <string>

namespace fake_cuda {

/// What the library has for an entry, `copy_NAME` and `run_NAME`: one takes the
/// parameters of a launch over, the other computes it with them, releases them
/// and says what is wrong with it, or null.
using Copy = void *(*)(void **parameters);
using Run = const char *(*)(const attn_host::Machine *, void *copied,
                            long long blocks, int threads, int shared);

/// The shared library of a source, opened; null where it does not compile.
void *compileSource(const std::string &source);

} // namespace fake_cuda

#endif // ATTN_TEST_FAKEKERNELS_H
