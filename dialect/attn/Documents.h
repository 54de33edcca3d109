//===- Documents.h - conditions f(i) == f(j) of a mask ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_DOCUMENTS_H
#define ATTN_DIALECT_ATTN_DOCUMENTS_H

#include "dialect/attn/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attn {

/// The equalities among the conditions that a mask joins with `and`. Under a
/// licence for the linear order each is f(i) == f(j), a document.
inline llvm::SmallVector<mlir::arith::CmpIOp>
documentConditions(mlir::Region &mask) {
  llvm::SmallVector<mlir::arith::CmpIOp> found;
  if (mask.empty())
    return found;
  llvm::SmallVector<mlir::Value> work{
      mask.front().getTerminator()->getOperand(0)};
  while (!work.empty()) {
    mlir::Value condition = work.pop_back_val();
    if (auto both = condition.getDefiningOp<mlir::arith::AndIOp>()) {
      work.push_back(both.getLhs());
      work.push_back(both.getRhs());
    } else if (auto compare = condition.getDefiningOp<mlir::arith::CmpIOp>();
               compare &&
               compare.getPredicate() == mlir::arith::CmpIPredicate::eq) {
      found.push_back(compare);
    }
  }
  return found;
}

} // namespace attn

#endif // ATTN_DIALECT_ATTN_DOCUMENTS_H
