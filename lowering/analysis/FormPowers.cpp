//===- FormPowers.cpp - powers in one form --------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/NormalForm.h"

using namespace mlir;
using namespace attn;

static std::optional<int64_t> asInteger(const Rational &x) {
  constexpr int64_t largest = 1 << 20;
  if (!(x.denominator() == 1) || x.numerator() > largest ||
      x.numerator() < -largest)
    return std::nullopt;
  return static_cast<int64_t>(x.numerator());
}

Polynomial NormalForm::powerAtom(const Polynomial &base,
                                 const Rational &exponent) {
  if (std::optional<int64_t> n = asInteger(exponent);
      n && *n >= 0 && base.terms().size() == 1) {
    Polynomial product = number(1);
    for (int64_t k = 0; k < *n && !product.isLarge(); ++k)
      product = product * base;
    if (!product.isLarge())
      return product;
  }
  FormAtom atom;
  atom.kind = FormAtom::Power;
  atom.args = {base};
  atom.exponent = exponent;
  Interval range = rangeOf(base);
  std::optional<int64_t> n = asInteger(exponent);
  atom.range = n ? attn::power(range, *n)
                 : attn::realPower(range, Interval::point(toDouble(exponent)));
  if (!n) { // the exponent is rounded: only the sign is sure
    bool positive = atom.range.isPositive();
    atom.range = positive ? Interval::above(0) : Interval::atLeast(0);
  }
  return intern(std::move(atom));
}

/// What makes the coefficients small whole numbers, or else the leading one 1:
/// the same for all multiples.
static Rational contentOf(const Polynomial &p) {
  constexpr int64_t readable = 1000000;
  Rational lead = p.terms().rbegin()->second;
  if (lead.sign() < 0)
    lead = -lead;
  llvm::DynamicAPInt numerators(0), denominators(1);
  for (const auto &term : p.terms()) {
    Rational ratio = term.second / lead;
    if (abs(ratio.numerator()) > readable || ratio.denominator() > readable)
      return lead;
    numerators = gcd(numerators, abs(ratio.numerator()));
    denominators = lcm(denominators, ratio.denominator());
  }
  return lead * Rational(numerators, denominators);
}

Polynomial NormalForm::power(const Polynomial &base, const Rational &exponent) {
  constexpr int64_t highest = 32;
  std::optional<int64_t> n = asInteger(exponent);
  if (exponent.sign() == 0)
    return number(1);
  if (exponent == Rational(1))
    return base;
  if (n && *n > 0) {
    if (*n > highest)
      return powerAtom(base, exponent);
    Polynomial result = base;
    for (int64_t k = 1; k < *n; ++k) {
      result = multiply(result, base);
      if (result.isLarge() || budget < 0)
        return powerAtom(base, exponent);
    }
    return result;
  }
  if (base.isZero() || base.isLarge() || budget < 0 || depth > 32)
    return powerAtom(base, exponent);
  ++depth;
  auto done = [&](Polynomial result) {
    --depth;
    return result;
  };

  // Content. The sign stays where it matters, and goes where it is known: the
  // base of a natural power is positive if it is of one sign.
  const auto &lead = *base.terms().rbegin();
  Rational size = contentOf(base);
  if (n) {
    Interval range = rangeOf(base);
    if (range.isNegative() || (!range.isPositive() && lead.second.sign() < 0))
      size = -size;
  }
  Polynomial rest = base.scaled(Rational(1) / size);
  if (rest.terms().size() == 1 && rest.terms().begin()->first.empty()) {
    // A number: exact where it has a root.
    if (n) {
      Rational value(1);
      for (int64_t k = 0; k < std::min<int64_t>(-*n, highest); ++k)
        value = value / size;
      return done(-*n <= highest ? Polynomial::constant(value)
                                 : powerAtom(base, exponent));
    }
    if (lead.second.sign() > 0 && exponent.denominator() == 2)
      if (std::optional<Polynomial> root =
              squareRoot(Polynomial::constant(size)))
        return done(power(
            *root, Rational(exponent.numerator(), llvm::DynamicAPInt(1))));
    return done(powerAtom(base, exponent));
  }
  if (!(size == Rational(1)))
    return done(multiply(power(Polynomial::constant(size), exponent),
                         power(rest, exponent)));

  // A common monomial. Without a sign only natural powers come out.
  std::map<AtomId, unsigned> common(lead.first.begin(), lead.first.end());
  for (const auto &term : base.terms())
    for (auto &[id, power] : common) {
      unsigned here = 0;
      for (auto [other, otherPower] : term.first)
        if (other == id)
          here = otherPower;
      power = std::min(power, here);
    }
  bool single = base.terms().size() == 1;
  for (auto [id, power] : common) {
    if (power == 0 ||
        (single && common.size() == 1 && power == 1 &&
         atoms[id].kind != FormAtom::Exp && atoms[id].kind != FormAtom::Power))
      continue;
    if (!n && !atomRanges[id].isNonNegative()) {
      if (power < 2 || (single && common.size() == 1 && power == 2))
        continue; // (x^2)^e is |x|^2e
      if (power % 2 != 0)
        continue;
    }
    Polynomial left;
    for (const auto &[monomial, coefficient] : base.terms()) {
      Polynomial term = Polynomial::constant(coefficient);
      for (auto [other, otherPower] : monomial)
        for (unsigned k = other == id ? power : 0; k < otherPower; ++k)
          term = term * Polynomial::atom(other);
      left = left + term;
    }
    Rational total = exponent * Rational(power);
    const FormAtom factor = atoms[id];
    Polynomial taken;
    if (factor.kind == FormAtom::Exp)
      taken = exp(factor.args[0].scaled(total));
    else if (factor.kind == FormAtom::Power &&
             (n || rangeOf(factor.args[0]).isNonNegative()))
      taken = this->power(factor.args[0], factor.exponent * total);
    else if (n || factor.range.isNonNegative())
      taken = powerAtom(Polynomial::atom(id), total);
    else // an even power of a signed atom
      taken = powerAtom(Polynomial::atom(id) * Polynomial::atom(id),
                        total / Rational(2));
    return done(multiply(taken, this->power(left, exponent)));
  }

  // A perfect power: 1 / (x^2 + 2x + 1) is (x + 1)^-2.
  for (unsigned root : {5U, 3U, 2U}) {
    std::optional<Polynomial> q = single ? std::nullopt : nthRoot(rest, root);
    if (!q)
      continue;
    Rational total = exponent * Rational(root);
    int order = orderOf(*q);
    if (n || root % 2 != 0 || order > 0 || rangeOf(*q).isNonNegative())
      return done(power(*q, total));
    if (order < 0 || rangeOf(*q).isNonPositive())
      return done(power(q->scaled(Rational(-1)), total));
    std::optional<int64_t> whole = asInteger(total);
    if (whole && *whole % 2 == 0)
      return done(power(*q, total));
  }
  return done(powerAtom(base, exponent));
}
