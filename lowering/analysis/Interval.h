//===- Interval.h - sets of reals with open or closed ends ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Proofs about kappa are over the reals, so every operation here rounds
// outwards. Ends are open or closed because `exp(x) > 0` and `x^2 >= 0` are
// different facts: one licenses a logarithm or a quotient and the other does
// not. A function that is undefined somewhere (1/x, log x) yields the range of
// its values where it is defined.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_INTERVAL_H
#define ATTN_LOWERING_ANALYSIS_INTERVAL_H

#include <cstdint>
#include <limits>
#include <string>

namespace attn {

/// A non-empty interval of reals; infinite ends are open.
struct Interval {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double lo = -kInfinity, hi = kInfinity;
  bool loOpen = true, hiOpen = true;

  static Interval all() { return {}; }
  static Interval point(double x) { return closed(x, x); }
  static Interval closed(double lo, double hi);
  static Interval open(double lo, double hi) { return {lo, hi, true, true}; }
  static Interval atLeast(double x) { return closed(x, kInfinity); }
  static Interval atMost(double x) { return closed(-kInfinity, x); }
  static Interval above(double x) { return {x, kInfinity, true, true}; }
  static Interval below(double x) { return {-kInfinity, x, true, true}; }

  bool isPoint() const { return lo == hi; }
  bool isFinite() const { return lo > -kInfinity && hi < kInfinity; }
  bool contains(double x) const;
  bool isNonNegative() const { return lo >= 0; }
  bool isPositive() const { return lo > 0 || (lo == 0 && loOpen); }
  bool isNonPositive() const { return hi <= 0; }
  bool isNegative() const { return hi < 0 || (hi == 0 && hiOpen); }
  bool operator==(const Interval &other) const;

  /// As in a paper: `[0, 1)`.
  std::string str() const;
};

Interval operator+(const Interval &a, const Interval &b);
Interval operator-(const Interval &a);
Interval operator-(const Interval &a, const Interval &b);
Interval operator*(const Interval &a, const Interval &b);
/// All reals if b may be of either sign: the quotient has a pole.
Interval operator/(const Interval &a, const Interval &b);

/// x^n for an integer n; even powers of a signed x are >= 0.
Interval power(const Interval &x, int64_t n);
/// x^y over the x >= 0.
Interval realPower(const Interval &x, const Interval &y);
Interval abs(const Interval &x);
Interval min(const Interval &a, const Interval &b);
Interval max(const Interval &a, const Interval &b);
Interval exp(const Interval &x);
Interval expm1(const Interval &x);
/// Over the x > 0.
Interval log(const Interval &x);
/// Over the x > -1.
Interval log1p(const Interval &x);
/// Over the x >= 0.
Interval sqrt(const Interval &x);
Interval tanh(const Interval &x);
Interval cos(const Interval &x);
Interval sin(const Interval &x);
Interval floor(const Interval &x);

/// The smallest interval that holds both.
Interval hull(const Interval &a, const Interval &b);
/// What is in both; `a` if nothing is, since then no value gets here.
Interval intersect(const Interval &a, const Interval &b);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_INTERVAL_H
