//===- Scaled.h - numbers with a split exponent -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gauge of S6 in arithmetic: a value is m * exp(e). exp makes an e,
// products add them, a sum takes the larger one; everything algebraic has e =
// 0. So a kernel of logits in the thousands neither overflows nor underflows,
// and its exponent is there for the row's maximum to be subtracted.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_REFERENCE_SCALED_H
#define ATTN_RUNTIME_REFERENCE_SCALED_H

#include <cmath>
#include <limits>

namespace attn::reference {

/// The number m * exp(e); e is finite.
struct Scaled {
  double m = 0;
  double e = 0;
};

/// The number as a double: 0 or infinity where a double cannot hold it.
inline double plain(Scaled a) {
  if (a.e == 0 || a.m == 0)
    return a.m;
  if (std::abs(a.e) < 600)
    return a.m * std::exp(a.e);
  double half = std::exp(a.e / 2); // m may make up for what exp(e) lacks
  return half > 0 && std::isfinite(half) ? a.m * half * half
                                         : a.m * std::exp(a.e);
}

inline Scaled operator-(Scaled a) { return {-a.m, a.e}; }

inline Scaled operator+(Scaled a, Scaled b) {
  if (a.m == 0)
    return b;
  if (b.m == 0)
    return a;
  if (a.e == b.e)
    return {a.m + b.m, a.e};
  return a.e > b.e ? Scaled{a.m + b.m * std::exp(b.e - a.e), a.e}
                   : Scaled{a.m * std::exp(a.e - b.e) + b.m, b.e};
}
inline Scaled operator-(Scaled a, Scaled b) { return a + (-b); }

/// Moves a mantissa that nears the end of its range into the exponent. Small
/// ones stay: an algebraic kernel below 2^-126 is an empty row (S3).
inline Scaled tamed(Scaled a) {
  if (std::abs(a.m) < 1e150 || !std::isfinite(a.m))
    return a;
  return {std::copysign(1.0, a.m), a.e + std::log(std::abs(a.m))};
}
inline Scaled operator*(Scaled a, Scaled b) {
  return tamed({a.m * b.m, a.e + b.e});
}
inline Scaled operator/(Scaled a, Scaled b) {
  return tamed({a.m / b.m, a.e - b.e});
}

/// exp(x), all of it in the exponent.
inline Scaled scaledExp(double x) {
  if (std::isfinite(x))
    return {1, x};
  return {std::exp(x), 0};
}

inline bool isNaN(Scaled a) { return std::isnan(a.m); }

/// Less than, false if one is not a number.
inline bool operator<(Scaled a, Scaled b) {
  if (a.e == b.e || !std::isfinite(a.m) || !std::isfinite(b.m))
    return a.m < b.m;
  return (a - b).m < 0;
}
inline bool operator==(Scaled a, Scaled b) {
  if (a.e == b.e || !std::isfinite(a.m) || !std::isfinite(b.m))
    return a.m == b.m;
  return (a - b).m == 0;
}

/// base^n. Above degree 4 the magnitude goes to the exponent, which is the
/// running power of two of S6.
inline Scaled scaledPower(Scaled base, long n) {
  if (n == 0)
    return {1, 0};
  if (std::abs(n) <= 4 || base.m == 0 || !std::isfinite(base.m)) {
    Scaled result = base;
    for (long t = std::abs(n); t > 1 && t <= 4; --t)
      result = result * base;
    if (std::abs(n) > 4)
      result = {std::pow(base.m, static_cast<double>(std::abs(n))), 0};
    return n < 0 ? Scaled{1, 0} / result : result;
  }
  double sign = n % 2 != 0 && base.m < 0 ? -1 : 1;
  return {sign, n * (std::log(std::abs(base.m)) + base.e)};
}

/// base^y with a real exponent: algebraic in the base.
inline Scaled scaledPower(Scaled base, double y) {
  if (base.e == 0)
    return {std::pow(base.m, y), 0};
  return {std::pow(base.m, y), base.e * y};
}
/// base^y where y changes from pair to pair: an exponential, as in g^(i - j).
inline Scaled scaledExponential(Scaled base, double y) {
  if (base.m > 0 && std::isfinite(base.m) && std::isfinite(y))
    return {1, y * (std::log(base.m) + base.e)};
  return {std::pow(plain(base), y), 0};
}

} // namespace attn::reference

#endif // ATTN_RUNTIME_REFERENCE_SCALED_H
