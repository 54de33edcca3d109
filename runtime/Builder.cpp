//===- Builder.cpp - a spec from statements in C++ ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Builder.h"
#include "dialect/spec/WriteSpec.h"
#include "runtime/FeatureArguments.h"
#include "runtime/Term.h"

#include <unordered_map>

using namespace attn;
using detail::Term;
using detail::TermRef;
using detail::variable;
using Operator = Spec::Operator;
using Statement = Spec::Statement;

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
