//===- QuadraticLoops.h - attn.quadratic as tile loops ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_QUADRATICLOOPS_H
#define ATTN_LOWERING_LOOPS_QUADRATICLOOPS_H

#include "lowering/loops/TileBuilder.h"

namespace attn {

/// How many stages the op becomes: two where keys are split.
unsigned quadraticStages(QuadraticOp op);
/// Replaces the op by the loops over tiles of a stage; a diagnostic where it
/// cannot.
mlir::LogicalResult lowerQuadratic(QuadraticOp op, unsigned stage = 0);

/// Replaces the op by a loop over tiles of rows. `reader` (may be null) says
/// which sequences they are made for.
mlir::LogicalResult lowerRows(RowsOp op, int64_t tileQ, QuadraticOp reader);

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_QUADRATICLOOPS_H
