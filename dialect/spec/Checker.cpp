//===- Checker.cpp - names and types of a specification -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Checker.h"
#include "dialect/spec/CheckFeatures.h"
#include "dialect/spec/Scope.h"
#include "dialect/spec/Words.h"

using namespace attn;
using Place = Spec::Place;
using Statement = Spec::Statement;

namespace {

constexpr const char *kRoleNames[] = {"q", "k", "v"};

class Checker {
public:
  explicit Checker(const Spec &spec) : spec(spec) {
    checked.spec = &spec;
    checked.arithmetic = std::make_unique<Arithmetic>();
  }
  CheckedSpec run();

private:
  void check(const Statement &statement, size_t number);
  void once(const Statement &statement);
  void assignRole(unsigned r, const Statement &statement, size_t number);
  void checkKappa();
  void checkMask(const Statement &statement, size_t number);
  void checkNormalize(const Statement &statement, size_t number);
  void checkReturn(const Statement &statement);
  void checkInputs() const;
  void checkNumbers() const;

  const Graph &graph() const { return checked.graph(); }
  bool uses(NodeId id, unsigned bits) const {
    return (graph()[id].uses & bits) != 0;
  }
  /// The part of the statement's expression that uses one of these.
  Place blame(const Statement &statement, unsigned bits) const {
    return scope->blame(statement.value,
                        [&](NodeId id) { return uses(id, bits); });
  }

  const Spec &spec;
  CheckedSpec checked;
  std::unique_ptr<Scope> scope;
  const Statement *kappa = nullptr;
  size_t kappaNumber = 0;
  bool given[8] = {};
};

} // namespace

CheckedSpec Checker::run() {
  scope = std::make_unique<Scope>(spec, *checked.arithmetic);
  scope->declare();
  for (size_t n = 0; n < spec.statements.size(); ++n)
    check(spec.statements[n], n + 1);
  for (unsigned r = 0; r < 3; ++r) {
    checked.roles[r].row = scope->role(r);
    if (scope->role(r) == CheckedSpec::kNone)
      throw SpecError{std::string("'") + spec.name.text + "' has no " +
                          kRoleNames[r] + ": no input is called '" +
                          kRoleNames[r] + "' and it is not assigned; write '" +
                          kRoleNames[r] + " = ...'",
                      spec.name.place};
    unsigned memory = graph()[scope->role(r)].uses / Node::DerivesFrom;
    checked.roles[r].input = memory == 1 ? 0 : memory == 2 ? 1 : 2;
  }
  if (!kappa)
    throw SpecError{"'" + spec.name.text +
                        "' has no kernel; write 'kappa = ...'",
                    spec.name.place};
  checkKappa();
  checkInputs();
  checkNumbers();
  if (checked.results.empty())
    checked.results.push_back(0);
  return std::move(checked);
}

void Checker::once(const Statement &statement) {
  static const char *const words[] = {
      "",          "",         "kappa",        "mask",
      "normalize", "features", "allow signed", "return"};
  if (given[statement.kind])
    throw SpecError{std::string("'") + words[statement.kind] +
                        "' is given twice; keep one",
                    statement.place};
  given[statement.kind] = true;
}

