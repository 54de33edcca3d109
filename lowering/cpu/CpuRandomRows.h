//===- CpuRandomRows.h - random rows as constants of the code ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_CPURANDOMROWS_H
#define ATTN_LOWERING_CPU_CPURANDOMROWS_H

#include "dialect/attn/Attn.h"

namespace attn {

/// The random rows of `op` for rows of that length as the columns of a matrix,
/// memref<length x count x f32>: a constant of the module, one for all that
/// want the same. `entry` is the entry block of the function that reads it.
mlir::Value randomMatrix(mlir::OpBuilder &builder, mlir::Block *entry,
                         RandomFeaturesOp op, int64_t length);

} // namespace attn

#endif // ATTN_LOWERING_CPU_CPURANDOMROWS_H
