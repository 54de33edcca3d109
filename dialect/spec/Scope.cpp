//===- Scope.cpp - what names stand for -----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Scope.h"
#include "dialect/spec/Words.h"

using namespace attn;
using Expression = Spec::Expression;
using Place = Spec::Place;

/// Bounds the work that functions of functions can ask for.
static constexpr size_t kMaxSteps = 500000;

Scope::Scope(const Spec &spec, Arithmetic &arithmetic)
    : spec(spec), arithmetic(arithmetic), graph(arithmetic.graph) {}

int Scope::roleOf(std::string_view name) {
  return name == "q" ? 0 : name == "k" ? 1 : name == "v" ? 2 : -1;
}

//===----------------------------------------------------------------------===//
// Entering names
//===----------------------------------------------------------------------===//

void Scope::enter(const Spec::Name &name, Entry entry, const char *what) {
  const std::string &text = name.text;
  if (const char *meaning = reservedMeaning(text))
    throw SpecError{"'" + text + "' is reserved, it is " + meaning +
                        "; choose another name for the " + what,
                    name.place};
  if (entry.kind != Entry::Input && roleOf(text) >= 0)
    throw SpecError{"'" + text +
                        "' is the row of a role; choose another name "
                        "for the " +
                        what,
                    name.place};
  if ((entry.kind == Entry::Input || entry.kind == Entry::Parameter) &&
      (text == "key_lengths" || text == "query_lengths" || text == "offset"))
    throw SpecError{"'" + text +
                        "' is an argument that every attention has; "
                        "choose another name for the " +
                        what,
                    name.place};
  if (!entries.emplace(text, entry).second)
    throw SpecError{"'" + text +
                        "' is defined twice; choose another name for "
                        "the " +
                        what,
                    name.place};
}

void Scope::declare() {
  for (size_t n = 0; n < spec.inputs.size(); ++n) {
    if (n == 3)
      throw SpecError{"an attention has at most three inputs; parameters stand "
                      "after a ';'",
                      spec.inputs[n].place};
    Entry entry{Entry::Input};
    entry.index = n;
    enter(spec.inputs[n], entry, "input");
    Node input;
    input.op = NodeOp::Input;
    input.type = ValueType::Row;
    input.integer = n;
    input.uses = (Node::UsesInput | Node::DerivesFrom) << n;
    input.place = spec.inputs[n].place;
    NodeId id = graph.add(std::move(input));
    if (int role = roleOf(spec.inputs[n].text); role >= 0)
      setRole(role, id);
  }
  for (size_t n = 0; n < spec.parameters.size(); ++n)
    declareParameter(n);
  declareSizes();
}

void Scope::setRole(unsigned r, NodeId row) {
  results.clear(); // of functions that saw the old row
  const Node &value = graph[row];
  if (value.op == NodeOp::Role && value.integer == r) { // an older one, again
    roles[r] = row;
    return;
  }
  Node role;
  role.op = NodeOp::Role;
  role.type = ValueType::Row;
  role.integer = r;
  role.axis = assignments[r]++;
  role.uses = Node::UsesQ << r;
  role.operands = {row};
  role.place = value.place;
  roles[r] = graph.add(std::move(role));
}

void Scope::defineName(const Spec::Statement &statement, size_t number) {
  Entry entry{Entry::Value};
  entry.value = evaluate(statement.value, number);
  entry.statement = number;
  enter(statement.name, entry, "value");
}

void Scope::defineFunction(const Spec::Statement &statement, size_t number) {
  current = number;
  for (size_t n = 0; n < statement.names.size(); ++n) {
    const Spec::Name &name = statement.names[n];
    if (const char *meaning = reservedMeaning(name.text))
      throw SpecError{"'" + name.text + "' is reserved, it is " + meaning +
                          "; choose another name for the argument",
                      name.place};
    for (size_t m = 0; m < n; ++m)
      if (statement.names[m].text == name.text)
        throw SpecError{"two arguments are called '" + name.text +
                            "'; choose another name",
                        name.place};
    if (n == 64)
      throw SpecError{"a function has at most 64 arguments", name.place};
  }
  checkNames(statement.value, statement.names);
  Entry entry{Entry::Function};
  entry.index = &statement - spec.statements.data();
  entry.statement = number;
  enter(statement.name, entry, "function");
}

