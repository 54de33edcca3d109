//===- FeatureSeries.cpp - kernels as polynomials of a dot ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// taylor: exp(e) with e = s + f(q) + g(k), s linear in a dot, is
// exp(f) exp(g) T(s) with T the first terms of the series at 0; Gaussians too,
// since |q - k|^2 = |q|^2 + |k|^2 - 2 q.k (Keles, Wijewardena and Hegde 2023,
// arXiv 2209.04881, section 4). Of even order T is positive: at its minimum
// T = T' + s^n/n! = s^n/n!.
//
// maclaurin: a function of s = q.k on the unit sphere by its first terms; the
// spherical Yat (s + b)^2 / (c - 2 s), c = 2 + eps, has coefficients
// b^2 g_n + 2 b g_{n-1} + g_{n-2} with g_n = 2^n / c^{n+1}. Of even order and
// with b >= 0 that is non-negative: with x = 2 s / c and A_n = sum_{m<=n} x^m
// it is b^2 A_n + 2 b s A_{n-1} + s^2 A_{n-2}, times 1/c, a form of
// discriminant A_{n-1}^2 - A_n A_{n-2} = x^{n-1} in b and s, which is negative
// for s < 0; for s >= 0 every term is non-negative.
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Series.h"
#include "lowering/schedule/FeatureRewriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using namespace mlir;
using namespace attn;

/// sum_n coefficients[n] s^n; null coefficients are 0.
Value FeatureRewriter::horner(ArrayRef<Value> coefficients, Value s) {
  Value sum;
  for (Value c : llvm::reverse(coefficients))
    sum = plus(sum ? times(sum, s) : Value(), c);
  return sum;
}

//===----------------------------------------------------------------------===//
// Taylor
//===----------------------------------------------------------------------===//

/// T(s) exp(-s) - 1.
static double relativeError(double s, int64_t order) {
  double term = 1, sum = 1;
  for (int64_t n = 1; n <= order; ++n)
    sum += term *= s / static_cast<double>(n);
  return std::fabs(sum * std::exp(-s) - 1);
}

/// The largest |s| on that side up to which the error stays below a tenth.
static double goodUpTo(double side, int64_t order) {
  double s = 0;
  constexpr double step = 0.01, far = 100;
  while (s < far && relativeError(side * (s + step), order) <= 0.1)
    s += step;
  return s;
}

