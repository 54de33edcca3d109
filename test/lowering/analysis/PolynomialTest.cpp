//===- PolynomialTest.cpp - signs of polynomials, exactly -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Polynomial.h"
#include "lowering/analysis/Univariate.h"

#include <gtest/gtest.h>
#include <random>

using namespace attn;

static std::vector<Rational> coefficients(std::vector<int> numerators,
                                          int denominator = 1) {
  std::vector<Rational> result;
  for (int n : numerators)
    result.push_back(Rational(n) / Rational(denominator));
  return result;
}

TEST(Univariate, SignsOnTheLine) {
  Interval all = Interval::all();
  // 1 + s + s^2/2 + s^3/6 + s^4/24, and one order less.
  EXPECT_EQ(signOnInterval(coefficients({24, 24, 12, 4, 1}, 24), all),
            Interval::above(0));
  EXPECT_EQ(signOnInterval(coefficients({6, 6, 3, 1}, 6), all), all);
  // (s + 1)^2, (s + 1)^2 (s^2 + 1), -(s - 1)^4, s^2 - 1, 0, -3.
  EXPECT_EQ(signOnInterval(coefficients({1, 2, 1}), all), Interval::atLeast(0));
  EXPECT_EQ(signOnInterval(coefficients({1, 2, 2, 2, 1}), all),
            Interval::atLeast(0));
  EXPECT_EQ(signOnInterval(coefficients({-1, 4, -6, 4, -1}), all),
            Interval::atMost(0));
  EXPECT_EQ(signOnInterval(coefficients({-1, 0, 1}), all), all);
  EXPECT_EQ(signOnInterval({}, all), Interval::point(0));
  EXPECT_EQ(signOnInterval(coefficients({-3}), all), Interval::below(0));
}

TEST(Univariate, EndsOfTheDomain) {
  std::vector<Rational> p = coefficients({-1, 0, 1}); // s^2 - 1
  EXPECT_EQ(signOnInterval(p, Interval::closed(-1, 1)), Interval::atMost(0));
  EXPECT_EQ(signOnInterval(p, Interval::open(-1, 1)), Interval::below(0));
  EXPECT_EQ(signOnInterval(p, Interval::atLeast(1)), Interval::atLeast(0));
  EXPECT_EQ(signOnInterval(p, Interval::above(1)), Interval::above(0));
  EXPECT_EQ(signOnInterval(p, Interval::below(-1)), Interval::above(0));
  EXPECT_EQ(signOnInterval(p, Interval::closed(0, 2)), Interval::all());
  EXPECT_EQ(signOnInterval(p, Interval::point(1)), Interval::point(0));
  EXPECT_EQ(signOnInterval(p, Interval::point(3)), Interval::above(0));
  // s^3 on s >= 0, and a triple root inside.
  EXPECT_EQ(signOnInterval(coefficients({0, 0, 0, 1}), Interval::atLeast(0)),
            Interval::atLeast(0));
  EXPECT_EQ(signOnInterval(coefficients({0, 0, 0, 1}), Interval::closed(-1, 1)),
            Interval::all());
}

TEST(Univariate, AgreesWithTheRootsItWasMadeOf) {
  std::mt19937_64 random(7);
  auto small = [&](int range) { return static_cast<int>(random() % range); };
  for (int trial = 0; trial < 400; ++trial) {
    // A product of powers of (s - r), and perhaps of (s^2 + 1).
    std::vector<std::pair<int, int>> roots;
    for (int n = small(4); n > 0; --n)
      roots.push_back({small(7) - 3, 1 + small(3)});
    Polynomial s = Polynomial::atom(0), one = Polynomial::constant(Rational(1));
    Polynomial p = small(2) ? s * s + one : one;
    int sign = small(2) ? 1 : -1;
    p = p.scaled(Rational(sign));
    for (auto [root, multiplicity] : roots)
      for (int n = 0; n < multiplicity; ++n)
        p = p * (s - Polynomial::constant(Rational(root)));
    int lo = small(9) - 4, hi = lo + 1 + small(4);
    Interval domain = {double(lo), double(hi), small(2) == 0, small(2) == 0};
    // The sign at halves and thirds between, and whether it vanishes inside.
    bool positive = false, negative = false, zero = false;
    for (int t = lo * 6; t <= hi * 6; ++t) {
      double x = t / 6.0;
      if (!domain.contains(x))
        continue;
      double value = sign;
      for (auto [root, multiplicity] : roots)
        value *= std::pow(x - root, multiplicity);
      (value > 0 ? positive : value < 0 ? negative : zero) = true;
    }
    std::vector<Polynomial> parts = p.inPowersOf(0);
    std::vector<Rational> c;
    for (const Polynomial &part : parts)
      c.push_back(part.isZero() ? Rational(0) : part.terms().begin()->second);
    Interval expected = positive && negative ? Interval::all()
                        : zero               ? Interval::atLeast(0)
                                             : Interval::above(0);
    if (negative && !positive)
      expected = -expected;
    EXPECT_EQ(signOnInterval(c, domain), expected) << "trial " << trial;
  }
}

TEST(Polynomial, SquareRoots) {
  Polynomial x = Polynomial::atom(0), y = Polynomial::atom(1),
             z = Polynomial::atom(2);
  for (const Polynomial &q :
       {x + y, x - y.scaled(Rational(3)), x * y + z,
        x * x + x * y - z + Polynomial::constant(Rational(2)),
        (x + y) * (x + y) * (y - z)}) {
    std::optional<Polynomial> root = squareRoot(q * q);
    ASSERT_TRUE(root);
    EXPECT_TRUE((*root * *root - q * q).isZero());
    EXPECT_FALSE(squareRoot(q * q + x));
  }
  EXPECT_FALSE(squareRoot(x));
  EXPECT_FALSE(squareRoot(x * x + y * y));
}

TEST(Polynomial, Signs) {
  Polynomial s = Polynomial::atom(0), b = Polynomial::atom(1),
             r = Polynomial::atom(2);
  std::vector<Interval> ranges = {Interval::all(), Interval::all(),
                                  Interval::atLeast(0)};
  auto nonnegative = [&](const Polynomial &p) {
    return signOf(p, ranges).isNonNegative();
  };
  Polynomial square = s * s + (s * b).scaled(Rational(2)) + b * b;
  EXPECT_TRUE(nonnegative(square));
  EXPECT_TRUE(nonnegative(square * square));
  EXPECT_TRUE(nonnegative(square.scaled(Rational(3))));
  EXPECT_TRUE(nonnegative(square + r));
  EXPECT_TRUE(nonnegative(square * r));
  EXPECT_TRUE(nonnegative(s * s + s * b + b * b));
  EXPECT_FALSE(nonnegative(square - r));
  EXPECT_FALSE(nonnegative(s * s + (s * b).scaled(Rational(3)) + b * b));
  EXPECT_FALSE(nonnegative(s * r));
  EXPECT_FALSE(nonnegative(s * b));
  EXPECT_FALSE(nonnegative(square * s));
  EXPECT_TRUE(signOf(square.scaled(Rational(-1)), ranges).isNonPositive());
}
