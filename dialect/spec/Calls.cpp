//===- Calls.cpp - built-in and user functions ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Scope.h"
#include "dialect/spec/Words.h"

using namespace attn;
using Expression = Spec::Expression;
using Operator = Spec::Operator;
using Place = Spec::Place;

namespace {

/// Functions may call functions this deep.
constexpr unsigned kMaxCalls = 100;

struct Builtin {
  std::string_view name;
  size_t least, most; ///< arguments
  const char *example;
};
constexpr Builtin kBuiltins[] = {
    {"dot", 2, 2, "dot(q, k)"},
    {"sqdist", 2, 2, "sqdist(q, k)"},
    {"unit", 1, 1, "unit(x)"},
    {"rope", 2, 4, "rope(x, i, base = 10000, interleaved = 0)"},
    {"concat", 1, 64, "concat(a, b)"},
    {"outer", 2, 2, "outer(a, b)"},
    {"power", 2, 2, "power(x, 2)"},
    {"dim", 1, 1, "dim(x)"},
    {"where", 3, 3, "where(condition, a, b)"},
    {"min", 2, 64, "min(a, b)"},
    {"max", 2, 64, "max(a, b)"},
    {"window", 2, 2, "window(left, right)"},
    {"prefix", 1, 1, "prefix(n)"},
    {"document", 1, 1, "document(ids)"},
};
constexpr Builtin kScalar = {"", 1, 1, nullptr};

const Builtin &builtin(std::string_view name) {
  for (const Builtin &entry : kBuiltins)
    if (entry.name == name)
      return entry;
  return kScalar;
}

} // namespace

NodeId Scope::call(const Expression &e, const Values &values,
                   const Locals *locals) {
  const std::string &name = e.name;
  std::vector<NodeId> arguments;
  for (Spec::Id operand : e.operands)
    if (auto it = values.find(operand); it != values.end())
      arguments.push_back(it->second);

  if (locals && locals->count(name))
    throw SpecError{"'" + name +
                        "' is an argument, not a function; to multiply, "
                        "write '" +
                        name + " * (...)'",
                    e.place};
  if (isBuiltinFunction(name) || name == "dim")
    return callBuiltin(e, arguments);
  if (const char *meaning = reservedMeaning(name))
    throw SpecError{"'" + name + "' is " + meaning +
                        " and takes no arguments; write '" + name + "'",
                    e.place};
  const Entry *entry = find(name);
  if (!entry && roleOf(name) < 0)
    failUnknown(name, e.place, /*called=*/true);
  if (!entry || entry->kind != Entry::Function)
    throw SpecError{"'" + name + "' is not a function; to multiply, write '" +
                        name + " * (...)', to index, '" + name + "[...]'",
                    e.place};
  return callFunction(e, *entry, std::move(arguments));
}

NodeId Scope::callFunction(const Expression &e, const Entry &entry,
                           std::vector<NodeId> arguments) {
  const Spec::Statement &definition = spec.statements[entry.index];
  if (!e.argumentNames.empty())
    throw SpecError{"the arguments of '" + e.name +
                        "' have no names; write them "
                        "in order",
                    e.argumentNames[0].place};
  if (arguments.size() != definition.names.size())
    throw SpecError{"'" + e.name + "' takes " +
                        std::to_string(definition.names.size()) +
                        " arguments, not " + std::to_string(arguments.size()),
                    e.place};
  auto key = std::pair(&entry, arguments);
  if (auto it = results.find(key); it != results.end())
    return it->second;
  if (calls == kMaxCalls)
    throw SpecError{"more than " + std::to_string(kMaxCalls) +
                        " functions inside each other; write it with fewer",
                    e.place};

  Locals locals;
  for (size_t t = 0; t < arguments.size(); ++t)
    locals.emplace(definition.names[t].text, arguments[t]);
  size_t statement = current;
  current = entry.statement; // the body sees what stood above it
  ++calls;
  Values values;
  NodeId result = evaluateIn(definition.value, values, &locals);
  --calls;
  current = statement;
  results.emplace(std::move(key), result);
  return result;
}

