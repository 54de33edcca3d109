//===- ValueRange.h - values that expressions can take ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Intervals for the scalars and rows of the regions of attention, over all rows
// that f_Q and f_K can produce and all parameters inside their declared bounds.
// Facts flow from definitions to uses, so one walk over what a value depends on
// suffices; it keeps its own stack because machine-made kernels are deep.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_VALUERANGE_H
#define ATTN_LOWERING_ANALYSIS_VALUERANGE_H

#include "dialect/attn/Attn.h"
#include "lowering/analysis/Interval.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace attn {

/// What is known of a row: the range of every coordinate, and of |x|^2.
struct RowRange {
  Interval coordinate;
  Interval sqnorm = Interval::atLeast(0);
};

/// Ranges, computed on demand and kept. Use a new one after changing the IR,
/// other than by adding to it.
class ValueRangeAnalysis {
public:
  /// What is taken for granted beside the declarations.
  struct Assumptions {
    /// Rows and positions of both roles are drawn from one set, as a kernel of
    /// two points of one set has it.
    bool oneSet = false;
    /// Rows have at most this norm as they stand in kappa.
    double radius = Interval::kInfinity;
    /// Values of parameters, by their memory.
    llvm::DenseMap<mlir::Value, Interval> parameters;
  };
  ValueRangeAnalysis() = default;
  explicit ValueRangeAnalysis(Assumptions assumed)
      : assumed(std::move(assumed)) {}

  /// Of an f32, an integer, an index or an i1 (0 or 1).
  Interval scalar(mlir::Value value);
  /// Of an !attn.row.
  RowRange row(mlir::Value value);
  /// The value of a constant expression such as 1/sqrt(dim).
  std::optional<double> constant(mlir::Value value);

private:
  void evaluate(mlir::Value root);
  Interval computeScalar(mlir::Value value);
  RowRange computeRow(mlir::Value value);
  Interval extremumSign(mlir::Operation *op);

  Assumptions assumed;
  llvm::DenseMap<mlir::Value, RowRange> facts; ///< a scalar uses `coordinate`
  /// Operations that may still be expanded into polynomials: kernels made by
  /// programs have more sums than are worth it.
  int polynomialBudget = 1 << 14;
};

/// The number of coordinates: known, or at least 1.
Interval lengthOf(RowType row);
Interval dotRange(ValueRangeAnalysis &ranges, DotOp op);
/// Of two rows of that length: by coordinates, and by Cauchy and Schwarz.
Interval dotRange(const RowRange &a, const RowRange &b, const Interval &length);
Interval sqdistRange(ValueRangeAnalysis &ranges, SqDistOp op);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_VALUERANGE_H
