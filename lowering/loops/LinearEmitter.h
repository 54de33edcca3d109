//===- LinearEmitter.h - attn.linear as tile loops --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state S(e, r) = sum phi(k) v^T and z(r) = sum phi(k) passes along the
// keys; a query takes o = phi(q) S / phi(q) z. Features are made a tile at a
// time and never stand in memory for all rows.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_LINEAREMITTER_H
#define ATTN_LOWERING_LOOPS_LINEAREMITTER_H

#include "lowering/loops/Documents.h"
#include "lowering/loops/RegionTiles.h"

namespace attn {

/// The stages of one operation.
class LinearEmitter {
public:
  explicit LinearEmitter(LinearOp op);

  /// Every query sees the keys up to where it stands: tiles of queries in
  /// order, the state between them. In the recurrent order the state before the
  /// first and after the last is the caller's.
  mlir::LogicalResult lowerOrdered();
  /// All queries see all keys: parts of the keys are summed into states, the
  /// states into one, and queries read that.
  mlir::LogicalResult lowerParts();
  mlir::LogicalResult lowerMerge();
  mlir::LogicalResult lowerQueries();

private:
  /// S and z; z is null where no mass is needed.
  struct State {
    mlir::Value s, z;
  };
  /// A tile of keys [begin, end) of an ordered scan.
  struct TileOfKeys {
    mlir::Value begin, end, rows, features, values;
  };
  /// The base of a decaying state: sums are of exp(e(base) - e(j)) terms.
  using Base = mlir::Value;

  void enterGrid(mlir::ValueRange extents, bool perQueryHead);
  /// Of two operations of the recurrent order, the sequences that this one
  /// computes: by how many tokens they have in the call.
  void enterTokens();
  /// Whether queries come one by one: lanes are coordinates of rows then.
  bool isTokenByToken() const { return tileQ == 1; }
  State zeroState();
  /// The caller's state, and how many tokens are in it.
  State loadState();
  mlir::Value loadTokens();
  void storeState(const State &state);
  mlir::Value stateHead() const { return statePerHead ? at.head : at.kvHead; }
  llvm::SmallVector<mlir::Value> toValues(const State &state) const;
  State fromValues(mlir::ValueRange values) const;
  /// The state with keys [lo, hi) added, a loop over tiles.
  State absorbRange(mlir::Value lo, mlir::Value hi, State state, Base base);
  /// The state with a tile of keys added that is at hand; `scale` (null: 1) is
  /// what the old sums are multiplied with.
  State absorb(mlir::Value features, mlir::Value values, State state,
               mlir::Value scale);
  llvm::FailureOr<State> emitTile(mlir::Value q0, mlir::Value offset,
                                  State state, Documents &documents);
  mlir::Value clamped(mlir::Value j) {
    return b.min(b.max(j, b.index(0)), at.nk);
  }
  mlir::LogicalResult emitQueries(mlir::Value q0, mlir::Value first, Base base,
                                  const TileOfKeys &keys, const State &state,
                                  Documents &documents, mlir::ValueRange ids);
  /// The rows of q from row q0 on, as kappa takes them.
  mlir::Value queryRows(mlir::Value q0, mlir::Value positions);
  /// phi of rows of q: a (q, r) tile.
  mlir::Value queryFeatures(mlir::Value rows, mlir::Value positions);
  /// The keys [j0, limit) as kappa takes them, where features are apart.
  mlir::Value keyRows(mlir::Value j0, mlir::Value limit, int64_t tileK);
  /// phi of the keys [j0, limit), 0 past them: a (k, r) tile. `rows` are the
  /// keys, where features are apart.
  mlir::Value keyFeatures(mlir::Value rows, mlir::Value j0, mlir::Value limit,
                          int64_t tileK);
  /// Where key `j` of the call, or what follows it, stands in the sequence.
  mlir::Value positionOf(mlir::Value j) {
    return tokens ? b.add(j, tokens) : j;
  }
  mlir::Value keyPositions(mlir::Value j0, int64_t tileK) {
    return b.iota(positionOf(j0), b.type("k", {tileK}, b.getIndexType()));
  }
  bool areFeaturesApart() { return !op.getKeyFeatures().empty(); }
  mlir::Value keyValues(mlir::Value j0, mlir::Value limit, int64_t tileK);
  /// The region on the rows of a tile, one tile.rows, or a tile.map where it is
  /// element-wise and `lanes` allows it.
  mlir::Value rowsOf(mlir::Region &map, mlir::Value rows, mlir::Value positions,
                     tile::TileType type, bool isQuery);
  mlir::Value elementwise(mlir::Region &map, mlir::Value rows,
                          tile::TileType type);
  mlir::LogicalResult enterUniforms();

  // Decay.
  bool decays() const;
  /// exp(e(i) - e(j)) of scalars, or of a tile of positions on one side.
  mlir::Value ratio(mlir::Value i, mlir::Value j);
  mlir::Value ratioTile(mlir::Value positions, mlir::Value other, bool isQuery);
  mlir::Value emitExponent(mlir::Value i, mlir::Value j);
  mlir::Value scaledBy(mlir::Value tile, mlir::Value factor);

  LinearOp op;
  TileBuilder b;
  int64_t tileQ, tileK, dimE, rank;
  bool needsMass, statePerHead;
  Coordinates at;
  mlir::Value group;  ///< query heads of a key head; null: they are items
  mlir::Value tokens; ///< before the call's; null: none
  mlir::Value queryExtent, keyExtent;
  mlir::IRMapping uniforms; ///< scalars of the decay that no position changes
  llvm::SmallVector<mlir::Value> inductions;
};

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_LINEAREMITTER_H
