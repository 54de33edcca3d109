//===- ValidateSpec.cpp - well-formed trees -------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Spec is a plain struct that anybody may fill; all that walks one relies on
// what is asked for here.
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/WriteSpec.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using Expression = Spec::Expression;
using Operator = Spec::Operator;
using Statement = Spec::Statement;

bool attn::isSpecName(std::string_view text) {
  auto isLetter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (text.empty() || !isLetter(text[0]))
    return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return isLetter(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

static void wantName(const Spec::Name &name, const std::string &what) {
  if (!isSpecName(name.text))
    throw SpecError{what + " is called '" + name.text.substr(0, 40) +
                        "'; a name is a letter, then letters, digits and "
                        "underscores",
                    name.place};
}

static void validateParameter(const Spec::Parameter &parameter) {
  wantName(parameter.name, "a parameter");
  const std::string who = "'" + parameter.name.text + "'";
  for (const Spec::Axis &axis : parameter.axes) {
    if (!axis.name.text.empty()) {
      wantName(axis.name, "an axis of " + who);
      continue;
    }
    for (const Spec::Edge *edge : {&axis.low, &axis.high})
      if (!edge->variable.text.empty())
        wantName(edge->variable, "an edge of a table axis of " + who);
  }
  if (parameter.relop && (*parameter.relop < Operator::Less ||
                          *parameter.relop > Operator::NotEqual))
    throw SpecError{"the bound of " + who + " is no comparison",
                    parameter.boundPlace};
  if (!std::isfinite(parameter.bound))
    throw SpecError{"the bound of " + who + " is not a finite number",
                    parameter.boundPlace};
}

static void validateExpression(const Spec &spec, Spec::Id id) {
  const Expression &e = spec.expressions[id];
  auto fail = [&](const std::string &what) {
    throw SpecError{"expression " + std::to_string(id) + " of '" +
                        spec.name.text + "' " + what,
                    e.place};
  };
  for (Spec::Id operand : e.operands)
    if (operand >= id)
      fail("uses one that does not stand before it");
  switch (e.kind) {
  case Expression::Integer:
  case Expression::Real:
  case Expression::Variable:
    if (!e.operands.empty())
      fail("takes no operands");
    if (e.kind == Expression::Real && !std::isfinite(e.real))
      fail("is not a finite number; write inf, and nothing for a NaN");
    if (e.kind == Expression::Integer && e.integer == INT64_MIN)
      fail("is an integer beyond the range");
    break;
  case Expression::Index:
    if (e.operands.empty())
      fail("has no index");
    break;
  case Expression::Call:
    if (e.argumentNames.size() > e.operands.size())
      fail("has more names than arguments");
    for (const Spec::Name &name : e.argumentNames)
      wantName(name, "an argument of '" + e.name + "'");
    break;
  case Expression::Operation:
    if (e.op > Operator::Or)
      fail("has no operator");
    if (e.operands.size() != (e.op <= Operator::Not ? 1 : 2))
      fail("has the wrong number of operands");
    break;
  default:
    fail("is of no kind");
  }
  if (e.kind == Expression::Variable || e.kind == Expression::Index ||
      e.kind == Expression::Call)
    wantName({e.name, e.place}, "expression " + std::to_string(id) + " of '" +
                                    spec.name.text + "'");
}

static void validateStatement(const Spec &spec, const Statement &statement) {
  bool named = statement.kind == Statement::Assign ||
               statement.kind == Statement::Define ||
               statement.kind == Statement::Normalize ||
               statement.kind == Statement::Features;
  bool valued = statement.kind == Statement::Assign ||
                statement.kind == Statement::Define ||
                statement.kind == Statement::Kappa ||
                statement.kind == Statement::Mask ||
                statement.kind == Statement::Features;
  if (statement.kind > Statement::Return)
    throw SpecError{"a statement of '" + spec.name.text + "' is of no kind",
                    statement.place};
  if (named)
    wantName(statement.name, "what a statement names");
  for (const Spec::Name &name : statement.names)
    wantName(name, "a result, or an argument of a function,");
  auto wantValue = [&](Spec::Id id) {
    if (id >= spec.expressions.size())
      throw SpecError{"a statement of '" + spec.name.text + "' has no value",
                      statement.place};
  };
  if (valued)
    wantValue(statement.value);
  if (statement.kind == Statement::Features &&
      spec.expressions[statement.value].kind != Expression::Call)
    throw SpecError{"the features of '" + spec.name.text + "' are no call",
                    statement.place};
  for (const Spec::Argument &argument : statement.arguments) {
    wantName(argument.name, "a term of the normaliser");
    wantValue(argument.value);
  }
}

void attn::validateSpec(const Spec &spec) {
  wantName(spec.name, "a spec");
  for (const Spec::Name &input : spec.inputs)
    wantName(input, "an input");
  for (const Spec::Parameter &parameter : spec.parameters)
    validateParameter(parameter);
  if (spec.expressions.size() >= Spec::kNone)
    throw SpecError{"'" + spec.name.text + "' has too many expressions",
                    spec.name.place};
  for (Spec::Id id = 0; id < spec.expressions.size(); ++id)
    validateExpression(spec, id);
  for (const Statement &statement : spec.statements)
    validateStatement(spec, statement);
}
