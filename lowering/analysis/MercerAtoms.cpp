//===- MercerAtoms.cpp - exponentials and powers that are positive definite
//===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Mercer.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace attn;

using Monomial = Polynomial::Monomial;

static constexpr int kDepth = 24;

bool Mercer::isAtomPsd(AtomId id) {
  const FormAtom atom = form.atom(id);
  std::string text = form.str(Polynomial::atom(id));
  Value where = form.originOf(id);
  switch (atom.kind) {
  case FormAtom::Dot:
    if (!form.isMirrored(atom.rows[0], atom.rows[1]))
      return fail(text + " compares different maps of q and k; if they belong "
                         "to the roles, write them as `q = ...`, `k = ...`",
                  where);
    say("an inner product: " + text);
    return true;
  case FormAtom::Exp:
    if (!isConditional(atom.args[0]))
      return false;
    say("exp of a conditionally positive definite kernel (Schoenberg 1938): " +
        text);
    return true;
  case FormAtom::Power: {
    const Polynomial &base = atom.args[0];
    if (atom.exponent.sign() > 0) {
      if (!(atom.exponent.denominator() == 1))
        return fail(text + ": no rule for a power that is not natural", where);
      // One that is too high to be written out.
      bool even = (atom.exponent.numerator() % 2) == 0;
      if (!isPsd(base) && !(even && isPsd(base.scaled(Rational(-1)))))
        return fail(text + ": " + form.str(base) +
                        " is not proven positive semi-definite",
                    where);
      say("a natural power of a positive semi-definite kernel (Schur): " +
          text);
      return true;
    }
    if (!form.rangeOf(base).isPositive())
      return fail(text + ": " + form.str(base) + " is not proven positive",
                  where);
    if (!isConditional(base.scaled(Rational(-1))))
      return false;
    say("N^-a with N > 0 and -N conditionally positive definite, an integral "
        "of exp(-t N) over t (Berg, Christensen, Ressel 1984): " +
        text + ", N = " + form.str(base) + form.assumptions(base));
    return true;
  }
  default:
    return fail(text + " is not known to be positive semi-definite", where);
  }
}

bool Mercer::isConditional(const Polynomial &e) {
  if (depth >= kDepth || e.isLarge())
    return fail("too deep or too large to look into", {});
  auto [memo, isNew] = knownConditional.try_emplace(form.key(e), false);
  if (!isNew)
    return memo->second;
  ++depth;
  llvm::scope_exit restore([&] { --depth; });
  size_t before = steps.size();

  Polynomial query, key, rest;
  std::vector<std::pair<Polynomial, AtomId>> bernstein;
  for (const auto &[monomial, coefficient] : e.terms()) {
    Polynomial term = asPolynomial(monomial).scaled(coefficient);
    unsigned axes = form.axesOf(monomial) & PairAxes;
    if (axes == Uniform)
      continue; // any constant
    if (axes == QueryAxis) {
      query = query + term;
      continue;
    }
    if (axes == KeyAxis) {
      key = key + term;
      continue;
    }
    // -c N^b or -c log N?
    std::optional<AtomId> pair;
    Monomial none;
    bool plain = true;
    for (auto [id, power] : monomial) {
      unsigned sides = form.atom(id).axes & PairAxes;
      if (sides == Uniform)
        none.push_back({id, power});
      else if (sides == PairAxes && power == 1 && !pair)
        pair = id;
      else
        plain = false;
    }
    const FormAtom *atom = pair ? &form.atom(*pair) : nullptr;
    bool root = atom && atom->kind == FormAtom::Power &&
                atom->exponent.sign() > 0 &&
                (Rational(1) - atom->exponent).sign() > 0;
    if (plain && atom && (root || atom->kind == FormAtom::Log))
      bernstein.push_back({asPolynomial(none).scaled(coefficient), *pair});
    else
      rest = rest + term;
  }
  auto failed = [&] {
    steps.resize(before);
    return false;
  };
  if (!(form.mirrored(query) - key).isZero()) {
    Polynomial blamed = query.isZero() ? key : query;
    fail(form.str(query) + " of q and " + form.str(key) +
             " of k are no mirror images of each other",
         form.originOf(blamed.terms().begin()->first.back().first));
    return failed();
  }
  for (auto &[factor, id] : bernstein) {
    const FormAtom atom = form.atom(id);
    const Polynomial &base = atom.args[0];
    std::string text = form.str(Polynomial::atom(id));
    bool log = atom.kind == FormAtom::Log;
    if (!form.rangeOf(factor).isNonPositive()) {
      fail("the factor " + form.str(factor) + " of " + text +
               " is not proven <= 0",
           form.originOf(id));
      return failed();
    }
    Interval range = form.rangeOf(base);
    if (log ? !range.isPositive() : !range.isNonNegative()) {
      fail(form.str(base) + " is not proven " + (log ? "positive" : ">= 0"),
           form.originOf(id));
      return failed();
    }
    if (!isConditional(base.scaled(Rational(-1))))
      return failed();
    say("a Bernstein function of a negative definite kernel is one (Berg, "
        "Christensen, Ressel 1984, 3.2.10): " +
        text + form.assumptions(factor));
  }
  if (!isPsd(rest))
    return failed();
  if (asDistance(form, e))
    say("-sqdist is conditionally positive definite (Schoenberg 1938): " +
        form.str(e) + form.assumptions(e));
  return knownConditional[form.key(e)] = true;
}
