//===- Notation.h - operations as the language has them ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that shows a kernel to a person (diagnostics, proofs, `attnc explain`)
// writes it as a spec would: `where(i < j, a, b)`, not select, slt and casts.
// What the importer spells out, and the clamps of indices, are taken back.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_NOTATION_H
#define ATTN_LOWERING_ANALYSIS_NOTATION_H

#include "dialect/attn/Attn.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <optional>
#include <string>

namespace attn {

/// How tightly an expression binds, loosest first.
enum class Binding { Or, And, Not, Compare, Sum, Product, Unary, Power, Atom };

/// `before a between b between c after`.
struct Notation {
  std::string before, between, after;
  Binding binding = Binding::Atom; ///< of the whole
  /// What the first operand and the others bind at least.
  Binding first = Binding::Or, others = Binding::Or;
  unsigned operands = ~0U; ///< how many of them are written
};

/// By the name of an operation without its dialect, or of the predicate of a
/// comparison. What the language has no word for is a call of that name.
Notation notationOf(llvm::StringRef name);

/// What to write for an operation.
struct Written {
  Notation notation;
  llvm::SmallVector<mlir::Value, 3> operands;
};
Written writtenOf(mlir::Operation *op);

/// `value` before conversions between kinds of numbers, which a spec never
/// writes.
mlir::Value withoutCasts(mlir::Value value);

/// The index of a parameter as the spec has it, without the clamp to its axis:
/// a value, or a constant; neither where it cannot be told.
struct WrittenIndex {
  mlir::Value value;
  std::optional<int64_t> constant;
};
/// `axis` is the declared text, `head` or `-128:128`; nothing for an axis that
/// a spec does not write.
std::optional<WrittenIndex> writtenIndex(mlir::Value index,
                                         llvm::StringRef axis);

/// The text of axis `n`, empty where there is none.
llvm::StringRef axisOf(mlir::ArrayAttr axes, int64_t n);
/// The extent of an array, by the name of the size or of the row that has it.
std::string extentText(mlir::memref::DimOp extent);
/// The size variable that `value` works out from the extent of a table.
std::optional<std::string> sizeOfTable(mlir::Value value);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_NOTATION_H
