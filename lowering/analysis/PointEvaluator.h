//===- PointEvaluator.h - kappa at one pair of rows -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *no* of the licence carries a counterexample that was evaluated. This
// evaluates the regions of attention in float64 at one pair of rows; whatever
// the caller does not give, parameters and positions, is drawn inside its
// declared bound. (The reference target computes whole arrays from real inputs,
// and stands above the lowering; this is a probe.)
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_POINTEVALUATOR_H
#define ATTN_LOWERING_ANALYSIS_POINTEVALUATOR_H

#include "dialect/attn/Attn.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <random>
#include <vector>

namespace attn {

class PointEvaluator {
public:
  using Row = std::vector<double>;

  explicit PointEvaluator(uint64_t seed) : random(seed) {}

  /// kappa of `op` at the input rows q and k; NaN where it is undefined.
  double kappa(AttentionOp op, Row q, Row k);
  /// The row that f_Q (role 0) or f_K makes of an input row at that position.
  Row mapped(AttentionOp op, unsigned role, Row input, int64_t position);
  /// kappa at rows as f_Q and f_K give them, at those positions.
  double mappedKappa(AttentionOp op, Row q, Row k, int64_t i, int64_t j);
  /// Any scalar that the last evaluation met.
  double scalar(mlir::Value value);
  const Row &row(mlir::Value value);
  /// Evaluates the operations of a block in order.
  void run(mlir::Block &block);
  /// Gives an argument of a region its row.
  void setRow(mlir::Value argument, Row row) {
    rows[argument] = std::move(row);
  }
  /// Forgets every value but the parameters and positions drawn so far.
  void clear() {
    scalars.clear();
    rows.clear();
    magnitude = 0;
  }
  /// From here on what operations compute is off by up to this, relatively, as
  /// if it were rounded so.
  void setNoise(double relative, uint64_t seed) {
    noise = relative;
    noiseRandom.seed(seed);
  }
  /// Whether parameters take the value of a closed bound.
  void setAtBounds(bool on) { atBounds = on; }
  /// Whether one did.
  bool usedBounds() const { return tookBound; }
  /// The largest magnitude met: what rounding errors are measured against.
  double largest() const { return magnitude; }

private:
  double noisy(double x);
  double compute(mlir::Operation *op);
  Row computeRow(mlir::Operation *op);
  /// A number that the declaration of the parameter allows.
  double parameter(mlir::Value memory, std::vector<int64_t> indices);
  std::vector<int64_t> values(mlir::ValueRange indices);

  std::mt19937_64 random;
  llvm::DenseMap<mlir::Value, double> scalars;
  llvm::DenseMap<mlir::Value, Row> rows;
  std::map<std::pair<void *, std::vector<int64_t>>, double> parameters;
  std::map<Position, double> positions;
  size_t plainLength = 2; ///< of rows of unknown length
  double magnitude = 0;
  bool atBounds = false, tookBound = false;
  double noise = 0;
  std::minstd_rand noiseRandom;
};

/// How often to evaluate kappa, a probe and not a benchmark: never where rows
/// are longer than a proof should look at, seldom where the kernel is large.
int affordableTries(AttentionOp op);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_POINTEVALUATOR_H
