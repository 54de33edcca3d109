//===- Words.h - the reserved words of the language -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_WORDS_H
#define ATTN_DIALECT_SPEC_WORDS_H

#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// What a reserved word means, for messages; null where the word is free.
const char *reservedMeaning(std::string_view word);
/// A built-in function: used with parentheses only.
bool isBuiltinFunction(std::string_view word);
/// All reserved words that stand for a value or a function.
const std::vector<std::string_view> &valueWords();

/// The candidate that `word` was likely meant to be, as "; did you mean 'x'?",
/// or nothing.
std::string suggestion(std::string_view word,
                       const std::vector<std::string_view> &candidates);

} // namespace attn

#endif // ATTN_DIALECT_SPEC_WORDS_H
