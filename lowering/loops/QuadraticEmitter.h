//===- QuadraticEmitter.h - attn.quadratic as tile loops --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of queries stays, tiles of keys pass by. Carried from tile to tile:
// the weighted sum, the mass, the gauge m (in base 2, S6) and what other
// results need, all in units of 2^m. Knows masks, gauge and normaliser; nothing
// of vectors, warps or memory spaces.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_QUADRATICEMITTER_H
#define ATTN_LOWERING_LOOPS_QUADRATICEMITTER_H

#include "dialect/attn/FewQueries.h"
#include "lowering/loops/MaskIntervals.h"
#include "lowering/loops/RegionTiles.h"

namespace attn {

/// Emits the tile loops of one operation.
class QuadraticEmitter {
public:
  QuadraticEmitter(QuadraticOp op)
      : op(op), b(mlir::OpBuilder(op), op.getLoc()),
        split(op.getSchedule()->getKeySplit()),
        tileQ(op.getSchedule()->getTileQ()),
        tileK(op.getSchedule()->getTileK()) {}
  mlir::LogicalResult lower();

  /// The stages of few queries (QuadraticSplit.cpp): the mapped queries of a
  /// group of heads become rows of one tile; each part of the keys is summed
  /// for all of them; the sums of the parts are merged.
  mlir::LogicalResult lowerGather();
  mlir::LogicalResult lowerParts();
  mlir::LogicalResult lowerMerge();
  /// The same with the queries of one head in a tile (QuadraticHeadSplit.cpp).
  mlir::LogicalResult lowerPartsOfHead();
  mlir::LogicalResult lowerMergeOfHead();

private:
  static constexpr double kLog2e = 1.442695040888963407360;

  /// The names of what is carried over key tiles, in order.
  enum Slot { Acc, Mass, GaugeMax, Best, BestAt, PLogP, NumSlots };
  using State = llvm::SmallVector<mlir::Value>;
  mlir::Value get(const State &state, Slot slot) const {
    return index[slot] < 0 ? mlir::Value() : state[index[slot]];
  }

  mlir::LogicalResult begin(int64_t queries);
  mlir::LogicalResult loadQueries();
  mlir::scf::ForallOp enterGrid(llvm::ArrayRef<mlir::OpFoldResult> extents);
  /// Work items: tiles of queries of every head.
  mlir::scf::ForallOp enterTilesOfHeads();
  void enterSequence();
  void enterPositions();
  State initialState(mlir::Value sink);
  llvm::FailureOr<State> stateFromSink();
  llvm::FailureOr<mlir::Value> sinkOf();
  mlir::Value padding(mlir::Value extent, int64_t tile);
  /// In tiles from `lo` on; the first is `missing` (null: no) keys short, where
  /// `lo` is 0.
  mlir::LogicalResult loopOverKeys(mlir::Value lo, mlir::Value hi, State &state,
                                   mlir::Value missing = {});
  llvm::FailureOr<State> keyStep(mlir::Value j0, mlir::Value limit,
                                 const State &state, Visibility visible);
  Visibility visibility(mlir::Value j0, mlir::Value j1);
  mlir::LogicalResult finish(const State &state);
  mlir::LogicalResult storeWeights(const State &state, mlir::Value denominator,
                                   mlir::Value empty);

  /// kappa of a tile in units of 2^m: the exponent (null without a gauge), and
  /// the function that maps pairs to p.
  struct Weights {
    mlir::Value exponent, edge, keep;
  };
  llvm::FailureOr<Weights> enterTile(mlir::Value j0, mlir::Value limit,
                                     Visibility visible);
  mlir::Value pairWeights(const Weights &w, mlir::Value gauge);
  mlir::Value shares(const Weights &w, mlir::Value shift,
                     mlir::Value denominator, mlir::Value empty);
  mlir::Value absoluteWeights(const Weights &w);

  // QuadraticSplit.cpp.
  mlir::Value partLength();
  mlir::Value sumRow(mlir::Value part);
  mlir::Value stateRows(int64_t column, int64_t length);
  State mergeParts(const State &first, mlir::Value parts, mlir::Value row);
  /// The sums of two parts together, in units of the larger gauge.
  State sumOf(const State &before, const State &part);

  // QuadraticHeadSplit.cpp.
  mlir::Value rowsOfPart();
  void storePart(mlir::Value part, const State &state);
  State loadPart(mlir::Value part, const State &like);

  QuadraticOp op;
  TileBuilder b;
  KeySplitAttr split;
  int64_t tileQ, tileK, dimE = 0;
  mlir::Value group; ///< query heads of a key/value head
  Coordinates at;
  mlir::Value q0, queries, positions, lastPosition, firstPosition, keyExtent,
      queryExtent, endOfQueries; ///< of the tile, at most
  std::optional<RegionTiles> kappa, mask;
  bool gauge = false, unitFactor = true;
  int index[NumSlots];
  tile::TileType perQuery, perQueryInt, perQueryValue, perPair;
};

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_QUADRATICEMITTER_H
