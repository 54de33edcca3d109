//===- CloneSlice.h - a value with all that it needs ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_SCHEDULE_CLONESLICE_H
#define ATTN_LOWERING_SCHEDULE_CLONESLICE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace attn {

/// Clones what `v` needs of `region` into the builder's block; `map` says what
/// stands for the region's arguments, and remembers what was cloned.
mlir::Value cloneSlice(mlir::OpBuilder &builder, mlir::Value v,
                       mlir::Region &region, mlir::IRMapping &map);

} // namespace attn

#endif // ATTN_LOWERING_SCHEDULE_CLONESLICE_H
