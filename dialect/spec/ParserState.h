//===- ParserState.h - recursive descent over a specification ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Internal to the parser: its state and one method a rule of the grammar.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_PARSERSTATE_H
#define ATTN_DIALECT_SPEC_PARSERSTATE_H

#include "dialect/spec/Lexer.h"

namespace attn {

/// Deeper nesting is refused, so that recursion is bounded.
inline constexpr unsigned kMaxNesting = 500;

struct BinaryOperator {
  const char *text;
  Spec::Operator op;
  int level; ///< binds tighter the higher
};
/// Levels of BinaryOperator.
inline constexpr int kOr = 1, kAnd = 2, kComparison = 4, kSum = 5, kProduct = 6;

class SpecParser {
public:
  explicit SpecParser(std::string_view text) : lexer(text) { advance(); }
  void parseFile(std::vector<Spec> &specs);

private:
  // Tokens.
  void advance();
  bool is(std::string_view text) const {
    return (token.kind == Token::Symbol || token.kind == Token::Name) &&
           token.text == text;
  }
  bool accept(std::string_view text) {
    bool found = is(text);
    if (found)
      advance();
    return found;
  }
  void expect(std::string_view text, const std::string &where);
  Spec::Name expectName(const std::string &what);
  std::string describe() const;
  [[noreturn]] void fail(std::string message) const {
    throw SpecError{std::move(message), token.place};
  }
  /// From `first` to the last token taken.
  Spec::Place since(const Token &first) const;
  Spec::Place spanning(Spec::Id first) const;

  // The grammar.
  Spec parseSpec();
  Spec::Parameter parseParameter();
  Spec::Axis parseAxis();
  Spec::Edge parseEdge();
  double parseBound();
  Spec::Statement parseStatement();
  void parseNormalize(Spec::Statement &statement);
  std::vector<Spec::Name> parseNames(const std::string &what);
  Spec::Id parseExpression(int level = kOr);
  Spec::Id parseUnary();
  Spec::Id parsePower();
  Spec::Id parseAtom();
  void parseArguments(Spec::Expression &call);
  Spec::Id parseNumber();

  const BinaryOperator *binaryOperator() const;
  Spec::Id add(Spec::Operator op, std::vector<Spec::Id> operands,
               Spec::Place place);

  Lexer lexer;
  Token token;
  Token last; ///< the one before
  Spec spec;
  unsigned nesting = 0;

  /// Counts nesting for as long as it lives.
  struct Nest {
    explicit Nest(SpecParser &p) : parser(p) {
      if (++parser.nesting > kMaxNesting)
        parser.fail("more than " + std::to_string(kMaxNesting) +
                    " levels of nesting; give parts of the expression names");
    }
    ~Nest() { --parser.nesting; }
    SpecParser &parser;
  };
};

} // namespace attn

#endif // ATTN_DIALECT_SPEC_PARSERSTATE_H
