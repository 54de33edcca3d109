//===- Flattener.h - a program while it is made -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_REFERENCE_FLATTENER_H
#define ATTN_RUNTIME_REFERENCE_FLATTENER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/reference/Flatten.h"

namespace attn::reference {

/// What depends on both.
inline Level join(Level a, Level b) { return static_cast<Level>(a | b); }

/// Walks a region once. What an operation computes is an instruction;
/// constants, indices and extents are in registers from the start.
class Flattener {
public:
  explicit Flattener(const std::vector<Memory> &memories) : memories(memories) {
    program.intLevels = {OnQuery, OnKey,  OnHead, OnHead,
                         OnHead,  OnHead, OnHead};
  }

  mlir::FailureOr<Program> flatten(mlir::Region &region,
                                   llvm::ArrayRef<RowArgument> arguments);

private:
  mlir::LogicalResult flattenOp(mlir::Operation *op,
                                std::vector<Instruction> &code);
  mlir::LogicalResult flattenConstant(mlir::arith::ConstantOp op);
  /// Operations on numbers alone, whose meaning their name decides.
  mlir::LogicalResult flattenScalar(mlir::Operation *op, Instruction &made);
  /// Operations of the attn dialect, on rows; `length` becomes that of the row
  /// that they make.
  mlir::LogicalResult flattenRowOp(mlir::Operation *op, Instruction &made,
                                   int64_t &length);
  mlir::LogicalResult flattenMap(MapOp op, std::vector<Instruction> &code);
  mlir::LogicalResult flattenPower(PowerOp op, Instruction &made);
  mlir::LogicalResult flattenRope(RopeOp op, Instruction &made);
  void markMadeRows();

  Register newReal(Level level) {
    program.reals.push_back({});
    program.realLevels.push_back(level);
    return {RegisterKind::Real, level, int(program.reals.size()) - 1};
  }
  Register newInt(Level level) {
    program.ints.push_back(0);
    program.intLevels.push_back(level);
    return {RegisterKind::Int, level, int(program.ints.size()) - 1};
  }
  Register newRow(Level level, int64_t length) {
    program.lengths.push_back(length);
    program.rowLevels.push_back(level);
    return {RegisterKind::Row, level, int(program.lengths.size()) - 1};
  }
  /// The length of a row value, known in spite of a `?` in its type.
  int64_t lengthOf(mlir::Value row) {
    return program.lengths[registers.lookup(row).index];
  }
  /// The register of an operand. Constants and extents may stand outside of the
  /// region, in the function: they come in at their first use.
  mlir::FailureOr<Register> registerOf(mlir::Operation *user,
                                       mlir::Value value);
  /// The function argument that a memref is, or an error.
  mlir::FailureOr<unsigned> memoryOf(mlir::Operation *op, mlir::Value memref);

  const std::vector<Memory> &memories;
  Program program;
  llvm::DenseMap<mlir::Value, Register> registers;
};

} // namespace attn::reference

#endif // ATTN_RUNTIME_REFERENCE_FLATTENER_H
