//===- SplitKeys.h - an operation for few queries ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_SCHEDULE_SPLITKEYS_H
#define ATTN_LOWERING_SCHEDULE_SPLITKEYS_H

#include "dialect/attn/Attn.h"

#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// How many queries the sequences of a module have, at least and at most.
std::pair<int64_t, int64_t> queriesOfSequences(mlir::ModuleOp module);

/// Puts an operation for few queries beside this one, whose schedule is chosen;
/// or makes this one that, where the module says that there are no others.
/// Kernels whose key rows differ by query head, and results that are more than
/// sums, are left alone. `products` are those of the few queries.
void splitKeys(QuadraticOp op, Products products);

/// The same where lanes are not to be filled, but a machine with work items:
/// tiles stay those of one head.
void splitKeysOfHeads(QuadraticOp op);

/// Adds an operation for few tokens to a recurrent one, or makes it that: its
/// tiles are one query.
void splitTokens(LinearOp op);

} // namespace attn

#endif // ATTN_LOWERING_SCHEDULE_SPLITKEYS_H
