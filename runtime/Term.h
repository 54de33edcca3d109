//===- Term.h - a node of an expression in C++ ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands behind detail::TermRef of attn/Terms.h: terms are made in
// Terms.cpp, and an attention (Builder.cpp) takes them into its tree.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_TERM_H
#define ATTN_RUNTIME_TERM_H

#include "attn/Terms.h"

namespace attn::detail {

/// An expression of the tree, but for its operands, and where its name comes
/// from.
struct Term {
  explicit Term(Spec::Expression expression, std::vector<TermRef> operands = {})
      : expression(std::move(expression)), operands(std::move(operands)) {}
  Term(const Term &) = delete;
  ~Term();

  Spec::Expression expression;
  std::vector<TermRef> operands;
  /// The attention that a name belongs to; null: any.
  std::shared_ptr<const char> owner;
  /// Roles: which, and after how many assignments.
  int role = -1;
  unsigned version = 0;
  /// Parameters: as declared, and how many explicit axes there are still.
  bool isParameter = false, isIntegers = false;
  size_t axes = 0;
};

/// A name, of an input, a parameter, a role or a value.
Spec::Expression variable(const std::string &name);

} // namespace attn::detail

#endif // ATTN_RUNTIME_TERM_H