/// A function that is never called has no types, but its names must exist.
void Scope::checkNames(Spec::Id root, const std::vector<Spec::Name> &locals) {
  std::vector<Spec::Id> pending = {root};
  std::unordered_map<Spec::Id, bool> seen;
  while (!pending.empty()) {
    Spec::Id id = pending.back();
    pending.pop_back();
    if (!seen.emplace(id, true).second)
      continue;
    const Expression &e = spec.expressions[id];
    pending.insert(pending.end(), e.operands.rbegin(), e.operands.rend());
    if (e.kind != Expression::Variable && e.kind != Expression::Call &&
        e.kind != Expression::Index)
      continue;
    bool known = reservedMeaning(e.name) || roleOf(e.name) >= 0 || find(e.name);
    for (const Spec::Name &local : locals)
      known |= local.text == e.name;
    if (!known)
      failUnknown(e.name, e.place, e.kind == Expression::Call);
  }
}

//===----------------------------------------------------------------------===//
// Looking names up
//===----------------------------------------------------------------------===//

const Scope::Entry *Scope::find(std::string_view name) const {
  auto it = entries.find(name);
  if (it == entries.end() ||
      (it->second.statement != 0 && it->second.statement >= current))
    return nullptr;
  return &it->second;
}

void Scope::failUnknown(const std::string &name, Place place,
                        bool called) const {
  std::string what = called ? "function '" : "name '";
  for (const Spec::Statement &statement : spec.statements)
    if ((statement.kind == Spec::Statement::Assign ||
         statement.kind == Spec::Statement::Define) &&
        statement.name.text == name)
      throw SpecError{"'" + name +
                          "' is defined further down, or by itself; "
                          "define it before it is used",
                      place};
  std::vector<std::string_view> candidates = valueWords();
  for (auto &[known, entry] : entries)
    candidates.push_back(known);
  throw SpecError{"unknown " + what + name + "'" + suggestion(name, candidates),
                  place};
}

NodeId Scope::variable(const Expression &e, const Locals *locals) {
  if (locals)
    if (auto it = locals->find(e.name); it != locals->end())
      return it->second;
  if (reservedMeaning(e.name))
    return reserved(e);
  if (int role = roleOf(e.name); role >= 0) {
    if (roles[role] == CheckedSpec::kNone)
      throw SpecError{"'" + e.name +
                          "' is not known here: no input has this "
                          "name and it is not assigned above; write "
                          "'" +
                          e.name + " = ...' first",
                      e.place};
    return roles[role];
  }
  const Entry *entry = find(e.name);
  if (!entry)
    failUnknown(e.name, e.place, /*called=*/false);
  switch (entry->kind) {
  case Entry::Input:
    return graph.add([&] {
      Node input;
      input.op = NodeOp::Input;
      input.type = ValueType::Row;
      input.integer = entry->index;
      return input;
    }());
  case Entry::Parameter:
    return wholeParameter(entry->index, e.place);
  case Entry::Function:
    throw SpecError{
        "'" + e.name + "' is a function; write '" + e.name + "(...)'", e.place};
  default:
    return entry->value;
  }
}