void Checker::check(const Statement &statement, size_t number) {
  switch (statement.kind) {
  case Statement::Assign: {
    int role = Scope::roleOf(statement.name.text);
    if (role >= 0)
      return assignRole(role, statement, number);
    return scope->defineName(statement, number);
  }
  case Statement::Define:
    return scope->defineFunction(statement, number);
  case Statement::Kappa:
    once(statement);
    kappa = &statement;
    kappaNumber = number;
    return;
  case Statement::Mask:
    once(statement);
    return checkMask(statement, number);
  case Statement::Normalize:
    once(statement);
    return checkNormalize(statement, number);
  case Statement::Features:
    once(statement);
    checked.features = checkFeatures(
        spec, statement,
        [&](Spec::Id id) { return scope->evaluate(id, number); }, graph());
    return;
  case Statement::AllowSigned:
    once(statement);
    checked.allowSigned = true;
    return;
  case Statement::Return:
    once(statement);
    return checkReturn(statement);
  }
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void Checker::assignRole(unsigned r, const Statement &statement,
                         size_t number) {
  std::string name = kRoleNames[r];
  NodeId row = scope->evaluate(statement.value, number);
  if (!graph()[row].isRow())
    throw SpecError{"'" + name + "' is a row, and this is " +
                        describe(graph()[row].type),
                    spec.expressions[statement.value].place};
  unsigned wrongSide = r == 0 ? Node::KeySide : Node::QuerySide;
  if (uses(row, wrongSide))
    throw SpecError{
        r == 0
            ? "q is of the query side and cannot depend on the key; it may use "
              "'i' and inputs that are not k or v"
            : name + " is of the key side and cannot depend on the query; it "
                     "may use 'j' and inputs that are not q",
        blame(statement, wrongSide)};
  if (r != 0 && uses(row, Node::UsesHead))
    throw SpecError{"a key has no query head; write 'kv_head', or declare the "
                    "parameter with '[kv_head]'",
                    blame(statement, Node::UsesHead)};
  unsigned memory = graph()[row].uses / Node::DerivesFrom;
  if (memory == 0)
    throw SpecError{"'" + name +
                        "' comes from no input; a role is made from one "
                        "input, as in '" +
                        name + " = x * W'",
                    spec.expressions[statement.value].place};
  if ((memory & (memory - 1)) != 0)
    throw SpecError{"'" + name +
                        "' comes from two inputs; a role is made from "
                        "one, concatenate them beforehand",
                    spec.expressions[statement.value].place};
  scope->setRole(r, row);
}

/// Every input is the memory of a role.
void Checker::checkInputs() const {
  for (unsigned n = 0; n < spec.inputs.size(); ++n) {
    bool used = false;
    for (const CheckedSpec::Role &role : checked.roles)
      used |= role.input == n;
    if (!used)
      throw SpecError{"the input '" + spec.inputs[n].text +
                          "' is not used; assign it to q, k or v, or remove it",
                      spec.inputs[n].place};
  }
}

/// Kernels are computed in f32, where 1e300 would be an infinity and 1e-300 a
/// 0. What folding made no use of does not matter; the first other is blamed.
void Checker::checkNumbers() const {
  std::vector<bool> needed(graph().size());
  needed[checked.kappa] = true;
  if (checked.mask != CheckedSpec::kNone)
    needed[checked.mask] = true;
  for (const CheckedSpec::Role &role : checked.roles)
    needed[role.row] = true;
  for (auto &[term, value] : checked.terms)
    needed[value] = true;
  const Node *wrong = nullptr;
  for (NodeId id = graph().size(); id-- > 0;) {
    if (!needed[id])
      continue;
    const Node &node = graph()[id];
    for (NodeId operand : node.operands)
      needed[operand] = true;
    if (node.op == NodeOp::RealConstant && !isHeldByF32(node.real))
      wrong = &node;
  }
  if (wrong)
    throw SpecError{std::string("this number is ") + kOutsideF32 +
                        "; write 'inf' or 0, or scale the expression",
                    wrong->place};
}

//===----------------------------------------------------------------------===//
// Kappa, mask, normaliser
//===----------------------------------------------------------------------===//

/// Checked last, since it sees the rows as last assigned.
void Checker::checkKappa() {
  NodeId value = scope->evaluate(kappa->value, kappaNumber);
  Place place = spec.expressions[kappa->value].place;
  if (graph()[value].type == ValueType::Bool)
    throw SpecError{"kappa is a real, and this is a condition; write "
                    "'where(condition, 1, 0)'",
                    place};
  if (!graph()[value].isNumber())
    throw SpecError{std::string("kappa is a real, and this is ") +
                        describe(graph()[value].type) +
                        "; pair rows with 'dot' or 'sqdist'",
                    place};
  if (uses(value, Node::UsesV))
    throw SpecError{"kappa sees q and k, not v; for the same data under both "
                    "names, write 'k = x; v = x'",
                    blame(*kappa, Node::UsesV)};
  if (uses(value, Node::AnyInput))
    throw SpecError{"kappa sees the rows q and k, not inputs; write q or k",
                    blame(*kappa, Node::AnyInput)};
  value = checked.arithmetic->toReal(value, place);
  checked.kappa = value;

  // Names that were defined before a role was assigned again hold the old row.
  std::vector<bool> stale(graph().size());
  for (NodeId id = 0; id <= value; ++id) {
    const Node &node = graph()[id];
    if (node.op == NodeOp::Dim)
      continue; // a length is known without the row
    stale[id] =
        node.op == NodeOp::Role && id != checked.roles[node.integer].row;
    if (node.op != NodeOp::Role)
      for (NodeId operand : node.operands)
        stale[id] = stale[id] || stale[operand];
  }
  if (stale[value])
    throw SpecError{
        "kappa sees the rows as last assigned, and this was made from an older "
        "one; define it after the last assignment of q and k",
        scope->blame(kappa->value, [&](NodeId id) { return stale[id]; })};
}

void Checker::checkMask(const Statement &statement, size_t number) {
  NodeId value = scope->evaluate(statement.value, number);
  Place place = spec.expressions[statement.value].place;
  if (graph()[value].type != ValueType::Bool)
    throw SpecError{std::string("a mask is a condition, and this is ") +
                        describe(graph()[value].type) +
                        "; compare it with something, as in 'j <= i'",
                    place};
  if (uses(value, Node::AnyRow))
    throw SpecError{"a mask sees positions, parameters, batch and head, never "
                    "rows; put it into kappa with 'where'",
                    blame(statement, Node::AnyRow)};
  const Node &node = graph()[value];
  if (node.op != NodeOp::BoolConstant || node.integer == 0)
    checked.mask = value;
}

void Checker::checkNormalize(const Statement &statement, size_t number) {
  const std::string &by = statement.name.text;
  if (by != "mass" && by != "none")
    throw SpecError{"unknown normaliser '" + by + "'; write 'mass' or 'none'",
                    statement.name.place};
  checked.normalizeByMass = by == "mass";
  if (by == "none" && !statement.arguments.empty())
    throw SpecError{"without a denominator there is no '" +
                        statement.arguments[0].name.text +
                        "'; write 'normalize = mass(...)'",
                    statement.arguments[0].name.place};
  static const char *const terms[] = {"delta", "floor", "sink"};
  for (const Spec::Argument &argument : statement.arguments) {
    const std::string &name = argument.name.text;
    unsigned term = 0;
    while (term < 3 && name != terms[term])
      ++term;
    if (term == 3)
      throw SpecError{"unknown term '" + name +
                          "'; the denominator takes delta, floor and sink",
                      argument.name.place};
    for (auto &[other, value] : checked.terms)
      if (other == term)
        throw SpecError{"'" + name + "' is given twice; keep one",
                        argument.name.place};
    NodeId value = scope->evaluate(argument.value, number);
    Place place = spec.expressions[argument.value].place;
    if (!graph()[value].isNumber())
      throw SpecError{"'" + name + "' is a number, and this is " +
                          describe(graph()[value].type),
                      place};
    unsigned pairs = Node::AnyRow | Node::UsesI | Node::UsesJ;
    if (uses(value, pairs))
      throw SpecError{"'" + name +
                          "' is one number a head and sequence; it may use "
                          "parameters, head and batch",
                      scope->blame(argument.value,
                                   [&](NodeId id) { return uses(id, pairs); })};
    value = checked.arithmetic->toReal(value, place);
    if (name == "floor" && graph()[value].op == NodeOp::RealConstant &&
        !(graph()[value].real >= 0))
      throw SpecError{
          "'floor' bounds the size of the denominator from below and "
          "is not negative",
          place};
    checked.terms.emplace_back(term, value);
  }
}

void Checker::checkReturn(const Statement &statement) {
  static const std::vector<std::string_view> results = {
      "o", "mass", "lse", "max", "argmax", "entropy", "weights"};
  for (const Spec::Name &name : statement.names) {
    unsigned result = 0;
    while (result < results.size() && name.text != results[result])
      ++result;
    if (result == results.size())
      throw SpecError{"unknown result '" + name.text + "'" +
                          suggestion(name.text, results) +
                          "; there are o, mass, lse, max, argmax, entropy and "
                          "weights",
                      name.place};
    for (unsigned other : checked.results)
      if (other == result)
        throw SpecError{"'" + name.text + "' is returned twice; keep one",
                        name.place};
    checked.results.push_back(result);
  }
}

CheckedSpec attn::checkSpec(const Spec &spec) { return Checker(spec).run(); }
