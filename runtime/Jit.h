//===- Jit.h - object code made callable ------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_H
#define ATTN_RUNTIME_JIT_H

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace attn::runtime {

/// Machine code in memory, freed with this object. It may call memcpy, memmove
/// and memset, and nothing else of the process: any other name is an error, so
/// that what runs here links anywhere.
class Code {
public:
  /// Links an object file; throws Error.
  explicit Code(std::unique_ptr<llvm::MemoryBuffer> object);

  /// The address of a function; throws Error where there is none.
  void *find(const std::string &symbol) const;

private:
  std::string message; ///< what the linker reported
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_JIT_H