NodeId Scope::reserved(const Expression &e) {
  const std::string &name = e.name;
  static const char *const indices[] = {"i",     "j",  "head", "kv_head",
                                        "batch", "nq", "nk"};
  for (unsigned position = 0; position < 7; ++position)
    if (name == indices[position])
      return arithmetic.index(position, e.place);
  if (name == "dim") {
    if (roles[0] == CheckedSpec::kNone)
      throw SpecError{
          "'dim' is the length of q, which is not known here; write "
          "'dim(x)' for the length of another row",
          e.place};
    return arithmetic.dim(roles[0], e.place);
  }
  if (name == "pi")
    return graph.real(3.14159265358979323846, e.place);
  if (name == "inf")
    return graph.real(__builtin_inf(), e.place);
  if (name == "none")
    return graph.boolean(true, e.place);
  if (name == "causal" || name == "strict_causal") {
    NodeId i = arithmetic.index(0, e.place), j = arithmetic.index(1, e.place);
    return arithmetic.binary(name == "causal" ? Spec::Operator::LessEqual
                                              : Spec::Operator::Less,
                             j, i, e.place);
  }
  if (isBuiltinFunction(name))
    throw SpecError{"'" + name + "' is a function; write '" + name + "(...)'",
                    e.place};
  throw SpecError{"'" + name + "' is reserved, it is " + reservedMeaning(name) +
                      ", and has no value",
                  e.place};
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

NodeId Scope::evaluate(Spec::Id expression, size_t statement) {
  current = statement;
  top.clear();
  return evaluateIn(expression, top, nullptr);
}

/// A walk with its own stack: a sum may have a hundred thousand terms.
NodeId Scope::evaluateIn(Spec::Id root, Values &values, const Locals *locals) {
  std::vector<Spec::Id> pending = {root};
  while (!pending.empty()) {
    Spec::Id id = pending.back();
    const Expression &e = spec.expressions[id];
    if (values.count(id)) {
      pending.pop_back();
      continue;
    }
    size_t before = pending.size();
    // The argument of `document` is the name of an array, not a value.
    if (e.kind != Expression::Call || e.name != "document")
      for (auto it = e.operands.rbegin(); it != e.operands.rend(); ++it)
        if (!values.count(*it))
          pending.push_back(*it);
    if (pending.size() != before)
      continue;
    if (locals && ++steps > kMaxSteps)
      throw SpecError{"the functions of this spec expand to more than " +
                          std::to_string(kMaxSteps) +
                          " operations; write it with fewer",
                      e.place};
    values[id] = evaluateNode(e, values, locals);
    pending.pop_back();
  }
  return values[root];
}

NodeId Scope::evaluateNode(const Expression &e, const Values &values,
                           const Locals *locals) {
  auto operand = [&](size_t t) { return values.at(e.operands[t]); };
  switch (e.kind) {
  case Expression::Integer:
    return graph.integer(e.integer, e.place);
  case Expression::Real:
    return graph.real(e.real, e.place);
  case Expression::Variable:
    return variable(e, locals);
  case Expression::Call:
    return call(e, values, locals);
  case Expression::Index: {
    const Entry *entry =
        locals && locals->count(e.name) ? nullptr : find(e.name);
    if (!entry && !reservedMeaning(e.name) && roleOf(e.name) < 0 &&
        !(locals && locals->count(e.name)))
      failUnknown(e.name, e.place, /*called=*/false);
    if (!entry || entry->kind != Entry::Parameter)
      throw SpecError{"'" + e.name +
                          "' has no indices; only parameters with "
                          "axes do, as in 'bias[i - j]'",
                      e.place};
    std::vector<NodeId> indices;
    for (size_t t = 0; t < e.operands.size(); ++t)
      indices.push_back(operand(t));
    return readParameter(entry->index, indices, e.place);
  }
  case Expression::Operation:
    return e.operands.size() == 1
               ? arithmetic.unary(e.op, operand(0), e.place)
               : arithmetic.binary(e.op, operand(0), operand(1), e.place);
  }
  return CheckedSpec::kNone;
}

Place Scope::blame(Spec::Id root,
                   const std::function<bool(NodeId)> &holds) const {
  auto at = [&](Spec::Id id) {
    auto it = top.find(id);
    return it != top.end() && holds(it->second);
  };
  while (true) {
    const Expression &e = spec.expressions[root];
    Spec::Id inner = Spec::kNone;
    for (Spec::Id operand : e.operands)
      if (inner == Spec::kNone && at(operand))
        inner = operand;
    if (inner == Spec::kNone)
      return e.place;
    root = inner;
  }
}
