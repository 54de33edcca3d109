//===- FormEmitter.h - normal forms back into operations --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_FORMEMITTER_H
#define ATTN_LOWERING_ANALYSIS_FORMEMITTER_H

#include "lowering/analysis/NormalForm.h"

namespace attn {

/// Emits forms as operations of the kernel language at the builder, which must
/// stand in the region that the form was made from, where the origins of its
/// atoms are visible: before the terminator, say. What was emitted once is used
/// again. For a lowering that builds the features of a FeatureMap:
///
///     FormEmitter emit(form, builder, loc);
///     Value a = emit.scalar(block.query), x = emit.row(map.rows[t].first);
class FormEmitter {
public:
  FormEmitter(NormalForm &form, mlir::OpBuilder &builder, mlir::Location loc)
      : form(form), builder(builder), loc(loc) {}

  /// An f32; null if an atom has no origin and no operation.
  mlir::Value scalar(const Polynomial &p);
  /// An !attn.row; null likewise.
  mlir::Value row(RowId id);

private:
  mlir::Value atom(AtomId id);
  mlir::Value compute(AtomId id);
  mlir::Value map(const FormRow &row);
  mlir::Value number(double x);
  mlir::Value asReal(mlir::Value value);

  NormalForm &form;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::map<AtomId, mlir::Value> known;
  std::map<RowId, mlir::Value> knownRows;
};

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_FORMEMITTER_H
