//===- Specialize.h - a kernel for known row lengths ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is imported with rows of unknown length and compiled once for every
// set of lengths that it is called with.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_SPECIALIZE_H
#define ATTN_DIALECT_ATTN_SPECIALIZE_H

#include "dialect/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// `type` with its last extents known: `extents` are those of the last axes,
/// where kDynamic leaves one as it is. With `contiguous` the innermost stride
/// is 1. `element` is the new element type, null for the same.
mlir::MemRefType withLastExtents(mlir::MemRefType type,
                                 llvm::ArrayRef<int64_t> extents,
                                 bool contiguous, mlir::Type element = {});

/// The text of a row, for diagnostics.
using RowText = std::string (*)(mlir::Value row);

/// Gives the arguments of an attention function new types, infers the types of
/// all rows from them, folds lengths and what follows from them, and verifies.
/// Fails with a diagnostic at the expression where lengths do not fit; it names
/// the rows if there is a text of them.
mlir::LogicalResult specialize(mlir::func::FuncOp function,
                               llvm::ArrayRef<mlir::Type> argumentTypes,
                               RowText rowText = nullptr);

/// The same with only extents and element types, one of each an argument, as
/// withLastExtents takes them (no elements: all stay); q, k, v and o become
/// contiguous along their rows.
mlir::LogicalResult
specialize(mlir::func::FuncOp function,
           llvm::ArrayRef<llvm::SmallVector<int64_t>> lastExtents,
           llvm::ArrayRef<mlir::Type> elements = {}, RowText rowText = nullptr);

} // namespace attn

#endif // ATTN_DIALECT_ATTN_SPECIALIZE_H
