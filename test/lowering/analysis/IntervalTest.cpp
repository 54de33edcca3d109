//===- IntervalTest.cpp - interval arithmetic
//------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Interval.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace attn;

constexpr double kInf = Interval::kInfinity;

TEST(Interval, KeepsOpenAndClosedApart) {
  EXPECT_TRUE(exp(Interval::all()).isPositive());
  EXPECT_EQ(exp(Interval::all()), Interval::above(0));
  EXPECT_EQ(power(Interval::all(), 2), Interval::atLeast(0));
  EXPECT_FALSE(power(Interval::all(), 2).isPositive());
  EXPECT_EQ(power(Interval::open(-1, 1), 2), (Interval{0, 1, false, true}));
  EXPECT_EQ(tanh(Interval::all()), Interval::open(-1, 1));
  EXPECT_EQ(Interval::above(0) + Interval::atLeast(0), Interval::above(0));
  EXPECT_EQ(Interval::above(0) * Interval::atLeast(0), Interval::atLeast(0));
  EXPECT_EQ(abs(Interval::open(-2, 1)), (Interval{0, 2, false, true}));
  EXPECT_EQ(log(Interval::open(0, 1)), Interval::below(0));
  EXPECT_EQ(min(Interval::above(0), Interval::atLeast(0)),
            Interval::atLeast(0));
  EXPECT_EQ(max(Interval::all(), Interval::point(0)), Interval::atLeast(0));
}

TEST(Interval, Quotients) {
  // sigmoid: 1 / (1 + exp(-x)) in (0, 1).
  EXPECT_EQ(Interval::point(1) / (Interval::point(1) + exp(Interval::all())),
            Interval::open(0, 1));
  EXPECT_EQ(Interval::point(1) / Interval::atLeast(0), Interval::above(0));
  EXPECT_EQ(Interval::point(1) / Interval::closed(-1, 1), Interval::all());
  EXPECT_EQ(Interval::point(6) / Interval::closed(2, 4),
            Interval::closed(1.5, 3));
  EXPECT_EQ(Interval::point(1) / Interval::below(0), Interval::below(0));
}

TEST(Interval, Powers) {
  EXPECT_EQ(power(Interval::closed(-3, 2), 3), Interval::closed(-27, 8));
  EXPECT_EQ(power(Interval::closed(-3, 2), 4), Interval::closed(0, 81));
  EXPECT_EQ(power(Interval::closed(2, 4), -2), Interval::closed(1. / 16, 0.25));
  EXPECT_EQ(power(Interval::all(), -2), Interval::above(0));
  EXPECT_EQ(power(Interval::all(), 0), Interval::point(1));
  // 0^y = 0 for y > 0 is attained.
  EXPECT_EQ(realPower(Interval::atLeast(0), Interval::point(2.5)),
            Interval::atLeast(0));
  EXPECT_TRUE(realPower(Interval::above(0), Interval::all()).isPositive());
}

TEST(Interval, RoundsOutwards) {
  Interval third = Interval::point(1) / Interval::point(3);
  EXPECT_LT(third.lo, third.hi);
  EXPECT_LE(third.hi - third.lo, 1e-16);
  // Whatever underflows keeps its sign; whatever overflows stays finite below.
  Interval tiny = Interval::point(1e-200) * Interval::point(1e-200);
  EXPECT_TRUE(tiny.isPositive());
  EXPECT_GT(tiny.hi, 0);
  Interval huge = Interval::point(1e200) * Interval::point(1e200);
  EXPECT_LT(huge.lo, kInf);
  EXPECT_EQ(huge.hi, kInf);
  EXPECT_TRUE(exp(Interval::point(-1e4)).isPositive());
  EXPECT_EQ(Interval::point(0.5) + Interval::point(0.25),
            Interval::point(0.75));
}

namespace {
using Unary = std::pair<std::function<Interval(const Interval &)>,
                        std::function<long double(long double)>>;
using Binary =
    std::pair<std::function<Interval(const Interval &, const Interval &)>,
              std::function<long double(long double, long double)>>;

/// Random intervals of all shapes, and points inside them.
class Draw {
public:
  double end() {
    switch (random() % 6) {
    case 0:
      return 0;
    case 1:
      return static_cast<double>(random() % 5) - 2;
    default:
      return std::normal_distribution<>(0, 3)(random);
    }
  }
  Interval interval() {
    double a = end(), b = end();
    Interval x = Interval::closed(std::min(a, b), std::max(a, b));
    if (random() % 6 == 0)
      x = hull(x, Interval::atLeast(x.lo));
    if (random() % 6 == 0)
      x = hull(x, Interval::atMost(x.hi));
    if (!x.isPoint()) {
      x.loOpen |= random() % 2 == 0;
      x.hiOpen |= random() % 2 == 0;
    }
    return x;
  }
  double inside(const Interval &x) {
    double lo = std::max(x.lo, -50.), hi = std::min(x.hi, 50.);
    if (random() % 4 == 0 && x.contains(0))
      return 0;
    if (random() % 8 == 0 && !x.loOpen)
      return x.lo;
    if (random() % 8 == 0 && !x.hiOpen)
      return x.hi;
    return x.isPoint() ? x.lo
                       : std::uniform_real_distribution<>(lo, hi)(random);
  }
  std::mt19937_64 random{20240601};
};

/// In the interval up to the rounding of long double.
bool holds(const Interval &x, long double y) {
  long double slack = 1e-17L * (1 + std::fabs(y));
  return !std::isfinite(y) || (y >= x.lo - slack && y <= x.hi + slack);
}
} // namespace

