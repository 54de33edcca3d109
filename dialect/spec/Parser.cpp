//===- Parser.cpp - the text of a specification ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Parser.h"
#include "dialect/spec/Lexer.h"

#include <charconv>
#include <cmath>

using namespace attn;
using Operator = Spec::Operator;
using Expression = Spec::Expression;

namespace {

/// Deeper nesting is refused, so that recursion is bounded.
constexpr unsigned kMaxNesting = 500;

struct BinaryOperator {
  const char *text;
  Operator op;
  int level; ///< binds tighter the higher
};
constexpr int kOr = 1, kAnd = 2, kComparison = 4, kSum = 5, kProduct = 6;
constexpr BinaryOperator kBinaryOperators[] = {
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

class Parser {
public:
  explicit Parser(std::string_view text) : lexer(text) { advance(); }
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
  void parseArguments(Expression &call);
  Spec::Id parseNumber();

  const BinaryOperator *binaryOperator() const;
  Spec::Id add(Operator op, std::vector<Spec::Id> operands, Spec::Place place);

  Lexer lexer;
  Token token;
  Token last; ///< the one before
  Spec spec;
  unsigned nesting = 0;

  /// Counts nesting for as long as it lives.
  struct Nest {
    explicit Nest(Parser &p) : parser(p) {
      if (++parser.nesting > kMaxNesting)
        parser.fail("more than " + std::to_string(kMaxNesting) +
                    " levels of nesting; give parts of the expression names");
    }
    ~Nest() { --parser.nesting; }
    Parser &parser;
  };
};

} // namespace

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

void Parser::advance() {
  last = token;
  token = lexer.next();
}

std::string Parser::describe() const {
  switch (token.kind) {
  case Token::End:
    return "the end of the text";
  case Token::LineEnd:
    return "the end of the line";
  default:
    return "'" + std::string(token.text.substr(0, 40)) + "'";
  }
}

void Parser::expect(std::string_view text, const std::string &where) {
  if (!accept(text))
    fail("expected '" + std::string(text) + "' " + where + ", found " +
         describe());
}

Spec::Name Parser::expectName(const std::string &what) {
  if (token.kind != Token::Name)
    fail("expected " + what + ", found " + describe());
  Spec::Name name{std::string(token.text), token.place};
  advance();
  return name;
}

Spec::Place Parser::since(const Token &first) const {
  Spec::Place place = first.place;
  if (last.place.line == place.line && last.end >= first.begin)
    place.length = static_cast<uint32_t>(last.end - first.begin);
  return place;
}

//===----------------------------------------------------------------------===//
// Specs and parameters
//===----------------------------------------------------------------------===//

void Parser::parseFile(std::vector<Spec> &specs) {
  while (token.kind != Token::End)
    specs.push_back(parseSpec());
}

std::vector<Spec::Name> Parser::parseNames(const std::string &what) {
  std::vector<Spec::Name> names;
  do
    names.push_back(expectName(what));
  while (accept(","));
  return names;
}

Spec Parser::parseSpec() {
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

Spec::Edge Parser::parseEdge() {
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

Spec::Axis Parser::parseAxis() {
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

double Parser::parseBound() {
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

Spec::Parameter Parser::parseParameter() {
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

void Parser::parseNormalize(Spec::Statement &statement) {
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

Spec::Statement Parser::parseStatement() {
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

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

const BinaryOperator *Parser::binaryOperator() const {
  for (const BinaryOperator &op : kBinaryOperators)
    if (is(op.text))
      return &op;
  return nullptr;
}

Spec::Id Parser::add(Operator op, std::vector<Spec::Id> operands,
                     Spec::Place place) {
  Expression expression;
  expression.kind = Expression::Operation;
  expression.op = op;
  expression.place = place;
  expression.operands = std::move(operands);
  return spec.add(std::move(expression));
}

/// Chains are loops and only nesting recurses: a sum may be a megabyte long.
Spec::Id Parser::parseExpression(int level) {
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

Spec::Id Parser::parseUnary() {
  if (!is("-") && !is("+"))
    return parsePower();
  Nest nest(*this);
  Token first = token;
  Operator op = is("-") ? Operator::Minus : Operator::Plus;
  advance();
  Spec::Id operand = parseUnary();
  return add(op, {operand}, since(first));
}

Spec::Id Parser::parsePower() {
  Token first = token;
  Spec::Id base = parseAtom();
  if (!accept("^"))
    return base;
  Nest nest(*this);
  Spec::Id exponent = parseUnary();
  return add(Operator::Power, {base, exponent}, since(first));
}

Spec::Id Parser::parseNumber() {
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
      fail("this number is out of range");
  }
  advance();
  return spec.add(std::move(number));
}

/// After the opening parenthesis, through the closing one.
void Parser::parseArguments(Expression &call) {
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

Spec::Id Parser::parseAtom() {
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

std::optional<SpecError> attn::parseSpecs(std::string_view text,
                                          std::vector<Spec> &specs) {
  try {
    Parser(text).parseFile(specs);
    return std::nullopt;
  } catch (SpecError &error) {
    return std::move(error);
  }
}
