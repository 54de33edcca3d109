//===- Series.cpp - Taylor coefficients of kernels of one dot -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Series.h"

using namespace attn;

using Coefficients = std::vector<Polynomial>;

namespace {
class Expander {
public:
  Expander(NormalForm &form, AtomId s, unsigned order)
      : form(form), s(s), order(order) {}

  /// Exactly `order` coefficients, or none.
  Coefficients series(const Polynomial &p, int depth);

private:
  Coefficients atom(AtomId id, int depth);
  Coefficients product(const Coefficients &a, const Coefficients &b);
  Coefficients exp(const Coefficients &x);
  Coefficients power(const Coefficients &x, const Rational &e);
  Coefficients log(const Coefficients &x);
  Coefficients tanh(const Coefficients &x);
  Coefficients checked(Coefficients x) {
    for (const Polynomial &c : x)
      if (c.isLarge())
        return {};
    return x;
  }

  NormalForm &form;
  AtomId s;
  unsigned order;
};
} // namespace

static Rational whole(unsigned n) { return Rational(static_cast<int64_t>(n)); }

Coefficients Expander::product(const Coefficients &a, const Coefficients &b) {
  Coefficients c(order);
  for (unsigned n = 0; n < order; ++n)
    for (unsigned k = 0; k <= n; ++k)
      if (!a[k].isZero() && !b[n - k].isZero())
        c[n] = c[n] + form.multiply(a[k], b[n - k]);
  return checked(std::move(c));
}

/// y' = x' y.
Coefficients Expander::exp(const Coefficients &x) {
  Coefficients y(order);
  y[0] = form.exp(x[0]);
  for (unsigned n = 1; n < order; ++n) {
    for (unsigned k = 1; k <= n; ++k)
      if (!x[k].isZero())
        y[n] = y[n] + form.multiply(x[k], y[n - k]).scaled(whole(k));
    y[n] = y[n].scaled(Rational(1) / whole(n));
    if (y[n].isLarge())
      return {};
  }
  return y;
}

/// x y' = e x' y, where x is not 0 at 0.
Coefficients Expander::power(const Coefficients &x, const Rational &e) {
  Interval range = form.rangeOf(x[0]);
  bool natural = e.denominator() == 1;
  if (!range.isPositive() && !(natural && range.isNegative()))
    return {};
  Coefficients y(order);
  y[0] = form.power(x[0], e);
  Polynomial inverse = form.power(x[0], -1);
  for (unsigned n = 1; n < order; ++n) {
    for (unsigned k = 1; k <= n; ++k)
      if (!x[k].isZero())
        y[n] = y[n] + form.multiply(x[k], y[n - k])
                          .scaled(whole(k) * (e + Rational(1)) - whole(n));
    y[n] = form.multiply(y[n], inverse).scaled(Rational(1) / whole(n));
    if (y[n].isLarge())
      return {};
  }
  return y;
}

/// x y' = x'.
Coefficients Expander::log(const Coefficients &x) {
  if (!form.rangeOf(x[0]).isPositive())
    return {};
  Coefficients y(order);
  y[0] = form.log(x[0]);
  Polynomial inverse = form.power(x[0], -1);
  for (unsigned n = 1; n < order; ++n) {
    Polynomial sum = x[n].scaled(whole(n));
    for (unsigned k = 1; k < n; ++k)
      sum = sum - form.multiply(y[k], x[n - k]).scaled(whole(k));
    y[n] = form.multiply(sum, inverse).scaled(Rational(1) / whole(n));
    if (y[n].isLarge())
      return {};
  }
  return y;
}

/// y' = x' (1 - y^2), where x is 0 at 0.
Coefficients Expander::tanh(const Coefficients &x) {
  if (!x[0].isZero())
    return {};
  Coefficients y(order), slope(order); // slope: 1 - y^2
  slope[0] = NormalForm::number(1);
  for (unsigned n = 1; n < order; ++n) {
    for (unsigned k = 1; k <= n; ++k)
      if (!x[k].isZero() && !slope[n - k].isZero())
        y[n] = y[n] + form.multiply(x[k], slope[n - k]).scaled(whole(k));
    y[n] = y[n].scaled(Rational(1) / whole(n));
    for (unsigned k = 0; k <= n; ++k)
      if (!y[k].isZero() && !y[n - k].isZero())
        slope[n] = slope[n] - form.multiply(y[k], y[n - k]);
    if (y[n].isLarge() || slope[n].isLarge())
      return {};
  }
  return y;
}

Coefficients Expander::atom(AtomId id, int depth) {
  Coefficients result(order);
  const FormAtom atom = form.atom(id);
  if (id == s) {
    if (order > 1)
      result[1] = NormalForm::number(1);
    return result;
  }
  if (atom.axes == Uniform) {
    result[0] = Polynomial::atom(id);
    return result;
  }
  if (atom.args.size() != 1 || depth == 0)
    return {};
  Coefficients x = series(atom.args[0], depth - 1);
  if (x.empty())
    return {};
  switch (atom.kind) {
  case FormAtom::Exp:
    return exp(x);
  case FormAtom::Log:
    return log(x);
  case FormAtom::Power:
    return power(x, atom.exponent);
  case FormAtom::Function:
    return atom.tag == "tanh" ? tanh(x) : Coefficients();
  default:
    return {};
  }
}

Coefficients Expander::series(const Polynomial &p, int depth) {
  Coefficients sum(order);
  for (const auto &[monomial, coefficient] : p.terms()) {
    Coefficients term(order);
    term[0] = Polynomial::constant(coefficient);
    for (auto [id, power] : monomial) {
      Coefficients factor = atom(id, depth);
      if (factor.empty())
        return {};
      for (unsigned n = 0; n < power && !term.empty(); ++n)
        term = product(term, factor);
      if (term.empty())
        return {};
    }
    for (unsigned n = 0; n < order; ++n)
      sum[n] = sum[n] + term[n];
  }
  return checked(std::move(sum));
}

std::vector<Polynomial> attn::taylorSeries(NormalForm &form,
                                           const Polynomial &p, AtomId s,
                                           unsigned order) {
  constexpr int depth = 8;
  return Expander(form, s, order).series(p, depth);
}

static bool collectDots(const NormalForm &form, const Polynomial &p,
                        std::optional<AtomId> &dot, int depth) {
  if (depth == 0)
    return false;
  for (const auto &term : p.terms())
    for (auto [id, power] : term.first) {
      const FormAtom &atom = form.atom(id);
      if (atom.axes == Uniform)
        continue;
      if (atom.kind == FormAtom::Dot && atom.axes == PairAxes) {
        if (dot && *dot != id)
          return false;
        dot = id;
        continue;
      }
      if (atom.args.empty())
        return false;
      for (const Polynomial &argument : atom.args)
        if (!collectDots(form, argument, dot, depth - 1))
          return false;
    }
  return true;
}

std::optional<AtomId> attn::onlyDot(const NormalForm &form,
                                    const Polynomial &p) {
  constexpr int depth = 16;
  std::optional<AtomId> dot;
  return collectDots(form, p, dot, depth) ? dot : std::nullopt;
}