TEST(Interval, HoldsTheValuesOfItsMembers) {
  std::vector<Unary> unary = {
      {[](auto &x) { return -x; }, [](auto x) { return -x; }},
      {[](auto &x) { return abs(x); }, [](auto x) { return std::fabs(x); }},
      {[](auto &x) { return exp(x); }, [](auto x) { return std::exp(x); }},
      {[](auto &x) { return expm1(x); }, [](auto x) { return std::expm1(x); }},
      {[](auto &x) { return log(x); },
       [](auto x) { return x > 0 ? std::log(x) : NAN; }},
      {[](auto &x) { return log1p(x); },
       [](auto x) { return x > -1 ? std::log1p(x) : NAN; }},
      {[](auto &x) { return sqrt(x); },
       [](auto x) { return x >= 0 ? std::sqrt(x) : NAN; }},
      {[](auto &x) { return tanh(x); }, [](auto x) { return std::tanh(x); }},
      {[](auto &x) { return cos(x); }, [](auto x) { return std::cos(x); }},
      {[](auto &x) { return sin(x); }, [](auto x) { return std::sin(x); }},
      {[](auto &x) { return floor(x); }, [](auto x) { return std::floor(x); }},
      {[](auto &x) { return power(x, 2); }, [](auto x) { return x * x; }},
      {[](auto &x) { return power(x, 5); },
       [](auto x) { return std::pow(x, 5); }},
      {[](auto &x) { return power(x, -3); },
       [](auto x) { return 1 / (x * x * x); }}};
  std::vector<Binary> binary = {
      {[](auto &x, auto &y) { return x + y; },
       [](auto x, auto y) { return x + y; }},
      {[](auto &x, auto &y) { return x - y; },
       [](auto x, auto y) { return x - y; }},
      {[](auto &x, auto &y) { return x * y; },
       [](auto x, auto y) { return x * y; }},
      {[](auto &x, auto &y) { return x / y; },
       [](auto x, auto y) { return x / y; }},
      {[](auto &x, auto &y) { return min(x, y); },
       [](auto x, auto y) { return std::min(x, y); }},
      {[](auto &x, auto &y) { return max(x, y); },
       [](auto x, auto y) { return std::max(x, y); }},
      {[](auto &x, auto &y) { return hull(x, y); },
       [](auto x, auto) { return x; }},
      {[](auto &x, auto &y) { return realPower(x, y); },
       [](auto x, auto y) { return x >= 0 ? std::pow(x, y) : NAN; }}};
  Draw draw;
  for (int trial = 0; trial < 4000; ++trial) {
    Interval x = draw.interval(), y = draw.interval();
    double a = draw.inside(x), b = draw.inside(y);
    for (size_t n = 0; n < unary.size(); ++n)
      EXPECT_TRUE(holds(unary[n].first(x), unary[n].second(a)))
          << "function " << n << " of " << a << " in " << x.str() << " not in "
          << unary[n].first(x).str();
    for (size_t n = 0; n < binary.size(); ++n)
      EXPECT_TRUE(holds(binary[n].first(x, y), binary[n].second(a, b)))
          << "operation " << n << " of " << a << " in " << x.str() << ", " << b
          << " in " << y.str() << " not in " << binary[n].first(x, y).str();
  }
}

TEST(Interval, OpenEndsAreNotAttained) {
  // Members of the operands never reach an end that the result calls open.
  Draw draw;
  for (int trial = 0; trial < 4000; ++trial) {
    Interval x = draw.interval(), y = draw.interval();
    double a = draw.inside(x), b = draw.inside(y);
    for (const Interval &product : {x * y, y * x})
      if (a == 0 || b == 0) {
        EXPECT_TRUE(product.contains(0)) << x.str() << " * " << y.str();
      }
    if (a == b) {
      EXPECT_TRUE((x - y).contains(0)) << x.str() << " - " << y.str();
    }
  }
}
