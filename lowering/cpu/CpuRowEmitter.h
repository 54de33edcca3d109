//===- CpuRowEmitter.h - row maps, one lane a row ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_CPUROWEMITTER_H
#define ATTN_LOWERING_CPU_CPUROWEMITTER_H

#include "lowering/cpu/CpuEmitter.h"

namespace attn {

/// Evaluates the region of one tile.rows for one panel.
class RowEmitter {
public:
  RowEmitter(CpuEmitter &e, tile::RowsOp op, mlir::Value panel)
      : e(e), op(op), panel(panel), count(e.level.panelVectors) {}
  /// Lanes are keys, one vector of them from `first` on, whose rows `input` has
  /// as [coordinate][lane].
  RowEmitter(CpuEmitter &e, tile::RowsOp op, mlir::Value first,
             mlir::Value input)
      : e(e), op(op), firstKey(first), count(1) {
    buffers[op.getBody().getArgument(0)] = input;
  }
  mlir::LogicalResult run(llvm::ArrayRef<mlir::Value> targets);
  /// Writes rows as [key][coordinate], keys `strides` apart, and scalars as
  /// [key].
  mlir::LogicalResult runKeys(llvm::ArrayRef<mlir::Value> targets,
                              llvm::ArrayRef<int64_t> strides);

private:
  using Values = CpuEmitter::Values;

  int64_t length(mlir::Value row) const {
    return mlir::cast<RowType>(row.getType()).getLength();
  }
  int64_t vectors() const { return count; }
  /// Coordinate d of vector v of a row.
  mlir::Value element(mlir::Value row, mlir::Value d, int64_t v);
  /// Vector v of a scalar.
  mlir::Value scalar(mlir::Value s, int64_t v);
  mlir::Value buffer(int64_t rowLength);
  void setElement(mlir::Value memory, mlir::Value d, int64_t v, mlir::Value x) {
    e.storeVector(x, memory, {d, e.index(v * e.level.lanes)});
  }
  void fill(mlir::Value result, int64_t n,
            llvm::function_ref<mlir::Value(mlir::Value, int64_t)> f);
  mlir::Value
  sum(int64_t n, int64_t v,
      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> term);
  mlir::LogicalResult emit(mlir::Operation &nested);
  void emitUnit(UnitOp unit);
  void emitRope(RopeOp rope);
  void emitPower(PowerOp power);
  void emitProject(ProjectOp project);
  void emitRandom(RandomFeaturesOp random);
  /// memory[c] = sum_r row[r] matrix[leading, r, c], c < m.
  void multiply(mlir::Value row, mlir::Value matrix, mlir::ValueRange leading,
                int64_t m, mlir::Value memory);

  CpuEmitter &e;
  tile::RowsOp op;
  mlir::Value panel, firstKey;
  int64_t count; ///< vectors
  mlir::LogicalResult emitBody();
  llvm::DenseMap<mlir::Value, mlir::Value> buffers; ///< rows at hand
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value>
      computed; ///< scalars
};

} // namespace attn

#endif // ATTN_LOWERING_CPU_CPUROWEMITTER_H
