//===- AheadOfTime.h - kernels for programs without a compiler --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_AHEADOFTIME_H
#define ATTN_RUNTIME_AHEADOFTIME_H

#include "lowering/cpu/CInterface.h"

#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace attn::runtime {

/// What `Compilation::compileAhead` makes.
struct AheadOfTime {
  /// An object file: the stages that the JIT would run, and the C interface
  /// around them. It asks for memcpy, memmove and memset at most.
  std::unique_ptr<llvm::MemoryBuffer> object;
  CInterface interface;
  /// What a stage keeps on the stack of the thread that runs it.
  int64_t stackBytes = 0;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_AHEADOFTIME_H
