//===- Parser.h - the text of a specification -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text to tree, nothing more: names and types are the checker's. The grammar:
//
//   file   = { spec }
//   spec   = "attention" NAME "(" NAME {"," NAME} [";" param {"," param}] ")"
//            "{" {sep} [stmt {sep {sep} stmt} {sep}] "}"
//   param  = NAME ["[" axis {"," axis} "]"] [":" ("real"|"int")] [relop number]
//   axis   = NAME | edge ":" edge          edge = ["-"] (INT | NAME)
//   stmt   = NAME "=" expr | NAME "(" NAME {"," NAME} ")" "=" expr
//          | "kappa" "=" expr | "mask" "=" expr
//          | "normalize" "=" NAME ["(" NAME "=" expr {"," NAME "=" expr} ")"]
//          | "features" "=" NAME "(" [args] ")" | "allow" "signed"
//          | "return" NAME {"," NAME}
//   expr   = conj {"or" conj}              conj  = neg {"and" neg}
//   neg    = "not" neg | cmp               cmp   = sum [relop sum]
//   sum    = prod {("+"|"-") prod}         prod  = unary {("*"|"/"|"//"|"%")
//   unary} unary  = ("-"|"+") unary | power       power = atom ["^" unary] atom
//   = NUMBER | NAME ["(" [args] ")" | "[" expr {"," expr} "]"] | "(" expr ")"
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_PARSER_H
#define ATTN_DIALECT_SPEC_PARSER_H

#include "dialect/spec/Error.h"

#include <optional>
#include <string_view>
#include <vector>

namespace attn {

/// Appends the specs of a text to `specs`; returns the first error, if any.
std::optional<SpecError> parseSpecs(std::string_view text,
                                    std::vector<Spec> &specs);

} // namespace attn

#endif // ATTN_DIALECT_SPEC_PARSER_H
