//===- Univariate.cpp - the sign of a polynomial on an interval -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Univariate.h"

#include <algorithm>

using namespace attn;
using llvm::DynamicAPInt;

namespace {
/// Integer coefficients without a common factor, the constant first; the last
/// is not zero. Empty: the zero polynomial.
using Poly = std::vector<DynamicAPInt>;

/// An end of the line, or a fraction.
struct Place {
  int infinite = 0; ///< -1, 0 or 1
  Rational value;
};
} // namespace

/// Divides by the content, a positive number: signs are kept.
static Poly primitive(Poly p) {
  while (!p.empty() && p.back() == 0)
    p.pop_back();
  DynamicAPInt content(0);
  for (const DynamicAPInt &c : p)
    content = gcd(content, abs(c));
  if (content > 1)
    for (DynamicAPInt &c : p)
      c /= content;
  return p;
}

static Poly derivative(const Poly &p) {
  Poly result;
  for (size_t n = 1; n < p.size(); ++n)
    result.push_back(p[n] * static_cast<int64_t>(n));
  return primitive(std::move(result));
}

/// The remainder of a by b times a positive number.
static Poly remainder(Poly a, const Poly &b) {
  DynamicAPInt lead = abs(b.back());
  bool negative = b.back() < 0;
  while (a.size() >= b.size()) {
    DynamicAPInt top = negative ? -a.back() : a.back();
    size_t shift = a.size() - b.size();
    for (DynamicAPInt &c : a)
      c *= lead;
    for (size_t n = 0; n < b.size(); ++n)
      a[n + shift] -= top * b[n];
    a = primitive(std::move(a));
  }
  return a;
}

static Poly greatestCommonDivisor(Poly a, Poly b) {
  while (!b.empty()) {
    Poly rest = remainder(a, b);
    a = std::move(b);
    b = std::move(rest);
  }
  return a;
}

/// a / b where b divides a, up to a factor.
static Poly quotient(Poly a, const Poly &b) {
  if (a.size() < b.size())
    return {};
  // Scaling by lead^(steps) makes every step exact.
  size_t steps = a.size() - b.size() + 1;
  for (size_t n = 0; n < steps; ++n)
    for (DynamicAPInt &c : a)
      c *= b.back();
  Poly result(steps, DynamicAPInt(0));
  for (size_t k = steps; k-- > 0;) {
    DynamicAPInt factor = a[k + b.size() - 1] / b.back();
    result[k] = factor;
    for (size_t n = 0; n < b.size(); ++n)
      a[k + n] -= factor * b[n];
  }
  return primitive(std::move(result));
}

static int signAt(const Poly &p, const Place &place) {
  if (p.empty())
    return 0;
  if (place.infinite != 0) {
    int lead = p.back() > 0 ? 1 : -1;
    return place.infinite < 0 && p.size() % 2 == 0 ? -lead : lead;
  }
  // Horner over n/d, times d^degree.
  const DynamicAPInt &n = place.value.numerator(),
                     &d = place.value.denominator();
  DynamicAPInt sum = p.back(), power(1);
  for (size_t k = p.size() - 1; k-- > 0;) {
    power *= d;
    sum = sum * n + p[k] * power;
  }
  return sum > 0 ? 1 : sum < 0 ? -1 : 0;
}

static int variations(const std::vector<Poly> &chain, const Place &place) {
  int count = 0, last = 0;
  for (const Poly &p : chain) {
    int sign = signAt(p, place);
    if (sign != 0 && last != 0 && sign != last)
      ++count;
    if (sign != 0)
      last = sign;
  }
  return count;
}

/// The number of roots of a square-free p in (lo, hi].
static int countRoots(const Poly &p, const Place &lo, const Place &hi) {
  std::vector<Poly> chain = {p, derivative(p)};
  while (!chain.back().empty()) {
    Poly rest = remainder(chain[chain.size() - 2], chain.back());
    for (DynamicAPInt &c : rest)
      c = -c;
    chain.push_back(std::move(rest));
  }
  chain.pop_back();
  return variations(chain, lo) - variations(chain, hi);
}

