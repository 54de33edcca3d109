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
#include <string>
#include <vector>

namespace attn::runtime {

/// What `Compilation::compileAhead` makes.
struct AheadOfTime {
  /// An object file: the stages that the JIT would run, and the C interface
  /// around them. It asks for memcpy, memmove and memset at most.
  std::unique_ptr<llvm::MemoryBuffer> object;
  CInterface interface;
  /// Of several levels, their names; the most capable first.
  std::vector<std::string> levels;
  /// The words of a prepared call, and what workspaces they ask for: the most
  /// of all levels, and each of their formulas.
  int64_t callWords = 0;
  std::vector<std::string> workspaces;
  /// What a stage keeps on the stack of the thread that runs it.
  int64_t stackBytes = 0;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_AHEADOFTIME_H
