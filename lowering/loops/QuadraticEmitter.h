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

#include "lowering/loops/MaskIntervals.h"
#include "lowering/loops/RegionTiles.h"

namespace attn {

/// Emits the tile loops of one operation.
class QuadraticEmitter {
public:
  QuadraticEmitter(QuadraticOp op)
      : op(op), b(mlir::OpBuilder(op), op.getLoc()),
        tileQ(op.getSchedule()->getTileQ()),
        tileK(op.getSchedule()->getTileK()) {}
  /// Stage 0 of one, or of two where keys are split: parts, and their merge.
  mlir::LogicalResult lower(unsigned stage);

private:
  static constexpr double kLog2e = 1.442695040888963407360;

  /// The names of what is carried over key tiles, in order.
  enum Slot { Acc, Mass, GaugeMax, Best, BestAt, PLogP, NumSlots };
  using State = llvm::SmallVector<mlir::Value>;
  mlir::Value get(const State &state, Slot slot) const {
    return index[slot] < 0 ? mlir::Value() : state[index[slot]];
  }

  llvm::FailureOr<State> startState();
  mlir::LogicalResult enterQueries();
  mlir::LogicalResult loopOverKeys(mlir::Value first, mlir::Value end,
                                   State &state);

  // QuadraticSplit.cpp: keys in parts.
  void enterSplit();
  mlir::Value keyPartLength();
  mlir::Value rowsOfPart();
  void storePart(mlir::Value part, const State &state);
  void mergeParts(State &state);
  llvm::FailureOr<State> keyStep(mlir::Value j0, const State &state,
                                 Visibility visible);
  Visibility visibility(mlir::Value j0, mlir::Value j1);
  mlir::LogicalResult finish(const State &state);
  mlir::LogicalResult storeWeights(const State &state, mlir::Value denominator,
                                   mlir::Value empty);

  /// kappa of a tile in units of 2^m: the exponent (null without a gauge), and
  /// the function that maps pairs to p.
  struct Weights {
    mlir::Value exponent, edge, keep;
  };
  llvm::FailureOr<Weights> enterTile(mlir::Value j0, Visibility visible);
  mlir::Value pairWeights(const Weights &w, mlir::Value gauge);
  mlir::Value shares(const Weights &w, mlir::Value shift,
                     mlir::Value denominator, mlir::Value empty);
  mlir::Value absoluteWeights(const Weights &w);

  QuadraticOp op;
  TileBuilder b;
  int64_t tileQ, tileK, dimE = 0;
  Coordinates at;
  mlir::Value q0, queries, positions, lastPosition, firstPosition, keyExtent,
      queryExtent;
  std::optional<RegionTiles> kappa, mask;
  bool gauge = false, unitFactor = true;
  int index[NumSlots];
  tile::TileType perQuery, perQueryInt, perQueryValue, perPair;
};

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_QUADRATICEMITTER_H
