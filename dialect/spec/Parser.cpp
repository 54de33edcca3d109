//===- Parser.cpp - the text of a specification ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Parser.h"
#include "dialect/spec/ParserState.h"

#include <charconv>

using namespace attn;
using Operator = Spec::Operator;
using Expression = Spec::Expression;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void SpecParser::advance() {
  last = token;
  token = lexer.next();
}

std::string SpecParser::describe() const {
  switch (token.kind) {
  case Token::End:
    return "the end of the text";
  case Token::LineEnd:
    return "the end of the line";
  default:
    return "'" + std::string(token.text.substr(0, 40)) + "'";
  }
}

void SpecParser::expect(std::string_view text, const std::string &where) {
  if (!accept(text))
    fail("expected '" + std::string(text) + "' " + where + ", found " +
         describe());
}

Spec::Name SpecParser::expectName(const std::string &what) {
  if (token.kind != Token::Name)
    fail("expected " + what + ", found " + describe());
  Spec::Name name{std::string(token.text), token.place};
  advance();
  return name;
}

Spec::Place SpecParser::since(const Token &first) const {
  Spec::Place place = first.place;
  if (last.place.line == place.line && last.end >= first.begin)
    place.length = static_cast<uint32_t>(last.end - first.begin);
  return place;
}

//===----------------------------------------------------------------------===//
// Specs and parameters
//===----------------------------------------------------------------------===//

void SpecParser::parseFile(std::vector<Spec> &specs) {
  while (token.kind != Token::End)
    specs.push_back(parseSpec());
}

std::vector<Spec::Name> SpecParser::parseNames(const std::string &what) {
  std::vector<Spec::Name> names;
  do
    names.push_back(expectName(what));
  while (accept(","));
  return names;
}

Spec SpecParser::parseSpec() {
  spec = Spec();
  if (!accept("attention"))
    fail("expected a spec, 'attention name(q, k, v) { ... }', found " +
         describe());
  spec.name = expectName("the name of the attention");
  expect("(", "before the inputs, as in 'attention name(q, k, v)'");
  spec.inputs = parseNames("the name of an input");
  if (accept(";"))
    do
      spec.parameters.push_back(parseParameter());
    while (accept(","));
  if (!is(")"))
    fail("expected ',' or ')' after an input or a parameter, found " +
         describe() + "; parameters stand after a ';'");
  advance();
  expect("{", "before the statements");
  while (true) {
    while (token.kind == Token::LineEnd || is(";"))
      advance();
    if (accept("}"))
      break;
    if (token.kind == Token::End)
      fail("expected '}' after the statements of '" + spec.name.text +
           "', found the end of the text");
    spec.statements.push_back(parseStatement());
    if (token.kind != Token::LineEnd && !is(";") && !is("}")) {
      if (is("="))
        fail("unexpected '='; to compare, write '=='");
      fail("expected an operator or the end of the statement, found " +
           describe());
    }
  }
  return std::move(spec);
}

Spec::Edge SpecParser::parseEdge() {
  Spec::Edge edge;
  edge.negated = accept("-");
  if (token.kind == Token::Name) {
    edge.variable = expectName("an edge");
    return edge;
  }
  if (token.kind != Token::Integer)
    fail("expected an integer or a size variable as the edge of a table, "
         "found " +
         describe());
  auto [end, status] = std::from_chars(
      token.text.data(), token.text.data() + token.text.size(), edge.number);
  if (status != std::errc() || edge.number > (int64_t(1) << 40))
    fail("the edge of a table is too large");
  if (edge.negated)
    edge.number = -edge.number;
  edge.negated = false;
  advance();
  return edge;
}

