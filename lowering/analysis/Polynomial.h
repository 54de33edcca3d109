//===- Polynomial.h - polynomials in a kernel's atoms -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interval arithmetic forgets that the s of s^2 is the s of 2s. Sums and
// products are therefore also expanded into polynomials in what is left, the
// atoms (a dot, a parameter, an exponential), and their sign is decided there.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_POLYNOMIAL_H
#define ATTN_LOWERING_ANALYSIS_POLYNOMIAL_H

#include "lowering/analysis/Interval.h"
#include "lowering/analysis/Rational.h"
#include <map>
#include <optional>
#include <vector>

namespace attn {

class Polynomial {
public:
  /// Atoms in ascending order with their powers >= 1; empty: 1.
  using Monomial = std::vector<std::pair<unsigned, unsigned>>;
  using Terms = std::map<Monomial, Rational>;

  static Polynomial constant(Rational value);
  static Polynomial atom(unsigned number);

  const Terms &terms() const { return all; }
  bool isZero() const { return all.empty(); }
  /// Of too many terms, too high a degree or too many digits to be worth a
  /// proof.
  bool isLarge() const;

  friend Polynomial operator+(const Polynomial &a, const Polynomial &b);
  friend Polynomial operator-(const Polynomial &a, const Polynomial &b);
  friend Polynomial operator*(const Polynomial &a, const Polynomial &b);
  Polynomial scaled(const Rational &by) const;
  /// Coefficients c[n] of atom^n, polynomials in the others.
  std::vector<Polynomial> inPowersOf(unsigned atom) const;
  /// The highest power of an atom.
  unsigned degreeIn(unsigned atom) const;

private:
  void add(const Monomial &monomial, const Rational &coefficient);
  Terms all;
};

Polynomial operator+(const Polynomial &a, const Polynomial &b);
Polynomial operator-(const Polynomial &a, const Polynomial &b);
Polynomial operator*(const Polynomial &a, const Polynomial &b);

/// A q with q^n = p, if there is one with rational coefficients; n >= 2. For
/// even n, of q and -q the one with a positive leading coefficient.
std::optional<Polynomial> nthRoot(const Polynomial &p, unsigned n);
inline std::optional<Polynomial> squareRoot(const Polynomial &p) {
  return nthRoot(p, 2);
}

/// What is known of a polynomial's sign, from the ranges of its atoms.
/// Everything returned is proven; the rules are: signs of the terms; one
/// variable, exactly; a common monomial; a square; a discriminant.
Interval signOf(const Polynomial &p, const std::vector<Interval> &atoms);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_POLYNOMIAL_H