static Poly product(const Poly &a, const Poly &b) {
  Poly result(a.size() + b.size() - 1, DynamicAPInt(0));
  for (size_t n = 0; n < a.size(); ++n)
    for (size_t m = 0; m < b.size(); ++m)
      result[n + m] += a[n] * b[m];
  return result;
}

/// The product of the roots' factors of odd multiplicity: where p changes sign.
static Poly oddPart(const Poly &p) {
  // With g_k the roots of multiplicity > k, each as often as it is above k,
  // g_(k-1) / g_k holds those of multiplicity >= k once.
  std::vector<Poly> atLeast;
  for (Poly g = p; g.size() > 1;) {
    Poly next = greatestCommonDivisor(g, derivative(g));
    atLeast.push_back(quotient(g, next));
    g = std::move(next);
  }
  atLeast.push_back({DynamicAPInt(1)});
  Poly odd = {DynamicAPInt(1)};
  for (size_t k = 0; k + 1 < atLeast.size(); k += 2)
    odd = product(odd, quotient(atLeast[k], atLeast[k + 1]));
  return odd;
}

/// A place strictly inside the domain where p is not zero.
static int signInside(const Poly &p, const Place &lo, const Place &hi) {
  int64_t pieces = static_cast<int64_t>(p.size()) + 1;
  for (int64_t k = 1; k <= pieces; ++k) {
    Place inside;
    if (lo.infinite == 0 && hi.infinite == 0)
      inside.value = lo.value + (hi.value - lo.value) *
                                    (Rational(k) / Rational(pieces + 1));
    else if (lo.infinite == 0)
      inside.value = lo.value + Rational(k);
    else if (hi.infinite == 0)
      inside.value = hi.value - Rational(k);
    else
      inside.value = Rational(k);
    if (int sign = signAt(p, inside))
      return sign;
  }
  return 0;
}

Interval attn::signOnInterval(const std::vector<Rational> &coefficients,
                              const Interval &domain) {
  DynamicAPInt common(1);
  for (const Rational &c : coefficients)
    common = lcm(common, c.denominator());
  Poly p;
  for (const Rational &c : coefficients)
    p.push_back(c.numerator() * (common / c.denominator()));
  p = primitive(std::move(p));
  if (p.empty())
    return Interval::point(0);

  auto placeOf = [](double end) -> std::optional<Place> {
    if (std::isinf(end))
      return Place{end > 0 ? 1 : -1, Rational()};
    if (std::optional<Rational> value = Rational::fromDouble(end))
      return Place{0, *value};
    return std::nullopt;
  };
  std::optional<Place> lo = placeOf(domain.lo), hi = placeOf(domain.hi);
  if (!lo || !hi)
    return Interval::all();
  auto answer = [](int sign, bool strict) {
    Interval positive = strict ? Interval::above(0) : Interval::atLeast(0);
    return sign > 0 ? positive : -positive;
  };
  if (domain.isPoint()) {
    int sign = signAt(p, *lo);
    return sign == 0 ? Interval::point(0) : answer(sign, true);
  }

  Poly odd = oddPart(p);
  int changes = countRoots(odd, *lo, *hi);
  bool changesAtEnd = hi->infinite == 0 && signAt(odd, *hi) == 0;
  if (changes - (changesAtEnd ? 1 : 0) > 0)
    return Interval::all();

  Poly squareFree = quotient(p, greatestCommonDivisor(p, derivative(p)));
  int roots = countRoots(squareFree, *lo, *hi);
  if (domain.hiOpen && hi->infinite == 0 && signAt(p, *hi) == 0)
    --roots;
  if (!domain.loOpen && signAt(p, *lo) == 0)
    ++roots;
  return answer(signInside(p, *lo, *hi), roots == 0);
}
