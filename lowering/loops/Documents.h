//===- Documents.h - where documents begin ----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state holds the keys of one document: the run of equal ids that the last
// key is in. That is all that a causal query of the same document sees, if
// equal ids stand in one run; ids that never decrease do, and others are left
// to the quadratic order.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_DOCUMENTS_H
#define ATTN_LOWERING_LOOPS_DOCUMENTS_H

#include "dialect/attn/Documents.h"
#include "lowering/loops/RegionTiles.h"

namespace attn {

/// The ids of a mask's documents, of one work item.
class Documents {
public:
  /// Computes, at the builder's place, what no position changes.
  Documents(TileBuilder &b, mlir::Region &mask, const Coordinates &at);

  bool areThere() const { return !conditions.empty(); }
  /// The ids at a position (an index), one a condition. There must be keys.
  llvm::SmallVector<mlir::Value> at(mlir::Value position);
  /// Whether the position has these ids; also inside a tile.map.
  mlir::Value same(mlir::Value position, mlir::ValueRange ids);
  /// Whether no id decreases over keys [0, nk).
  mlir::Value inRuns(mlir::Value nk);
  /// The first key of [lo, hi) from which on all have the ids of key hi - 1.
  mlir::Value begin(mlir::Value lo, mlir::Value hi);

private:
  TileBuilder &b;
  mlir::Region &mask;
  llvm::SmallVector<mlir::arith::CmpIOp> conditions;
  AxesOf axes;
  mlir::IRMapping uniforms;
};

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_DOCUMENTS_H
