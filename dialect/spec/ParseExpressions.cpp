//===- ParseExpressions.cpp - the expressions of a specification ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Graph.h"
#include "dialect/spec/ParserState.h"

#include <charconv>

using namespace attn;
using Operator = Spec::Operator;
using Expression = Spec::Expression;

static constexpr BinaryOperator kBinaryOperators[] = {
    {"or", Operator::Or, kOr},
    {"and", Operator::And, kAnd},
    {"<", Operator::Less, kComparison},
    {"<=", Operator::LessEqual, kComparison},
    {">", Operator::Greater, kComparison},
    {">=", Operator::GreaterEqual, kComparison},
    {"==", Operator::Equal, kComparison},
    {"!=", Operator::NotEqual, kComparison},
    {"+", Operator::Add, kSum},
    {"-", Operator::Subtract, kSum},
    {"*", Operator::Multiply, kProduct},
    {"/", Operator::Divide, kProduct},
    {"//", Operator::FloorDivide, kProduct},
    {"%", Operator::Modulo, kProduct},
};

const BinaryOperator *SpecParser::binaryOperator() const {
  for (const BinaryOperator &op : kBinaryOperators)
    if (is(op.text))
      return &op;
  return nullptr;
}

Spec::Id SpecParser::add(Operator op, std::vector<Spec::Id> operands,
                         Spec::Place place) {
  Expression expression;
  expression.kind = Expression::Operation;
  expression.op = op;
  expression.place = place;
  expression.operands = std::move(operands);
  return spec.add(std::move(expression));
}

/// Chains are loops and only nesting recurses: a sum may be a megabyte long.
Spec::Id SpecParser::parseExpression(int level) {
  Nest nest(*this);
  Token first = token;
  Spec::Id left;
  if (level <= kAnd + 1 && accept("not")) {
    Spec::Id operand = parseExpression(kAnd + 1);
    left = add(Operator::Not, {operand}, since(first));
  } else {
    left = parseUnary();
  }
  const BinaryOperator *compared = nullptr;
  while (const BinaryOperator *op = binaryOperator()) {
    if (op->level < level)
      break;
    if (op->level == kComparison) {
      if (compared)
        fail("comparisons do not chain; write 'a < b and b < c'");
      compared = op;
    } else if (op->level < kComparison) {
      compared = nullptr;
    }
    advance();
    Spec::Id right = parseExpression(op->level + 1);
    left = add(op->op, {left, right}, since(first));
  }
  return left;
}

Spec::Id SpecParser::parseUnary() {
  if (!is("-") && !is("+"))
    return parsePower();
  Nest nest(*this);
  Token first = token;
  Operator op = is("-") ? Operator::Minus : Operator::Plus;
  advance();
  Spec::Id operand = parseUnary();
  return add(op, {operand}, since(first));
}

Spec::Id SpecParser::parsePower() {
  Token first = token;
  Spec::Id base = parseAtom();
  if (!accept("^"))
    return base;
  Nest nest(*this);
  Spec::Id exponent = parseUnary();
  return add(Operator::Power, {base, exponent}, since(first));
}

Spec::Id SpecParser::parseNumber() {
  Expression number;
  number.place = token.place;
  const char *begin = token.text.data(), *end = begin + token.text.size();
  if (token.kind == Token::Integer) {
    number.kind = Expression::Integer;
    if (std::from_chars(begin, end, number.integer).ec != std::errc())
      fail("this integer does not fit in 64 bits; write it as a real, as in "
           "'1e20'");
  } else {
    number.kind = Expression::Real;
    if (std::from_chars(begin, end, number.real).ec != std::errc())
      fail(std::string("this number is ") + kOutsideF32 +
           "; write 'inf' or 0, or scale the expression");
  }
  advance();
  return spec.add(std::move(number));
}

/// After the opening parenthesis, through the closing one.
void SpecParser::parseArguments(Expression &call) {
  Nest nest(*this);
  if (!is(")"))
    do {
      Token first = token;
      Spec::Id value = parseExpression();
      if (is("=")) {
        const Expression &name = spec.expressions[value];
        if (name.kind != Expression::Variable || first.kind != Token::Name)
          fail("expected ',' or ')', found '='; to compare, write '=='");
        call.argumentNames.push_back({name.name, name.place});
        spec.expressions.pop_back();
        advance();
        value = parseExpression();
      } else if (!call.argumentNames.empty()) {
        throw SpecError{"an argument without a name cannot follow one with a "
                        "name; move it to the front",
                        first.place};
      }
      call.operands.push_back(value);
    } while (accept(","));
  expect(")", "after the arguments of '" + call.name + "'");
}

Spec::Id SpecParser::parseAtom() {
  if (token.kind == Token::Integer || token.kind == Token::Real)
    return parseNumber();
  if (accept("(")) {
    Spec::Id inner = parseExpression();
    expect(")", "after the expression in parentheses");
    return inner;
  }
  if (token.kind == Token::LineEnd)
    fail("expected an expression, found the end of the line; to go on to the "
         "next line, put the expression in parentheses");
  if (token.kind != Token::Name || is("and") || is("or") || is("not"))
    fail("expected an expression, found " + describe() +
         (is("not") ? "; put the negation in parentheses" : ""));

  Token first = token;
  Expression expression;
  expression.kind = Expression::Variable;
  expression.name = std::string(token.text);
  advance();
  if (accept("(")) {
    expression.kind = Expression::Call;
    parseArguments(expression);
  } else if (accept("[")) {
    expression.kind = Expression::Index;
    do
      expression.operands.push_back(parseExpression());
    while (accept(","));
    expect("]", "after the indices of '" + expression.name + "'");
  }
  expression.place = since(first);
  return spec.add(std::move(expression));
}
