//===- MaskIntervals.h - empty and full tiles of any mask -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask is a boolean expression of positions. Evaluated in interval arithmetic
// over the box of (i, j) that a tile covers, it says whether some pair may be
// visible and whether all are: windows, documents and image neighbourhoods cost
// what they see, and nobody has to name them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_MASKINTERVALS_H
#define ATTN_LOWERING_LOOPS_MASKINTERVALS_H

#include "lowering/loops/TileBuilder.h"

namespace attn {

/// Closed ranges of positions.
struct Box {
  mlir::Value iLow, iHigh, jLow, jHigh;
};

/// Whether some pair of the box may be visible (i1), and whether every one is.
struct Visibility {
  mlir::Value some, all;
};

/// Emits the evaluation of the mask region over the box. `uniform` maps scalars
/// of the region that depend on no position to their values. What intervals
/// cannot follow counts as "some, not all".
Visibility emitVisibility(TileBuilder &b, mlir::Region &mask, const Box &box,
                          llvm::function_ref<mlir::Value(mlir::Value)> uniform,
                          llvm::function_ref<bool(mlir::Value)> isUniform);

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_MASKINTERVALS_H
