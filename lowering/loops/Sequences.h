//===- Sequences.h - lengths and positions of a sequence --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_SEQUENCES_H
#define ATTN_LOWERING_LOOPS_SEQUENCES_H

#include "lowering/loops/RegionTiles.h"

namespace attn {

/// The true length of a sequence, from `key_lengths` or `query_lengths` (may be
/// absent or of extent 0: not given) and the extent.
mlir::Value emitLength(TileBuilder &b, mlir::Value lengths, mlir::Value batch,
                       mlir::Value extent);

/// S1: `offset` as given, else key_len - query_len. `at` has the true lengths.
mlir::Value emitOffset(TileBuilder &b, mlir::Value query, mlir::Value key,
                       mlir::Value queryLengths, mlir::Value offsets,
                       const Coordinates &at);
template <typename Op>
mlir::Value emitOffset(TileBuilder &b, Op op, const Coordinates &at) {
  return emitOffset(b, op.getQuery(), op.getKey(), op.getQueryLengths(),
                    op.getOffset(), at);
}

/// Where another operation has the other order: moves the builder into a branch
/// that is taken by the sequences that are this one's to compute, those of the
/// linear order by their lengths and by whether the documents of the mask stand
/// in runs.
void enterChosen(TileBuilder &b, ScheduleAttr schedule, mlir::Region &mask,
                 const Coordinates &at);

/// Where another operation is for few queries, or for many: moves the builder
/// into a branch that is taken by the sequences that are this one's to compute.
void enterQueries(TileBuilder &b, KeySplitAttr split, const Coordinates &at);

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_SEQUENCES_H
