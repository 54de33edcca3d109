//===- WriteSpec.cpp - the text of a tree ---------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/WriteSpec.h"
#include "dialect/spec/ParserState.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace attn;
using Expression = Spec::Expression;
using Operator = Spec::Operator;
using Statement = Spec::Statement;

/// Expressions longer or deeper than this are not written.
static constexpr size_t kMaxText = size_t(1) << 16;
static constexpr unsigned kMaxWrittenDepth = kMaxNesting / 2;

namespace {
/// Binding strengths, the looser the smaller; those of binary operators are
/// the parser's.
constexpr int kNot = kAnd + 1, kUnary = kProduct + 1, kPower = kUnary + 1,
              kAtom = kPower + 1;

struct Spelling {
  const char *text;
  int level;
};
/// By Operator's number.
constexpr Spelling kSpellings[] = {
    {"-", kUnary},         {"+", kUnary},         {"not ", kNot},
    {" + ", kSum},         {" - ", kSum},         {" * ", kProduct},
    {" / ", kProduct},     {" // ", kProduct},    {" % ", kProduct},
    {"^", kPower},         {" < ", kComparison},  {" <= ", kComparison},
    {" > ", kComparison},  {" >= ", kComparison}, {" == ", kComparison},
    {" != ", kComparison}, {" and ", kAnd},       {" or ", kOr}};

const Spelling &spell(Operator op) {
  return kSpellings[static_cast<unsigned>(op)];
}

/// The shortest text that reads back as a real of the language: it keeps a
/// point or an exponent.
std::string realText(double value) {
  char text[40];
  for (int digits : {6, 9, 15, 16, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  std::string result = text;
  if (result.find_first_of(".e") == std::string::npos)
    result += ".0";
  return result;
}

class Writer {
public:
  explicit Writer(Spec &spec) : spec(spec) {}
  std::string run();

private:
  bool isShort() const;
  int levelOf(const Expression &e) const;
  void put(std::string_view more) { text += more; }
  void put(Spec::Name &name) {
    name.place = here();
    put(name.text);
    name.place.length = name.text.size();
  }
  void put(Spec::Edge &edge);
  void put(Spec::Parameter &parameter);
  void put(Spec::Id id, int level);
  void put(Statement &statement);
  void putArguments(Expression &e);
  void endLine() {
    text += '\n';
    lineBegin = text.size();
    ++line;
  }
  Spec::Place here() const {
    return {line, static_cast<uint32_t>(text.size() - lineBegin + 1), 1};
  }
  void finish(Spec::Place &place) const {
    place.length = text.size() - lineBegin + 1 - place.column;
  }

  Spec &spec;
  std::string text;
  size_t lineBegin = 0;
  uint32_t line = 1;
};
} // namespace

/// Sums along the array, where operands stand first: no recursion yet.
bool Writer::isShort() const {
  std::vector<size_t> length, depth;
  for (const Expression &e : spec.expressions) {
    size_t characters = e.name.size() + 28, levels = 1;
    for (const Spec::Name &name : e.argumentNames)
      characters += name.text.size() + 3;
    for (Spec::Id operand : e.operands) {
      characters += length[operand];
      levels = std::max(levels, depth[operand] + 1);
    }
    if (characters > kMaxText || levels > kMaxWrittenDepth)
      return false;
    length.push_back(characters);
    depth.push_back(levels);
  }
  return true;
}

int Writer::levelOf(const Expression &e) const {
  if (e.kind == Expression::Operation)
    return spell(e.op).level;
  if (e.kind == Expression::Integer)
    return e.integer < 0 ? kUnary : kAtom;
  return e.kind == Expression::Real && std::signbit(e.real) ? kUnary : kAtom;
}

void Writer::putArguments(Expression &e) {
  put(e.kind == Expression::Call ? "(" : "[");
  size_t positional = e.operands.size() - e.argumentNames.size();
  for (size_t t = 0; t < e.operands.size(); ++t) {
    if (t != 0)
      put(", ");
    if (t >= positional) {
      put(e.argumentNames[t - positional]);
      put(" = ");
    }
    put(e.operands[t], kOr);
  }
  put(e.kind == Expression::Call ? ")" : "]");
}

/// Writes an expression where at least `level` is wanted; the recursion is as
/// deep as isShort allows.
void Writer::put(Spec::Id id, int level) {
  Expression &e = spec.expressions[id];
  int own = levelOf(e);
  if (own < level)
    put("(");
  Spec::Place place = here();
  switch (e.kind) {
  case Expression::Integer:
    put(std::to_string(e.integer));
    break;
  case Expression::Real:
    put(realText(e.real));
    break;
  case Expression::Variable:
    put(e.name);
    break;
  case Expression::Call:
  case Expression::Index:
    put(e.name);
    putArguments(e);
    break;
  case Expression::Operation:
    if (e.operands.size() == 1) {
      put(spell(e.op).text);
      put(e.operands[0], own);
    } else if (e.op == Operator::Power) {
      put(e.operands[0], kAtom);
      put(spell(e.op).text);
      put(e.operands[1], kUnary);
    } else {
      // Comparisons do not chain; the others associate to the left.
      put(e.operands[0], own + (own == kComparison));
      put(spell(e.op).text);
      put(e.operands[1], own + 1);
    }
    break;
  }
  finish(place);
  e.place = place;
  if (own < level)
    put(")");
}

void Writer::put(Spec::Edge &edge) {
  if (edge.variable.text.empty())
    return put(std::to_string(edge.number));
  put(edge.negated ? "-" : "");
  put(edge.variable);
}

void Writer::put(Spec::Parameter &parameter) {
  put(parameter.name);
  for (size_t t = 0; t < parameter.axes.size(); ++t) {
    Spec::Axis &axis = parameter.axes[t];
    put(t == 0 ? "[" : ", ");
    axis.place = here();
    if (axis.name.text.empty()) {
      put(axis.low);
      put(":");
      put(axis.high);
    } else {
      put(axis.name);
    }
    finish(axis.place);
  }
  put(parameter.axes.empty() ? "" : "]");
  put(parameter.integer ? ": int" : "");
  if (!parameter.relop)
    return;
  put(spell(*parameter.relop).text);
  parameter.boundPlace = here();
  std::string bound = realText(parameter.bound);
  if (bound.size() > 2 && bound.substr(bound.size() - 2) == ".0")
    bound.resize(bound.size() - 2);
  put(bound);
  finish(parameter.boundPlace);
}

void Writer::put(Statement &statement) {
  put("  ");
  statement.place = here();
  auto list = [&](std::vector<Spec::Name> &names) {
    for (size_t t = 0; t < names.size(); ++t) {
      put(t == 0 ? "" : ", ");
      put(names[t]);
    }
  };
  switch (statement.kind) {
  case Statement::Assign:
  case Statement::Define:
    put(statement.name);
    if (statement.kind == Statement::Define) {
      put("(");
      list(statement.names);
      put(")");
    }
    put(" = ");
    put(statement.value, kOr);
    break;
  case Statement::Kappa:
  case Statement::Mask:
    put(statement.kind == Statement::Kappa ? "kappa = " : "mask = ");
    put(statement.value, kOr);
    break;
  case Statement::Normalize:
    put("normalize = ");
    put(statement.name);
    for (size_t t = 0; t < statement.arguments.size(); ++t) {
      put(t == 0 ? "(" : ", ");
      put(statement.arguments[t].name);
      put(" = ");
      put(statement.arguments[t].value, kOr);
    }
    put(statement.arguments.empty() ? "" : ")");
    break;
  case Statement::Features:
    put("features = ");
    statement.name.place = here();
    put(statement.value, kOr);
    break;
  case Statement::AllowSigned:
    put("allow signed");
    break;
  case Statement::Return:
    put("return ");
    list(statement.names);
    break;
  }
  endLine();
}

std::string Writer::run() {
  if (!isShort())
    return {};
  put("attention ");
  put(spec.name);
  put("(");
  for (size_t t = 0; t < spec.inputs.size(); ++t) {
    put(t == 0 ? "" : ", ");
    put(spec.inputs[t]);
  }
  for (size_t t = 0; t < spec.parameters.size(); ++t) {
    put(t == 0 ? "; " : ", ");
    put(spec.parameters[t]);
  }
  put(") {");
  endLine();
  for (Statement &statement : spec.statements) {
    put(statement);
    if (text.size() > 16 * kMaxText)
      return {};
  }
  put("}");
  endLine();
  return std::move(text);
}

std::string attn::writeSpec(Spec &spec) {
  std::string text = Writer(spec).run();
  if (!text.empty())
    return text;
  // No text: no place.
  auto clear = [](Spec::Name &name) { name.place = {}; };
  auto clearAll = [&](std::vector<Spec::Name> &names) {
    std::for_each(names.begin(), names.end(), clear);
  };
  clear(spec.name);
  clearAll(spec.inputs);
  for (Spec::Parameter &parameter : spec.parameters) {
    clear(parameter.name);
    parameter.boundPlace = {};
    for (Spec::Axis &axis : parameter.axes) {
      axis.place = {};
      for (Spec::Name *name :
           {&axis.name, &axis.low.variable, &axis.high.variable})
        clear(*name);
    }
  }
  for (Expression &e : spec.expressions) {
    e.place = {};
    clearAll(e.argumentNames);
  }
  for (Statement &statement : spec.statements) {
    statement.place = {};
    clear(statement.name);
    clearAll(statement.names);
    for (Spec::Argument &argument : statement.arguments)
      clear(argument.name);
  }
  return text;
}