NodeId Scope::callBuiltin(const Expression &e, const std::vector<NodeId> &x) {
  const std::string &name = e.name;
  const Builtin &function = builtin(name);
  std::string example = function.example ? function.example : name + "(x)";
  if (!e.argumentNames.empty() && name != "rope")
    throw SpecError{"'" + name + "' has no argument called '" +
                        e.argumentNames[0].text + "'; write '" + example + "'",
                    e.argumentNames[0].place};
  if (e.operands.size() < function.least || e.operands.size() > function.most)
    throw SpecError{"'" + name + "' does not take " +
                        std::to_string(e.operands.size()) +
                        " arguments; write '" + example + "'",
                    e.place};

  if (name == "dot")
    return arithmetic.dot(x[0], x[1], e.place);
  if (name == "sqdist")
    return arithmetic.sqdist(x[0], x[1], e.place);
  if (name == "unit")
    return arithmetic.unit(x[0], e.place);
  if (name == "concat")
    return arithmetic.concat(x, e.place);
  if (name == "outer")
    return arithmetic.outer(x[0], x[1], e.place);
  if (name == "power")
    return arithmetic.power(x[0], x[1], e.place);
  if (name == "dim")
    return arithmetic.dim(x[0], e.place);
  if (name == "rope")
    return callRope(e, x);
  if (name == "document")
    return documentMask(e);
  if (name == "prefix" || name == "window") {
    for (NodeId argument : x)
      if (graph[argument].type != ValueType::Int)
        throw SpecError{"'" + name + "' takes ints, not " +
                            describe(graph[argument].type) +
                            "; declare the parameter as in 'w: int >= 0'",
                        e.place};
    NodeId j = arithmetic.index(1, e.place);
    if (name == "prefix")
      return arithmetic.binary(Operator::Less, j, x[0], e.place);
    NodeId i = arithmetic.index(0, e.place);
    NodeId first = arithmetic.binary(Operator::Subtract, i, x[0], e.place);
    NodeId last = arithmetic.binary(Operator::Add, i, x[1], e.place);
    return arithmetic.binary(
        Operator::And,
        arithmetic.binary(Operator::LessEqual, first, j, e.place),
        arithmetic.binary(Operator::LessEqual, j, last, e.place), e.place);
  }
  return arithmetic.function(name, x, e.place);
}

NodeId Scope::callRope(const Expression &e, const std::vector<NodeId> &x) {
  size_t positional = x.size() - e.argumentNames.size();
  if (positional < 2)
    throw SpecError{"'rope' needs a row and a position; write 'rope(x, i)'",
                    e.place};
  NodeId base = CheckedSpec::kNone, interleaved = CheckedSpec::kNone;
  for (size_t t = 2; t < x.size(); ++t) {
    std::string name = t == 2 ? "base" : "interleaved";
    Place place = e.place;
    if (t >= positional) {
      name = e.argumentNames[t - positional].text;
      place = e.argumentNames[t - positional].place;
    }
    if (name != "base" && name != "interleaved")
      throw SpecError{
          "'rope' has no argument called '" + name +
              "'; write 'rope(x, i, base = 10000, interleaved = 0)'",
          place};
    NodeId &slot = name == "base" ? base : interleaved;
    if (slot != CheckedSpec::kNone)
      throw SpecError{"'" + name + "' is given twice", place};
    slot = x[t];
  }
  double baseValue = 10000;
  if (base != CheckedSpec::kNone) {
    const Node &node = graph[base];
    baseValue =
        node.op == NodeOp::RealConstant ? node.real : double(node.integer);
    if (!node.isConstant() || !node.isNumber() || !(baseValue > 0) ||
        baseValue > 1e30)
      throw SpecError{"the base of 'rope' is a positive constant, as in "
                      "'base = 10000'",
                      e.place};
  }
  bool pairs = false;
  if (interleaved != CheckedSpec::kNone) {
    const Node &node = graph[interleaved];
    if (node.op != NodeOp::IntConstant ||
        (node.integer != 0 && node.integer != 1))
      throw SpecError{"'interleaved' is 0 or 1", e.place};
    pairs = node.integer == 1;
  }
  return arithmetic.rope(x[0], x[1], baseValue, pairs, e.place);
}

/// ids[i] == ids[j]
NodeId Scope::documentMask(const Expression &e) {
  const Expression &ids = spec.expressions[e.operands[0]];
  const Entry *entry =
      ids.kind == Expression::Variable ? find(ids.name) : nullptr;
  if (ids.kind == Expression::Variable && !entry &&
      !reservedMeaning(ids.name) && roleOf(ids.name) < 0)
    failUnknown(ids.name, ids.place, /*called=*/false);
  if (!entry || entry->kind != Entry::Parameter)
    throw SpecError{"'document' takes the name of a parameter with one axis of "
                    "positions, declared as in 'ids[batch, nk]: int'",
                    ids.place};
  NodeId i = arithmetic.index(0, e.place), j = arithmetic.index(1, e.place);
  NodeId ofQuery = readParameter(entry->index, {i}, ids.place);
  NodeId ofKey = readParameter(entry->index, {j}, ids.place);
  if (!graph[ofQuery].isNumber())
    throw SpecError{"'document' takes a parameter with one axis of positions, "
                    "declared as in 'ids[batch, nk]: int'",
                    ids.place};
  return arithmetic.binary(Operator::Equal, ofQuery, ofKey, e.place);
}
