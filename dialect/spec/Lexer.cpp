//===- Lexer.cpp - the words of a specification ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Lexer.h"

#include <algorithm>
#include <cstdio>

using namespace attn;

static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static bool isDigit(char c) { return c >= '0' && c <= '9'; }

Lexer::Lexer(std::string_view source) : text(withoutByteOrderMark(source)) {}

void Lexer::skipBlanks() {
  while (position < text.size()) {
    char c = text[position];
    if (c == '#') {
      // The line end itself may count.
      position = std::min(text.find('\n', position), text.size());
    } else if (c == '\n') {
      if (lineEndsCount())
        return;
      lineBegin = ++position;
      ++line;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++position;
    } else {
      return;
    }
  }
}

Token Lexer::make(Token::Kind kind, size_t end) {
  Token token;
  token.kind = kind;
  token.text = text.substr(position, end - position);
  token.begin = position;
  token.end = end;
  token.place = {line, static_cast<uint32_t>(position - lineBegin + 1),
                 static_cast<uint32_t>(std::max<size_t>(end - position, 1))};
  position = end;
  return token;
}

void Lexer::refuseCharacter() const {
  SpecError error;
  error.place = {line, static_cast<uint32_t>(position - lineBegin + 1), 1};
  unsigned char c = text[position];
  if (c == '!' || c == '&' || c == '|') {
    std::string word = c == '!' ? "not" : c == '&' ? "and" : "or";
    error.message = std::string("unexpected character '") + text[position] +
                    "'; write '" + word + "'" + (c == '!' ? " or '!='" : "");
  } else if (c < 0x20 || c == 0x7F) {
    char hex[8];
    std::snprintf(hex, sizeof(hex), "\\x%02X", c);
    error.message = std::string("unexpected character ") + hex +
                    "; a spec is plain text, remove it";
  } else if (c < 0x80) {
    error.message =
        std::string("unexpected character '") + text[position] + "'; remove it";
  } else {
    // Show the whole UTF-8 sequence.
    size_t end = position + 1;
    while (end < text.size() && end < position + 4 &&
           (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
      ++end;
    error.message = "unexpected character '" +
                    std::string(text.substr(position, end - position)) +
                    "'; outside comments a spec is written in ASCII";
  }
  throw error;
}

Token Lexer::next() {
  skipBlanks();
  if (position == text.size())
    return make(Token::End, position);
  char c = text[position];
  if (c == '\n') {
    Token token = make(Token::LineEnd, position + 1);
    lineBegin = position;
    ++line;
    return token;
  }

  size_t end = position + 1;
  if (isLetter(c)) {
    while (end < text.size() &&
           (isLetter(text[end]) || isDigit(text[end]) || text[end] == '_'))
      ++end;
    return make(Token::Name, end);
  }

  if (isDigit(c) || (c == '.' && digitAt(end))) {
    bool real = false;
    end = position;
    while (digitAt(end))
      ++end;
    if (end < text.size() && text[end] == '.') {
      real = true;
      ++end;
      while (digitAt(end))
        ++end;
    }
    if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
      size_t digits = end + 1;
      if (digits < text.size() && (text[digits] == '+' || text[digits] == '-'))
        ++digits;
      if (digitAt(digits)) {
        real = true;
        end = digits;
        while (digitAt(end))
          ++end;
      }
    }
    return make(real ? Token::Real : Token::Integer, end);
  }

  char following = end < text.size() ? text[end] : '\0';
  switch (c) {
  case '(':
  case '[':
    ++depth;
    return make(Token::Symbol, end);
  case ')':
  case ']':
    depth -= depth > 0;
    return make(Token::Symbol, end);
  case '{':
  case '}':
    inBraces = c == '{';
    depth = 0;
    return make(Token::Symbol, end);
  case '/':
    return make(Token::Symbol, end + (following == '/'));
  case '<':
  case '>':
  case '=':
    return make(Token::Symbol, end + (following == '='));
  case '!':
    if (following == '=')
      return make(Token::Symbol, end + 1);
    refuseCharacter();
  case ',':
  case ';':
  case ':':
  case '+':
  case '-':
  case '*':
  case '%':
  case '^':
    return make(Token::Symbol, end);
  default:
    refuseCharacter();
  }
}
