//===- FormFunctions.cpp - functions in one form --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/NormalForm.h"

using namespace mlir;
using namespace attn;

Polynomial NormalForm::exp(const Polynomial &x) {
  // log is undone, and sides stand apart: exp(f(q) + g(k)) is a product.
  std::map<unsigned, Polynomial> parts;
  Polynomial product = number(1);
  for (const auto &[monomial, coefficient] : x.terms()) {
    Polynomial term = Polynomial::constant(coefficient);
    for (auto [id, power] : monomial)
      for (unsigned n = 0; n < power; ++n)
        term = term * Polynomial::atom(id);
    bool isLog = monomial.size() == 1 && monomial[0].second == 1 &&
                 atoms[monomial[0].first].kind == FormAtom::Log;
    if (isLog) {
      Polynomial base = atoms[monomial[0].first].args[0];
      product = multiply(product, power(base, coefficient));
      continue;
    }
    unsigned axes = axesOf(monomial);
    parts[axes] = parts[axes] + term;
  }
  for (auto &[axes, exponent] : parts) {
    if (exponent.isZero())
      continue;
    FormAtom atom;
    atom.kind = FormAtom::Exp;
    atom.range = attn::exp(rangeOf(exponent));
    atom.args = {exponent};
    product = multiply(product, intern(std::move(atom)));
  }
  return product;
}

Polynomial NormalForm::log(const Polynomial &x) {
  if (x.terms().size() == 1) {
    const auto &[monomial, coefficient] = *x.terms().begin();
    Polynomial sum;
    bool splits = coefficient.sign() > 0;
    for (auto [id, power] : monomial)
      splits &= atomRanges[id].isPositive();
    if (splits && (monomial.size() > 1 || !(coefficient == Rational(1)) ||
                   monomial.empty() || monomial[0].second > 1 ||
                   atoms[monomial[0].first].kind == FormAtom::Exp ||
                   atoms[monomial[0].first].kind == FormAtom::Power)) {
      for (auto [id, power] : monomial) {
        const FormAtom &atom = atoms[id];
        Rational times(power);
        if (atom.kind == FormAtom::Exp)
          sum = sum + atom.args[0].scaled(times);
        else if (atom.kind == FormAtom::Power &&
                 rangeOf(Polynomial(atom.args[0])).isPositive())
          sum = sum + log(Polynomial(atoms[id].args[0]))
                          .scaled(times * Rational(atoms[id].exponent));
        else
          sum = sum + log(Polynomial::atom(id)).scaled(times);
      }
      if (!(coefficient == Rational(1))) {
        FormAtom atom;
        atom.kind = FormAtom::Log;
        atom.args = {Polynomial::constant(coefficient)};
        atom.range = attn::log(intervalOf(atom.args[0]));
        sum = sum + intern(std::move(atom));
      }
      return sum;
    }
  }
  FormAtom atom;
  atom.kind = FormAtom::Log;
  atom.range = attn::log(rangeOf(x));
  atom.args = {x};
  return intern(std::move(atom));
}

Polynomial NormalForm::relu(const Polynomial &x) {
  if (x.isZero())
    return x;
  Interval range = rangeOf(x);
  int order = orderOf(x);
  if (range.isNonNegative() || order > 0)
    return x;
  if (range.isNonPositive() || order < 0)
    return {};
  Rational lead = x.terms().rbegin()->second;
  if (lead.sign() < 0) // relu(-x) = relu(x) - x
    return relu(x.scaled(Rational(-1))) + x;
  return function("relu", {x.scaled(Rational(1) / lead)}, Interval::atLeast(0))
      .scaled(lead);
}

Polynomial NormalForm::function(const std::string &tag,
                                std::vector<Polynomial> args, Interval range,
                                Value origin) {
  FormAtom atom;
  atom.kind = FormAtom::Function;
  atom.tag = tag;
  atom.args = std::move(args);
  atom.range = range;
  atom.origin = origin;
  return intern(std::move(atom));
}

/// cos(a + b) = cos a cos b - sin a sin b, where the sides stand apart.
Polynomial NormalForm::trig(bool cosine, const Polynomial &x) {
  Polynomial query, key, rest;
  for (const auto &[monomial, coefficient] : x.terms()) {
    Polynomial term = Polynomial::constant(coefficient);
    for (auto [id, power] : monomial)
      for (unsigned n = 0; n < power; ++n)
        term = term * Polynomial::atom(id);
    unsigned axes = axesOf(monomial) & PairAxes;
    (axes == QueryAxis ? query
     : axes == KeyAxis ? key
                       : rest) = (axes == QueryAxis ? query
                                  : axes == KeyAxis ? key
                                                    : rest) +
                                 term;
  }
  bool pair = (axesOf(rest) & PairAxes) == PairAxes;
  if (!pair && !query.isZero() && !key.isZero()) {
    Polynomial a = query + rest;
    Polynomial ca = trig(true, a), sa = trig(false, a), ck = trig(true, key),
               sk = trig(false, key);
    return cosine ? multiply(ca, ck) - multiply(sa, sk)
                  : multiply(sa, ck) + multiply(ca, sk);
  }
  if (x.isZero())
    return number(cosine ? 1 : 0);
  if (x.terms().rbegin()->second.sign() < 0) {
    Polynomial flipped = trig(cosine, x.scaled(Rational(-1)));
    return cosine ? flipped : flipped.scaled(Rational(-1));
  }
  return function(cosine ? "cos" : "sin", {x}, Interval::closed(-1, 1));
}
