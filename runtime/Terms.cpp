//===- Terms.cpp - expressions in C++, before an attention takes them -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Term.h"

#include <cmath>

using namespace attn;
using detail::Kind;
using detail::Term;
using detail::TermRef;
using Operator = Spec::Operator;

/// A loop: chains may be as long as memory allows, the stack is not.
Term::~Term() {
  std::vector<TermRef> dying = std::move(operands);
  while (!dying.empty()) {
    TermRef last = std::move(dying.back());
    dying.pop_back();
    if (last.use_count() == 1) {
      auto &rest = const_cast<Term &>(*last).operands; // nobody else sees it
      for (TermRef &operand : rest)
        dying.push_back(std::move(operand));
      rest.clear();
    }
  }
}

static TermRef positiveInteger(int64_t value) {
  Spec::Expression expression;
  expression.kind = Spec::Expression::Integer;
  expression.integer = value;
  return std::make_shared<Term>(std::move(expression));
}

/// As the language has it, a negative number is the negation of one.
TermRef detail::integerTerm(int64_t value) {
  if (value == INT64_MIN)
    throw Error("the integer " + std::to_string(value) +
                " is out of range; write it as a real");
  if (value < 0)
    return operationTerm(Operator::Minus, {positiveInteger(-value)});
  return positiveInteger(value);
}

TermRef detail::bigIntegerTerm(uint64_t value) {
  if (value > static_cast<uint64_t>(INT64_MAX))
    throw Error("the integer " + std::to_string(value) +
                " is out of range; write it as a real");
  return positiveInteger(static_cast<int64_t>(value));
}

TermRef detail::realTerm(double value) {
  if (std::isnan(value))
    throw Error("a NaN is no constant of a kernel");
  if (std::signbit(value))
    return operationTerm(Operator::Minus, {realTerm(-value)});
  if (std::isinf(value))
    return wordTerm("inf");
  Spec::Expression expression;
  expression.kind = Spec::Expression::Real;
  expression.real = value;
  return std::make_shared<Term>(std::move(expression));
}

Spec::Expression detail::variable(const std::string &name) {
  Spec::Expression expression;
  expression.kind = Spec::Expression::Variable;
  expression.name = name;
  return expression;
}

TermRef detail::wordTerm(const std::string &name) {
  return std::make_shared<Term>(variable(name));
}

TermRef detail::operationTerm(Operator op, std::vector<TermRef> operands) {
  Spec::Expression expression;
  expression.kind = Spec::Expression::Operation;
  expression.op = op;
  return std::make_shared<Term>(std::move(expression), std::move(operands));
}

TermRef detail::callTerm(const char *name, std::vector<TermRef> operands) {
  Spec::Expression expression;
  expression.kind = Spec::Expression::Call;
  expression.name = name;
  return std::make_shared<Term>(std::move(expression), std::move(operands));
}

TermRef detail::indexTerm(const TermRef &parameter,
                          std::vector<TermRef> indices) {
  const std::string &name = parameter->expression.name;
  if (!parameter->isParameter ||
      parameter->expression.kind != Spec::Expression::Variable)
    throw Error("'" + name +
                "' has no indices here; give all of a parameter's at once, "
                "'table.at(i, j)'");
  if (indices.empty() || indices.size() > parameter->axes)
    throw Error("the parameter '" + name + "' has " +
                std::to_string(parameter->axes) + " explicit axes, not " +
                std::to_string(indices.size()));
  Spec::Expression expression;
  expression.kind = Spec::Expression::Index;
  expression.name = name;
  size_t axes = parameter->axes - indices.size();
  auto term = std::make_shared<Term>(std::move(expression), std::move(indices));
  term->owner = parameter->owner;
  term->isParameter = true;
  term->isIntegers = parameter->isIntegers;
  term->axes = axes;
  return term;
}

TermRef detail::checkedTerm(const Param &param, Kind kind) {
  const Term &term = *param.term();
  const std::string who = "'" + term.expression.name + "'";
  if (!term.isParameter) { // the row of a role
    if (kind != Kind::Row)
      throw Error(who + " is a row; take it as a Row");
    return param.term();
  }
  size_t wanted = kind == Kind::Matrix ? 2 : kind == Kind::Row ? 1 : 0;
  if (term.axes != wanted)
    throw Error("the parameter " + who + " has " + std::to_string(term.axes) +
                " explicit axes; " +
                (term.axes == 0   ? "take it as a Real or an Int"
                 : term.axes == 1 ? "take it as a Row, or index it"
                 : term.axes == 2 ? "take it as a Matrix, or index it"
                                  : "take it as a Param, and index it"));
  if (kind == Kind::Int && !term.isIntegers)
    throw Error("the parameter " + who +
                " is real; declare it with intParam to take it as an Int");
  return param.term();
}
