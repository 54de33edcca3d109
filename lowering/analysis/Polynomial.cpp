//===- Polynomial.cpp - polynomials in a kernel's atoms -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Polynomial.h"

#include "lowering/analysis/Univariate.h"
#include <algorithm>
#include <numeric>

using namespace attn;

using Monomial = Polynomial::Monomial;

static unsigned degreeOf(const Monomial &monomial) {
  unsigned degree = 0;
  for (auto [atom, power] : monomial)
    degree += power;
  return degree;
}

/// x^a y^b times x^c z^d.
static Monomial times(const Monomial &a, const Monomial &b) {
  std::map<unsigned, unsigned> powers(a.begin(), a.end());
  for (auto [atom, power] : b)
    powers[atom] += power;
  return {powers.begin(), powers.end()};
}

/// a / b, if b divides a.
static std::optional<Monomial> over(const Monomial &a, const Monomial &b) {
  std::map<unsigned, unsigned> powers(a.begin(), a.end());
  for (auto [atom, power] : b) {
    auto found = powers.find(atom);
    if (found == powers.end() || found->second < power)
      return std::nullopt;
    if ((found->second -= power) == 0)
      powers.erase(found);
  }
  return Monomial(powers.begin(), powers.end());
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

void Polynomial::add(const Monomial &monomial, const Rational &coefficient) {
  if (coefficient.sign() == 0)
    return;
  auto [term, isNew] = all.try_emplace(monomial, coefficient);
  if (isNew)
    return;
  term->second = term->second + coefficient;
  if (term->second.sign() == 0)
    all.erase(term);
}

Polynomial Polynomial::constant(Rational value) {
  Polynomial result;
  result.add({}, value);
  return result;
}

Polynomial Polynomial::atom(unsigned number) {
  Polynomial result;
  result.add({{number, 1}}, Rational(1));
  return result;
}

/// Digits of constants add up: those of a power of a power would take seconds.
static bool isLong(const Rational &coefficient) {
  static const llvm::DynamicAPInt limit = [] {
    llvm::DynamicAPInt power(1);
    for (int bit = 0; bit < 256; ++bit)
      power *= 2;
    return power;
  }();
  return coefficient.denominator() > limit ||
         abs(coefficient.numerator()) > limit;
}

bool Polynomial::isLarge() const {
  constexpr size_t mostTerms = 64;
  constexpr unsigned highest = 32;
  return all.size() > mostTerms ||
         std::any_of(all.begin(), all.end(), [&](const auto &term) {
           return degreeOf(term.first) > highest || isLong(term.second);
         });
}

Polynomial attn::operator+(const Polynomial &a, const Polynomial &b) {
  Polynomial result = a;
  for (const auto &[monomial, coefficient] : b.all)
    result.add(monomial, coefficient);
  return result;
}

Polynomial attn::operator-(const Polynomial &a, const Polynomial &b) {
  return a + b.scaled(Rational(-1));
}

Polynomial attn::operator*(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[m, c] : a.all)
    for (const auto &[n, d] : b.all)
      result.add(times(m, n), c * d);
  return result;
}

Polynomial Polynomial::scaled(const Rational &by) const {
  Polynomial result;
  for (const auto &[monomial, coefficient] : all)
    result.add(monomial, coefficient * by);
  return result;
}

unsigned Polynomial::degreeIn(unsigned atom) const {
  unsigned degree = 0;
  for (const auto &term : all)
    for (auto [number, power] : term.first)
      if (number == atom)
        degree = std::max(degree, power);
  return degree;
}

