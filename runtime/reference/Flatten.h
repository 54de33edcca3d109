//===- Flatten.h - from a region to a flat program --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_REFERENCE_FLATTEN_H
#define ATTN_RUNTIME_REFERENCE_FLATTEN_H

#include "dialect/attn/Attn.h"
#include "runtime/reference/Program.h"

namespace attn::reference {

/// A row argument of a region: its length now, and what it depends on.
struct RowArgument {
  int64_t length;
  Level level;
};

/// Flattens a region of an attention function. `memories` are the function's
/// arguments in order. Lengths come from them, so rows of type `?` are welcome.
/// Emits an error at an operation that is not understood.
mlir::FailureOr<Program> flatten(mlir::Region &region,
                                 const std::vector<Memory> &memories,
                                 llvm::ArrayRef<RowArgument> arguments);

} // namespace attn::reference

#endif // ATTN_RUNTIME_REFERENCE_FLATTEN_H
