//===- Lexer.h - the words of a specification -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_LEXER_H
#define ATTN_DIALECT_SPEC_LEXER_H

#include "dialect/spec/Error.h"

namespace attn {

struct Token {
  enum Kind : uint8_t { End, LineEnd, Name, Integer, Real, Symbol };
  Kind kind = End;
  std::string_view text; ///< a symbol is one of `( ) [ ] { } , ; : = + - * / //
                         ///< % ^ < <= > >= == !=`
  size_t begin = 0, end = 0; ///< offsets in the text
  Spec::Place place;
};

/// Cuts a text into tokens. Line ends count only inside braces and outside
/// ( ) and [ ], so the lexer keeps track of both.
class Lexer {
public:
  explicit Lexer(std::string_view text);
  /// The next token; throws SpecError on a character that is no part of the
  /// language.
  Token next();

private:
  void skipBlanks();
  Token make(Token::Kind kind, size_t end);
  [[noreturn]] void refuseCharacter() const;
  bool lineEndsCount() const { return inBraces && depth == 0; }
  bool digitAt(size_t at) const {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  }

  std::string_view text;
  size_t position = 0, lineBegin = 0;
  uint32_t line = 1;
  bool inBraces = false;
  unsigned depth = 0; ///< of ( and [
};

} // namespace attn

#endif // ATTN_DIALECT_SPEC_LEXER_H
