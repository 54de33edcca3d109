//===- Builder.cpp - kernels as C++ expressions ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Builder.h"
#include "dialect/spec/WriteSpec.h"
#include "runtime/FeatureArguments.h"

#include <cmath>
#include <unordered_map>

using namespace attn;
using detail::Kind;
using detail::Term;
using detail::TermRef;
using Operator = Spec::Operator;
using Statement = Spec::Statement;

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// An expression of the tree, but for its operands, and where its name comes
/// from.
struct detail::Term {
  explicit Term(Spec::Expression expression, std::vector<TermRef> operands = {})
      : expression(std::move(expression)), operands(std::move(operands)) {}
  Term(const Term &) = delete;
  ~Term();

  Spec::Expression expression;
  std::vector<TermRef> operands;
  /// The attention that a name belongs to; null: any.
  std::shared_ptr<const char> owner;
  /// Roles: which, and after how many assignments.
  int role = -1;
  unsigned version = 0;
  /// Parameters: as declared, and how many explicit axes there are still.
  bool isParameter = false, isIntegers = false;
  size_t axes = 0;
};

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

static Spec::Expression variable(const std::string &name) {
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

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Real attn::dot(const Row &a, const Row &b) {
  return Real(detail::callTerm("dot", {a.term(), b.term()}));
}

Real attn::sqdist(const Row &a, const Row &b) {
  return Real(detail::callTerm("sqdist", {a.term(), b.term()}));
}

Row attn::unit(const Row &x) {
  return Row(detail::callTerm("unit", {x.term()}));
}

Row attn::rope(const Row &x, const Real &position, double base,
               bool interleaved) {
  std::vector<TermRef> operands = {x.term(), position.term()};
  if (base != 10000 || interleaved)
    operands.push_back(base == std::floor(base) && std::fabs(base) < 1e15
                           ? detail::integerTerm(static_cast<int64_t>(base))
                           : detail::realTerm(base));
  if (interleaved)
    operands.push_back(detail::integerTerm(1));
  return Row(detail::callTerm("rope", std::move(operands)));
}

Row attn::outer(const Row &a, const Row &b) {
  return Row(detail::callTerm("outer", {a.term(), b.term()}));
}

Row attn::power(const Row &x, int degree) {
  return Row(
      detail::callTerm("power", {x.term(), detail::integerTerm(degree)}));
}

Int Dim::operator()(const Row &x) const {
  return Int(detail::callTerm("dim", {x.term()}));
}

Bool attn::window(const Int &left, const Int &right) {
  return Bool(detail::callTerm("window", {left.term(), right.term()}));
}

Bool attn::prefix(const Int &n) {
  return Bool(detail::callTerm("prefix", {n.term()}));
}

Bool attn::document(const Param &ids) {
  return Bool(detail::callTerm("document", {ids.term()}));
}

Declaration Declaration::bounded(Operator relop, double bound) const {
  if (parameter.relop)
    throw Error("the parameter '" + parameter.name.text +
                "' has a bound already; a declaration has one");
  Declaration result = *this;
  result.parameter.relop = relop;
  result.parameter.bound = bound;
  return result;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static const char *const kRoles[] = {"q", "k", "v"};

struct Attention::State {
  Spec spec;
  std::shared_ptr<const char> token = std::make_shared<const char>();
  bool known[3] = {};
  unsigned versions[3] = {};
  bool hasKappa = false;
  /// Terms that are in the tree. Kept, so that an address means one term.
  std::unordered_map<const Term *, Spec::Id> ids;
  std::vector<TermRef> kept;

  Statement &add(Statement::Kind kind) {
    spec.statements.emplace_back();
    spec.statements.back().kind = kind;
    return spec.statements.back();
  }
};

Attention::Attention(const std::string &name,
                     const std::vector<std::string> &inputs)
    : q(*this, Slot::Q), k(*this, Slot::K), v(*this, Slot::V),
      kappa(*this, Slot::Kappa), mask(*this, Slot::Mask),
      state(std::make_unique<State>()) {
  state->spec.name.text = name;
  for (const std::string &input : inputs) {
    state->spec.inputs.push_back({input, {}});
    for (unsigned r = 0; r < 3; ++r)
      state->known[r] |= input == kRoles[r];
  }
}

Attention::~Attention() = default;

const Spec &Attention::spec() const { return state->spec; }

Row Attention::input(const std::string &name) const {
  for (const Spec::Name &input : state->spec.inputs)
    if (input.text == name) {
      auto term = std::make_shared<Term>(variable(name));
      term->owner = state->token;
      for (int r = 0; r < 3; ++r)
        if (name == kRoles[r]) {
          term->role = r;
          term->version = state->versions[r];
        }
      return Row(term);
    }
  throw Error("'" + state->spec.name.text + "' has no input '" + name + "'");
}

Param Attention::parameter(const Declaration &declaration) {
  const Spec::Parameter &parameter = declaration.parameter;
  state->spec.parameters.push_back(parameter);
  auto term = std::make_shared<Term>(variable(parameter.name.text));
  term->owner = state->token;
  term->isParameter = true;
  term->isIntegers = parameter.integer;
  for (const Spec::Axis &axis : parameter.axes)
    term->axes += axis.name.text != "head" && axis.name.text != "kv_head" &&
                  axis.name.text != "batch";
  return Param(term);
}

TermRef Attention::read(Slot slot) const {
  unsigned r = static_cast<unsigned>(slot);
  if (!state->known[r])
    throw Error(std::string("'") + kRoles[r] + "' is not known yet in '" +
                state->spec.name.text +
                "': no input is called so, and it is not assigned");
  auto term = std::make_shared<Term>(variable(kRoles[r]));
  term->owner = state->token;
  term->role = static_cast<int>(r);
  term->version = state->versions[r];
  return term;
}

/// The expression in the tree. Operands first, with a stack of its own.
Spec::Id Attention::flatten(const TermRef &root) {
  std::vector<TermRef> pending = {root};
  while (!pending.empty()) {
    TermRef term = pending.back();
    if (state->ids.count(term.get())) {
      pending.pop_back();
      continue;
    }
    size_t before = pending.size();
    for (auto it = term->operands.rbegin(); it != term->operands.rend(); ++it)
      if (!state->ids.count(it->get()))
        pending.push_back(*it);
    if (pending.size() != before)
      continue;
    const std::string &name = term->expression.name;
    if (term->owner && term->owner != state->token)
      throw Error("'" + name + "' belongs to another attention than '" +
                  state->spec.name.text + "'");
    if (term->role >= 0 && term->version != state->versions[term->role])
      throw Error("this uses a '" + name +
                  "' from before its last assignment in '" +
                  state->spec.name.text +
                  "'; take the role again, or name what was made of the "
                  "older one with 'let' before the assignment");
    Spec::Expression expression = term->expression;
    for (const TermRef &operand : term->operands)
      expression.operands.push_back(state->ids.at(operand.get()));
    state->ids.emplace(term.get(), state->spec.add(std::move(expression)));
    state->kept.push_back(term);
    pending.pop_back();
  }
  return state->ids.at(root.get());
}

void Attention::assign(Slot slot, const TermRef &value) {
  bool isRole = slot <= Slot::V;
  if (isRole && state->hasKappa)
    throw Error(std::string("'") + kRoles[static_cast<unsigned>(slot)] +
                "' is assigned after kappa in '" + state->spec.name.text +
                "'; kappa sees the rows as last assigned, so give it last");
  Spec::Id id = flatten(value);
  Statement &statement = state->add(isRole                ? Statement::Assign
                                    : slot == Slot::Kappa ? Statement::Kappa
                                                          : Statement::Mask);
  statement.value = id;
  state->hasKappa |= slot == Slot::Kappa;
  if (!isRole)
    return;
  unsigned r = static_cast<unsigned>(slot);
  statement.name.text = kRoles[r];
  state->known[r] = true;
  ++state->versions[r];
  state->ids.clear(); // the same term would mean another row now
}

TermRef Attention::define(const std::string &name, const TermRef &value) {
  for (const char *role : kRoles)
    if (name == role)
      throw Error("'" + name + "' is a role; assign it");
  Spec::Id id = flatten(value);
  Statement &statement = state->add(Statement::Assign);
  statement.name.text = name;
  statement.value = id;
  auto term = std::make_shared<Term>(variable(name));
  term->owner = state->token;
  return term;
}

void Attention::normalize(const Normalizer &by) {
  std::vector<Spec::Argument> arguments;
  for (const auto &[name, value] : by.terms)
    arguments.push_back({{name, {}}, flatten(value.term())});
  Statement &statement = state->add(Statement::Normalize);
  statement.name.text = by.byMass ? "mass" : "none";
  statement.arguments = std::move(arguments);
}

void Attention::features(const Features &map) {
  std::vector<TermRef> values;
  std::vector<Spec::Name> names;
  for (const auto &[name, number] : map.given->numbers) {
    names.push_back({name, {}});
    values.push_back(detail::integerTerm(number));
  }
  for (const auto &[name, word] : map.given->words) {
    names.push_back({name, {}});
    values.push_back(std::make_shared<Term>(variable(word)));
  }
  Spec::Expression call;
  call.kind = Spec::Expression::Call;
  call.name = map.given->name;
  call.argumentNames = std::move(names);
  Spec::Id id = flatten(std::make_shared<Term>(std::move(call), values));
  Statement &statement = state->add(Statement::Features);
  statement.name.text = map.given->name;
  statement.value = id;
}

void Attention::allowSigned() { state->add(Statement::AllowSigned); }

void Attention::returns(const std::vector<std::string> &names) {
  Statement &statement = state->add(Statement::Return);
  for (const std::string &name : names)
    statement.names.push_back({name, {}});
}

void Attention::set(const Kappa &kappa) {
  assign(Slot::Kappa, kappa.value.term());
  if (kappa.visible)
    assign(Slot::Mask, kappa.visible->term());
  if (kappa.normalizer)
    normalize(*kappa.normalizer);
  if (kappa.approximation.given)
    features(kappa.approximation);
  if (kappa.isSigned)
    allowSigned();
  if (!kappa.results.empty())
    returns(kappa.results);
}

void detail::checkArity(const std::string &name, size_t arguments,
                        size_t parameters) {
  if (arguments != parameters + 2 && arguments != parameters + 3)
    throw Error("'" + name + "' declares " + std::to_string(parameters) +
                " parameters, so its function takes q, k and those, or q, k, "
                "v and those; it takes " +
                std::to_string(arguments) + " arguments");
}

std::string attn::toText(const Spec &spec) {
  Spec copy = spec;
  try {
    validateSpec(copy);
  } catch (const SpecError &error) {
    throw Error("<spec " + copy.name.text + ">: error: " + error.message);
  }
  return writeSpec(copy);
}