static std::string shown(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

Value FeatureRewriter::taylor() {
  int64_t order = features.getOrder();
  bool even = order % 2 == 0, found = false, nonnegative = even;
  double largest = 0;
  Value kappa;
  for (const auto &[monomial, coefficient] : form.kappa().terms()) {
    Polynomial rest = Polynomial::constant(coefficient);
    Value series;
    for (auto [id, power] : monomial) {
      const FormAtom atom = form.atom(id);
      if (atom.kind != FormAtom::Exp || atom.axes != PairAxes) {
        for (unsigned n = 0; n < power; ++n)
          rest = rest * Polynomial::atom(id);
        continue;
      }
      Polynomial exponent = atom.args[0].scaled(Rational(int64_t(power)));
      for (const auto &term : exponent.terms()) {
        unsigned dots = 0;
        for (auto [factor, times] : term.first) {
          bool dot = isPairDot(factor) && times == 1;
          dots += dot;
          if (!dot && form.atom(factor).axes == PairAxes)
            return refuse("taylor expands exp(e) where e is linear in a dot of "
                          "q and k, and may have terms of one side beside it; "
                          "leave the line out to use the exact kernel",
                          form.originOf(factor));
        }
        if (dots != 1)
          return refuse("taylor expands exp(e) where e is linear in a dot of q "
                        "and k, and this exponent is not",
                        form.originOf(id));
      }
      found = true;
      if (auto scaledDot = asScaledDot(exponent))
        largest = std::max(largest,
                           std::fabs(numberOf(scaledDot->first)) *
                               std::sqrt(double(lengthOf(scaledDot->second))));
      else
        largest = NAN;
      for (const auto &term : exponent.terms())
        for (auto [factor, times] : term.first)
          if (isPairDot(factor)) {
            double channels = 1;
            auto n = static_cast<double>(lengthOf(factor));
            for (int64_t t = 1; t <= order; ++t)
              channels = channels * (n + double(t)) / double(t);
            if (!countChannels(channels, lengthOf(factor), order))
              return {};
          }
      Value s = emit.scalar(exponent);
      if (!s)
        return refuse("taylor: the exponent has no form in the kernel language",
                      form.originOf(id));
      SmallVector<Value> coefficients;
      double factorial = 1;
      for (int64_t n = 0; n <= order; ++n) {
        factorial *= n > 0 ? double(n) : 1;
        coefficients.push_back(real(1 / factorial));
      }
      series = times(series, horner(coefficients, s));
    }
    nonnegative &= form.rangeOf(rest).isNonNegative();
    Value factor = numberOf(rest) == 1 && series ? Value() : emit.scalar(rest);
    if (!series && !factor)
      return refuse("taylor: kappa has no form in the kernel language");
    kappa = plus(kappa, times(factor, series));
  }
  if (!found)
    return refuse("taylor expands exp(e) where e is linear in a dot of q and "
                  "k, and kappa has no such exponential; leave the line out to "
                  "use the exact kernel");
  if (!even && !mayBeSigned())
    return refuse("a Taylor polynomial of odd order is negative far below 0, "
                  "and a mass must not be; write order = " +
                  Twine(order + 1) + " or `allow signed`");
  if (nonnegative)
    signReason = "a Taylor polynomial of exp of even order is positive: at its "
                 "minimum it is s^" +
                 std::to_string(order) + "/" + std::to_string(order) + "!";
  report.formula = "sum_{n <= " + std::to_string(order) +
                   "} s^n/n! in place of exp(s), the rest as it was";
  report.source = "Keles, Wijewardena and Hegde 2023, arXiv 2209.04881, 4";
  std::string good = "below 10% for s from -" + shown(goodUpTo(-1, order)) +
                     " to " + shown(goodUpTo(1, order));
  if (largest > 0) {
    report.error =
        std::max(relativeError(largest, order), relativeError(-largest, order));
    report.condition = "at s = +-" + shown(largest) +
                       ", one standard deviation for rows of independent "
                       "standard normal coordinates; " +
                       good;
    if (!(report.error <= 0.5))
      report.warning = "rows of that size are outside of the range where the "
                       "series is close: scale them down or raise the order";
  } else {
    report.condition = good;
  }
  return kappa;
}

//===----------------------------------------------------------------------===//
// Maclaurin
//===----------------------------------------------------------------------===//

Value FeatureRewriter::maclaurin() {
  auto order = static_cast<unsigned>(features.getOrder());
  Polynomial kappa = onSphere(form.kappa());
  std::optional<AtomId> dot = onlyDot(form, kappa);
  if (!dot || !isPairDot(*dot) || !isUnit(form.atom(*dot).rows[0]) ||
      !isUnit(form.atom(*dot).rows[1]))
    return refuse("maclaurin expands kernels of dot(q, k) on the unit sphere, "
                  "as (dot(q, k) + b)^2/(sqdist(q, k) + eps) is; write q = "
                  "unit(q) and k = unit(k), and nothing else of q and k");
  std::vector<Polynomial> series = taylorSeries(form, kappa, *dot, order + 1);
  if (series.empty())
    return refuse("maclaurin: " + form.str(kappa) +
                      " has no power series in dot(q, k) that the rules know",
                  form.originOf(*dot));
  int64_t length = lengthOf(*dot);
  double channels = 1;
  for (unsigned n = 1; n <= order; ++n)
    channels = channels * (double(length) + n) / n;
  if (!countChannels(channels, length, order))
    return {};
  bool even = order % 2 == 0;
  std::optional<Spherical> yat = asSpherical();
  if (even && yat)
    if (std::optional<Polynomial> root = squareRoot(yat->numerator)) {
      std::vector<Polynomial> c = root->inPowersOf(*dot);
      if (c.size() == 2 && form.rangeOf(c[1]).isPositive() &&
          form.rangeOf(c[0]).isNonNegative())
        signReason = "the power series of (s + b)^2/(c - 2 s) with b >= 0, cut "
                     "at an even order, is non-negative";
    }
  if (!even && !mayBeSigned())
    return refuse("a power series cut at an odd order may be negative, and a "
                  "mass must not be; write order = " +
                  Twine(order + 1) + " or `allow signed`");

  Value s = emit.scalar(Polynomial::atom(*dot));
  SmallVector<Value> coefficients;
  for (const Polynomial &c : series) {
    coefficients.push_back(c.isZero() ? Value() : emit.scalar(c));
    if (!c.isZero() && !coefficients.back())
      s = {};
  }
  Value result = s ? horner(coefficients, s) : Value();
  if (!result)
    return refuse("maclaurin: kappa has no form in the kernel language");
  report.formula =
      "its power series in s = " + form.str(Polynomial::atom(*dot)) + " to s^" +
      std::to_string(order);
  report.source = "Schoenberg 1942, Duke Math. J. 9, for what is positive "
                  "definite on spheres";
  // The tail of a geometric series, from where the numerator has ended.
  if (yat) {
    double ratio = numberOf(form.multiply(yat->slope.scaled(Rational(-1)),
                                          form.power(yat->constant, -1)));
    unsigned degree = yat->numerator.degreeIn(*dot);
    std::string text = form.str(form.multiply(yat->slope.scaled(Rational(-1)),
                                              form.power(yat->constant, -1)));
    int tail = int(order) - int(degree) + 1;
    report.condition = "(" + text + ")^" + std::to_string(tail) +
                       " at s = 1, (" + text + "*|s|)^" + std::to_string(tail) +
                       " elsewhere, where b = 0";
    if (!std::isnan(ratio)) {
      report.error = std::pow(ratio, tail);
      report.condition = "at s = 1; it falls as |s|^" + std::to_string(tail);
    }
    if (report.error > 0.5)
      report.warning = "pairs that nearly coincide get a fraction of their "
                       "weight; raise the order";
  }
  return result;
}