std::vector<Polynomial> Polynomial::inPowersOf(unsigned atom) const {
  std::vector<Polynomial> result(degreeIn(atom) + 1);
  for (const auto &[monomial, coefficient] : all) {
    Monomial rest;
    unsigned power = 0;
    for (auto factor : monomial) {
      if (factor.first == atom)
        power = factor.second;
      else
        rest.push_back(factor);
    }
    result[power].add(rest, coefficient);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Squares
//===----------------------------------------------------------------------===//

static std::optional<Rational> nthRoot(const Rational &x, unsigned degree) {
  auto raised = [&](const llvm::DynamicAPInt &n) {
    llvm::DynamicAPInt result(1);
    for (unsigned k = 0; k < degree; ++k)
      result *= n;
    return result;
  };
  auto root =
      [&](const llvm::DynamicAPInt &n) -> std::optional<llvm::DynamicAPInt> {
    llvm::DynamicAPInt low(0), high(1);
    while (raised(high) < n)
      high *= 2;
    while (low < high) {
      llvm::DynamicAPInt middle = (low + high) / 2;
      if (raised(middle) < n)
        low = middle + 1;
      else
        high = middle;
    }
    return raised(low) == n ? std::optional(low) : std::nullopt;
  };
  if (x.sign() < 0) {
    std::optional<Rational> positive =
        degree % 2 != 0 ? nthRoot(-x, degree) : std::nullopt;
    return positive ? std::optional(-*positive) : std::nullopt;
  }
  auto n = root(x.numerator()), d = root(x.denominator());
  return n && d ? std::optional(Rational(*n, *d)) : std::nullopt;
}

/// Graded order: the leading term of a product is the product of those.
static Polynomial::Terms::const_iterator leadOf(const Polynomial &p) {
  auto weigh = [](const auto &a, const auto &b) {
    unsigned x = degreeOf(a.first), y = degreeOf(b.first);
    if (x != y)
      return x < y;
    // Lexicographic by power of the first atom in which they differ.
    const Monomial &m = a.first, &n = b.first;
    for (size_t k = 0; k < std::min(m.size(), n.size()); ++k) {
      if (m[k].first != n[k].first)
        return m[k].first > n[k].first;
      if (m[k].second != n[k].second)
        return m[k].second < n[k].second;
    }
    return m.size() < n.size();
  };
  return std::max_element(p.terms().begin(), p.terms().end(), weigh);
}

std::optional<Polynomial> attn::nthRoot(const Polynomial &p, unsigned n) {
  constexpr size_t mostTerms = 8; // of a root that is worth raising
  if (p.isZero())
    return p;
  auto single = [](const Monomial &monomial, const Rational &coefficient) {
    Polynomial result = Polynomial::constant(coefficient);
    for (auto [atom, power] : monomial)
      for (unsigned k = 0; k < power; ++k)
        result = result * Polynomial::atom(atom);
    return result;
  };
  auto raised = [](const Polynomial &x, unsigned times) {
    Polynomial result = Polynomial::constant(Rational(1));
    for (unsigned k = 0; k < times; ++k)
      result = result * x;
    return result;
  };
  auto lead = leadOf(p);
  Monomial first = lead->first;
  for (auto &factor : first) {
    if (factor.second % n != 0)
      return std::nullopt;
    factor.second /= n;
  }
  std::optional<Rational> coefficient = ::nthRoot(lead->second, n);
  if (!coefficient)
    return std::nullopt;
  Polynomial root = single(first, *coefficient), rest = p - raised(root, n);
  // The next term t of the root: n * lead^(n - 1) * t leads the rest.
  Polynomial slope =
      raised(root, n - 1).scaled(Rational(static_cast<int64_t>(n)));
  auto [slopeMonomial, slopeCoefficient] = *slope.terms().begin();
  // Each step settles the leading term of the rest; the order is well-founded.
  for (size_t step = 0; !rest.isZero(); ++step) {
    auto next = leadOf(rest);
    std::optional<Monomial> quotient = over(next->first, slopeMonomial);
    if (!quotient || step > p.terms().size())
      return std::nullopt;
    Polynomial term = single(*quotient, next->second / slopeCoefficient);
    if (n == 2) { // what a higher power does not offer as cheaply
      rest = rest - term * (root + root + term);
      root = root + term;
      continue;
    }
    root = root + term;
    if (root.terms().size() > mostTerms)
      return std::nullopt;
    rest = p - raised(root, n);
  }
  return root;
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

/// Deep enough for a discriminant of a discriminant.
static constexpr int kDepth = 3;

static Interval rangeOf(const Monomial &monomial,
                        const std::vector<Interval> &atoms) {
  Interval range = Interval::point(1);
  for (auto [atom, power] : monomial)
    range = range * attn::power(atoms[atom], power);
  return range;
}

/// Only the sign of an interval.
static Interval signPart(const Interval &x) {
  if (x.lo == 0 && x.hi == 0)
    return Interval::point(0);
  if (x.isNonNegative())
    return x.isPositive() ? Interval::above(0) : Interval::atLeast(0);
  if (x.isNonPositive())
    return x.isNegative() ? Interval::below(0) : Interval::atMost(0);
  return Interval::all();
}

/// If every monomial is a power of one monomial t: t, and the coefficients.
static std::optional<std::pair<Monomial, std::vector<Rational>>>
asUnivariate(const Polynomial &p) {
  Monomial base;
  for (const auto &term : p.terms()) {
    const Monomial &monomial = term.first;
    if (monomial.empty())
      continue;
    unsigned divisor = 0;
    for (auto [atom, power] : monomial)
      divisor = std::gcd(divisor, power);
    Monomial primitive = monomial;
    for (auto &factor : primitive)
      factor.second /= divisor;
    if (base.empty())
      base = primitive;
    else if (base != primitive)
      return std::nullopt;
  }
  if (base.empty())
    return std::nullopt;
  std::vector<Rational> coefficients;
  for (const auto &[monomial, coefficient] : p.terms()) {
    size_t n = monomial.empty() ? 0 : monomial[0].second / base[0].second;
    coefficients.resize(std::max(coefficients.size(), n + 1));
    coefficients[n] = coefficient;
  }
  return std::pair(base, coefficients);
}

/// The greatest monomial that divides every term.
static Monomial commonFactor(const Polynomial &p) {
  std::optional<std::map<unsigned, unsigned>> common;
  for (const auto &term : p.terms()) {
    std::map<unsigned, unsigned> powers(term.first.begin(), term.first.end());
    if (!common) {
      common = powers;
      continue;
    }
    for (auto entry = common->begin(); entry != common->end();) {
      auto other = powers.find(entry->first);
      if (other == powers.end()) {
        entry = common->erase(entry);
      } else {
        entry->second = std::min(entry->second, other->second);
        ++entry;
      }
    }
  }
  return common ? Monomial(common->begin(), common->end()) : Monomial();
}

static Interval decide(const Polynomial &p, const std::vector<Interval> &atoms,
                       int depth);

/// a x^2 + b x + c >= 0 for all x if a >= 0, c >= 0 and b^2 <= 4 a c.
static bool byDiscriminant(const Polynomial &p,
                           const std::vector<Interval> &atoms, int depth) {
  for (unsigned x = 0; x < atoms.size(); ++x) {
    if (p.degreeIn(x) != 2)
      continue;
    std::vector<Polynomial> c = p.inPowersOf(x);
    Polynomial discriminant = (c[2] * c[0]).scaled(Rational(4)) - c[1] * c[1];
    if (!discriminant.isLarge() &&
        decide(c[2], atoms, depth - 1).isNonNegative() &&
        decide(c[0], atoms, depth - 1).isNonNegative() &&
        decide(discriminant, atoms, depth - 1).isNonNegative())
      return true;
  }
  return false;
}

static Interval decide(const Polynomial &p, const std::vector<Interval> &atoms,
                       int depth) {
  if (p.isZero())
    return Interval::point(0);
  // Term by term.
  bool first = true;
  Interval total;
  for (const auto &[monomial, coefficient] : p.terms()) {
    Interval sign = signPart(rangeOf(monomial, atoms));
    sign = coefficient.sign() > 0 ? sign : -sign;
    total = first ? sign : signPart(total + sign);
    first = false;
  }
  if (total.isNonNegative() || total.isNonPositive())
    return total;
  if (depth == 0)
    return Interval::all();

  if (Monomial factor = commonFactor(p); !factor.empty()) {
    Polynomial rest;
    for (const auto &[monomial, coefficient] : p.terms()) {
      Polynomial term = Polynomial::constant(coefficient);
      Monomial left = *over(monomial, factor);
      for (auto [atom, power] : left)
        for (unsigned n = 0; n < power; ++n)
          term = term * Polynomial::atom(atom);
      rest = rest + term;
    }
    return signPart(signPart(rangeOf(factor, atoms)) *
                    decide(rest, atoms, depth - 1));
  }
  if (auto univariate = asUnivariate(p))
    return signOnInterval(univariate->second,
                          rangeOf(univariate->first, atoms));
  for (int sign : {1, -1}) {
    Polynomial positive = p.scaled(Rational(sign));
    // Of c q^2 the root is irrational for most c: make the lead 1.
    Rational lead = leadOf(positive)->second;
    bool proven =
        (lead.sign() > 0 && squareRoot(positive.scaled(Rational(1) / lead))) ||
        byDiscriminant(positive, atoms, depth);
    if (proven)
      return sign > 0 ? Interval::atLeast(0) : Interval::atMost(0);
  }
  return Interval::all();
}

Interval attn::signOf(const Polynomial &p, const std::vector<Interval> &atoms) {
  return decide(p, atoms, kDepth);
}
