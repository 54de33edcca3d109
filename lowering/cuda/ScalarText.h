//===- ScalarText.h - scalar operations as C expressions --------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one way by which kappa, masks and addresses become text. An expression
// knows how tightly it binds, so that parentheses stand where C needs them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CUDA_SCALARTEXT_H
#define ATTN_LOWERING_CUDA_SCALARTEXT_H

#include "lowering/Passes.h"

namespace attn {

/// A C expression.
struct Text {
  /// From loose to tight.
  enum Binding {
    Conditional,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Relation,
    Sum,
    Product,
    Unary,
    Primary
  };
  std::string code;
  Binding binding = Primary;
  bool constant = false;

  /// In parentheses, if it binds looser than `least`.
  std::string in(Binding least) const {
    return binding < least ? "(" + code + ")" : code;
  }
};

/// The type of a scalar in C.
llvm::StringRef cTypeOf(mlir::Type type, bool narrow = false);
/// The shortest text that reads back as v, an f32 or (`wide`) f64.
Text realText(double v, bool wide);
/// A constant of f32, index or i1.
Text constantText(mlir::TypedAttr value);
/// The value of `op` from the texts of its operands, or nothing where it has no
/// form: `memref` operations are the printer's, which knows parameters.
/// `narrow`: whole numbers are of 32 bits here.
std::optional<Text> scalarText(mlir::Operation &op, llvm::ArrayRef<Text> of,
                               bool narrow = false);

} // namespace attn

#endif // ATTN_LOWERING_CUDA_SCALARTEXT_H
