//===- Rational.h - exact fractions -----------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A polynomial that touches zero, like s^2 + 2s + 1, is non-negative by a
// margin of nothing: only exact arithmetic can tell.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_RATIONAL_H
#define ATTN_LOWERING_ANALYSIS_RATIONAL_H

#include "llvm/ADT/DynamicAPInt.h"
#include <cmath>
#include <optional>

namespace attn {

/// A fraction in lowest terms with a positive denominator.
class Rational {
public:
  Rational() : Rational(0) {}
  explicit Rational(int64_t n) : num(n), den(1) {}
  Rational(llvm::DynamicAPInt n, llvm::DynamicAPInt d)
      : num(std::move(n)), den(std::move(d)) {
    if (den < 0) {
      num = -num;
      den = -den;
    }
    llvm::DynamicAPInt divisor = gcd(abs(num), den);
    if (divisor > 1) {
      num /= divisor;
      den /= divisor;
    }
  }

  /// Every double is a fraction; those of absurd size are refused.
  static std::optional<Rational> fromDouble(double x) {
    constexpr int largest = 200;
    int exponent = 0;
    double mantissa = std::frexp(x, &exponent);
    if (!std::isfinite(x) || std::abs(exponent) > largest)
      return std::nullopt;
    llvm::DynamicAPInt n(static_cast<int64_t>(std::ldexp(mantissa, 53)));
    llvm::DynamicAPInt power(1);
    for (int k = 0; k < std::abs(exponent - 53); ++k)
      power *= 2;
    return exponent >= 53 ? Rational(n * power, llvm::DynamicAPInt(1))
                          : Rational(n, power);
  }

  const llvm::DynamicAPInt &numerator() const { return num; }
  const llvm::DynamicAPInt &denominator() const { return den; }
  /// -1, 0 or 1.
  int sign() const { return num > 0 ? 1 : num < 0 ? -1 : 0; }

  Rational operator-() const { return {-num, den}; }
  friend Rational operator+(const Rational &a, const Rational &b) {
    return {a.num * b.den + b.num * a.den, a.den * b.den};
  }
  friend Rational operator-(const Rational &a, const Rational &b) {
    return a + -b;
  }
  friend Rational operator*(const Rational &a, const Rational &b) {
    return {a.num * b.num, a.den * b.den};
  }
  /// b is not zero.
  friend Rational operator/(const Rational &a, const Rational &b) {
    return {a.num * b.den, a.den * b.num};
  }
  friend bool operator==(const Rational &a, const Rational &b) {
    return a.num == b.num && a.den == b.den;
  }

private:
  llvm::DynamicAPInt num, den;
};

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_RATIONAL_H
