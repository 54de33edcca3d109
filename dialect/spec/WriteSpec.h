//===- WriteSpec.h - the text of a tree -------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tree that a program built has no text, and errors want one to point into.
// This is the parser backwards: from `text` it reads the same spec again.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_WRITESPEC_H
#define ATTN_DIALECT_SPEC_WRITESPEC_H

#include "dialect/spec/Error.h"

namespace attn {

/// Whether the text is a NAME of the language: a letter, then letters, digits
/// and underscores.
bool isSpecName(std::string_view text);

/// Throws SpecError, which names the part, unless a tree is well formed: its
/// names are names, operands stand before their users and are as many as the
/// operator takes, numbers are numbers. Trees of the parser are.
void validateSpec(const Spec &spec);

/// Writes a well-formed spec as `.attn` text and makes every place in `spec`
/// point into it. A shared expression is written wherever it is used; where
/// that would be very long or deeply nested, there is no text, and no places.
std::string writeSpec(Spec &spec);

} // namespace attn

#endif // ATTN_DIALECT_SPEC_WRITESPEC_H
