//===- LinearLoops.h - attn.linear as tile loops ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_LINEARLOOPS_H
#define ATTN_LOWERING_LOOPS_LINEARLOOPS_H

#include "lowering/loops/TileBuilder.h"

namespace attn {

/// How many stages the op becomes.
unsigned linearStages(LinearOp op);
/// Replaces the op by the loops of one of them; a diagnostic where it cannot.
mlir::LogicalResult lowerLinear(LinearOp op, unsigned stage);

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_LINEARLOOPS_H