Spec::Axis SpecParser::parseAxis() {
  Token first = token;
  Spec::Axis axis;
  axis.low = parseEdge();
  if (accept(":")) {
    axis.high = parseEdge();
  } else if (axis.low.variable.text.empty() || axis.low.negated) {
    fail("expected ':' and the other edge of the table, as in '-128:128', "
         "found " +
         describe());
  } else {
    axis.name = std::move(axis.low.variable);
    axis.low = Spec::Edge();
  }
  axis.place = since(first);
  return axis;
}

double SpecParser::parseBound() {
  bool negated = accept("-");
  if (token.kind != Token::Integer && token.kind != Token::Real)
    fail("expected a number as the bound of a parameter, found " + describe());
  Spec::Id id = parseNumber();
  const Expression &number = spec.expressions[id];
  double value =
      number.kind == Expression::Real ? number.real : double(number.integer);
  spec.expressions.pop_back();
  return negated ? -value : value;
}

Spec::Parameter SpecParser::parseParameter() {
  Spec::Parameter parameter;
  parameter.name = expectName("the name of a parameter");
  if (accept("[")) {
    do
      parameter.axes.push_back(parseAxis());
    while (accept(","));
    expect("]", "after the axes of '" + parameter.name.text + "'");
  }
  if (accept(":")) {
    parameter.integer = is("int");
    if (!accept("int") && !accept("real"))
      fail("expected 'int' or 'real' as the type of '" + parameter.name.text +
           "', found " + describe());
  }
  const BinaryOperator *op = binaryOperator();
  if (op && op->level == kComparison) {
    Token first = token;
    advance();
    parameter.relop = op->op;
    parameter.bound = parseBound();
    parameter.boundPlace = since(first);
  }
  return parameter;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void SpecParser::parseNormalize(Spec::Statement &statement) {
  expect("=", "after 'normalize', as in 'normalize = mass'");
  statement.name = expectName("'mass' or 'none'");
  if (!accept("("))
    return;
  do {
    Spec::Argument argument;
    argument.name = expectName("'delta', 'floor' or 'sink'");
    expect("=",
           "after '" + argument.name.text + "', as in 'mass(delta = 1e-9)'");
    argument.value = parseExpression();
    statement.arguments.push_back(std::move(argument));
  } while (accept(","));
  expect(")", "after the terms of the normaliser");
}

Spec::Statement SpecParser::parseStatement() {
  using Statement = Spec::Statement;
  Statement statement;
  statement.place = token.place;
  if (accept("kappa") || accept("mask")) {
    statement.kind = last.text == "mask" ? Statement::Mask : Statement::Kappa;
    expect("=", "after '" + std::string(last.text) + "'");
    statement.value = parseExpression();
  } else if (accept("normalize")) {
    statement.kind = Statement::Normalize;
    parseNormalize(statement);
  } else if (accept("features")) {
    statement.kind = Statement::Features;
    expect("=", "after 'features'");
    statement.name = expectName("the name of a feature map");
    Expression call;
    call.kind = Expression::Call;
    call.name = statement.name.text;
    call.place = statement.name.place;
    expect("(", "after '" + call.name + "', as in 'features = favor(m = 256)'");
    parseArguments(call);
    statement.value = spec.add(std::move(call));
  } else if (accept("allow")) {
    statement.kind = Statement::AllowSigned;
    expect("signed", "after 'allow'");
  } else if (accept("return")) {
    statement.kind = Statement::Return;
    statement.names = parseNames("the name of a result");
  } else {
    statement.name = expectName("a statement");
    if (accept("(")) {
      statement.kind = Statement::Define;
      statement.names = parseNames("the name of an argument");
      expect(")", "after the arguments of '" + statement.name.text + "'");
    }
    expect("=", "after '" + statement.name.text + "'");
    statement.value = parseExpression();
  }
  return statement;
}

std::optional<SpecError> attn::parseSpecs(std::string_view text,
                                          std::vector<Spec> &specs) {
  try {
    SpecParser(text).parseFile(specs);
    return std::nullopt;
  } catch (SpecError &error) {
    return std::move(error);
  }
}
