//===- Interval.cpp - interval arithmetic, rounded outwards ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Interval.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace attn;

static constexpr double kInf = Interval::kInfinity;
/// Below this a product's rounding error may itself be denormal.
static constexpr double kTiny = 1e-290;

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

namespace {
/// One end of an interval.
struct End {
  double value;
  bool open;
};
enum class Side { Lower, Upper };
} // namespace

/// The end that holds a result computed as `value`, whose exact value is
/// `value + error` up to the sign of `error`. An end that was rounded is open:
/// the exact one lies strictly inside.
static End rounded(double value, double error, bool open, Side side) {
  bool lower = side == Side::Lower;
  if (std::isinf(value)) {
    if (lower == (value > 0)) // overflowed away from the interval's outside
      return {lower ? std::numeric_limits<double>::max()
                    : std::numeric_limits<double>::lowest(),
              true};
    return {value, true};
  }
  if (lower ? error < 0 : error > 0)
    return {std::nextafter(value, lower ? -kInf : kInf), true};
  return {value, open || error != 0};
}

static End addEnds(End a, End b, Side side) {
  if (std::isinf(a.value) || std::isinf(b.value))
    return {side == Side::Lower ? -kInf : kInf, true};
  double sum = a.value + b.value;
  double bb = sum - a.value; // Knuth's two-sum: the error is exact
  double error = std::isinf(sum) ? 0 : (a.value - (sum - bb)) + (b.value - bb);
  return rounded(sum, error, a.open || b.open, side);
}

static End multiplyEnds(End a, End b, Side side) {
  if (a.value == 0 || b.value == 0) {
    // A zero that is attained makes the product attain zero, whatever the rest.
    bool attained = (a.value == 0 && !a.open) || (b.value == 0 && !b.open);
    return {0, !attained};
  }
  bool open = a.open || b.open;
  double product = a.value * b.value;
  if (std::isinf(a.value) || std::isinf(b.value))
    return {product, true};
  if (std::isinf(product))
    return rounded(product, 0, open, side);
  if (std::fabs(product) < kTiny) {
    // Keep the sign: a product of positives is above zero however small.
    bool positive = (a.value > 0) == (b.value > 0);
    if (side == Side::Lower)
      return {positive ? std::max(0.0, std::nextafter(product, -kInf))
                       : std::nextafter(product, -kInf),
              true};
    return {positive ? std::nextafter(product, kInf)
                     : std::min(0.0, std::nextafter(product, kInf)),
            true};
  }
  return rounded(product, std::fma(a.value, b.value, -product), open, side);
}

/// 1/a of an end that is not zero, or is a zero approached from `sign`'s side.
static End invertEnd(End a, double sign, Side side) {
  if (a.value == 0)
    return {std::copysign(kInf, sign), true};
  if (std::isinf(a.value))
    return {0, true};
  double quotient = 1 / a.value;
  if (std::isinf(quotient))
    return rounded(quotient, 0, a.open, side);
  if (std::fabs(quotient) < kTiny) {
    double outward =
        std::nextafter(quotient, side == Side::Lower ? -kInf : kInf);
    return {outward, true};
  }
  double residual = std::fma(-quotient, a.value, 1.0);
  return rounded(quotient, a.value > 0 ? residual : -residual, a.open, side);
}

static Interval make(End lo, End hi) {
  return {lo.value, hi.value, lo.open || std::isinf(lo.value),
          hi.open || std::isinf(hi.value)};
}
static End lower(const Interval &x) { return {x.lo, x.loOpen}; }
static End upper(const Interval &x) { return {x.hi, x.hiOpen}; }

static End smaller(End a, End b) {
  if (a.value != b.value)
    return a.value < b.value ? a : b;
  return {a.value, a.open && b.open};
}
static End larger(End a, End b) {
  if (a.value != b.value)
    return a.value > b.value ? a : b;
  return {a.value, a.open && b.open};
}

/// An end of a monotone library function: its result to within a few ulp,
/// widened, but never past the function's own limits.
template <typename Function>
static End widened(End x, Side side, Function function, double limitLow,
                   double limitHigh) {
  double y = function(x.value);
  double exact = function(0.0);
  if (x.value == 0)
    return {exact, x.open}; // 0 -> 0 or 1 in every function used here
  bool low = side == Side::Lower;
  for (int ulp = 0; ulp < 4; ++ulp)
    y = std::nextafter(y, low ? -kInf : kInf);
  if (low ? y <= limitLow : y >= limitHigh)
    return {low ? limitLow : limitHigh, true};
  return {y, true};
}

template <typename Function>
static Interval increasing(const Interval &x, Function function,
                           double limitLow, double limitHigh) {
  return make(widened(lower(x), Side::Lower, function, limitLow, limitHigh),
              widened(upper(x), Side::Upper, function, limitLow, limitHigh));
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

Interval Interval::closed(double lo, double hi) {
  return {lo, hi, std::isinf(lo), std::isinf(hi)};
}

bool Interval::contains(double x) const {
  return (x > lo || (x == lo && !loOpen)) && (x < hi || (x == hi && !hiOpen));
}

bool Interval::operator==(const Interval &other) const {
  return lo == other.lo && hi == other.hi && loOpen == other.loOpen &&
         hiOpen == other.hiOpen;
}

std::string Interval::str() const {
  char text[80];
  std::snprintf(text, sizeof(text), "%c%g, %g%c", loOpen ? '(' : '[', lo, hi,
                hiOpen ? ')' : ']');
  return text;
}

Interval attn::hull(const Interval &a, const Interval &b) {
  return make(smaller(lower(a), lower(b)), larger(upper(a), upper(b)));
}

Interval attn::intersect(const Interval &a, const Interval &b) {
  Interval result = a;
  if (b.lo > a.lo || (b.lo == a.lo && b.loOpen))
    result.lo = b.lo, result.loOpen = b.loOpen;
  if (b.hi < a.hi || (b.hi == a.hi && b.hiOpen))
    result.hi = b.hi, result.hiOpen = b.hiOpen;
  bool empty = result.lo > result.hi ||
               (result.lo == result.hi && (result.loOpen || result.hiOpen));
  return empty ? a : result;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Interval attn::operator+(const Interval &a, const Interval &b) {
  return make(addEnds(lower(a), lower(b), Side::Lower),
              addEnds(upper(a), upper(b), Side::Upper));
}

Interval attn::operator-(const Interval &a) {
  return {-a.hi, -a.lo, a.hiOpen, a.loOpen};
}

Interval attn::operator-(const Interval &a, const Interval &b) {
  return a + -b;
}

Interval attn::operator*(const Interval &a, const Interval &b) {
  End ends[2][2] = {{lower(a), upper(a)}, {lower(b), upper(b)}};
  End lo = multiplyEnds(ends[0][0], ends[1][0], Side::Lower);
  End hi = multiplyEnds(ends[0][0], ends[1][0], Side::Upper);
  for (int corner = 1; corner < 4; ++corner) {
    End x = ends[0][corner & 1], y = ends[1][corner >> 1];
    lo = smaller(lo, multiplyEnds(x, y, Side::Lower));
    hi = larger(hi, multiplyEnds(x, y, Side::Upper));
  }
  return make(lo, hi);
}

static Interval reciprocal(const Interval &x) {
  double sign = x.isNonNegative() ? 1 : -1;
  return make(invertEnd(upper(x), sign, Side::Lower),
              invertEnd(lower(x), sign, Side::Upper));
}

Interval attn::operator/(const Interval &a, const Interval &b) {
  if ((b.lo < 0 && b.hi > 0) || (b.lo == 0 && b.hi == 0))
    return Interval::all();
  return a * reciprocal(b);
}

Interval attn::abs(const Interval &x) {
  if (x.isNonNegative())
    return x;
  if (x.isNonPositive())
    return -x;
  return make({0, false}, larger(upper(x), upper(-x)));
}

/// x^n of an end >= 0 by squaring, rounded outwards at each step.
static End powerOfEnd(End x, uint64_t n, Side side) {
  End result = {1, false};
  for (; n != 0; n >>= 1) {
    if (n & 1)
      result = multiplyEnds(result, x, side);
    if (n > 1)
      x = multiplyEnds(x, x, side);
  }
  return result;
}

Interval attn::power(const Interval &x, int64_t n) {
  if (n == 0)
    return Interval::point(1);
  if (n < 0)
    return Interval::point(1) / power(x, n == INT64_MIN ? INT64_MAX : -n);
  uint64_t m = static_cast<uint64_t>(n);
  if (n % 2 == 0 || x.isNonNegative()) {
    Interval base = abs(x);
    return make(powerOfEnd(lower(base), m, Side::Lower),
                powerOfEnd(upper(base), m, Side::Upper));
  }
  if (x.isNonPositive())
    return -power(-x, n);
  return make(lower(-power(Interval{0, -x.lo, false, x.loOpen}, n)),
              upper(power(Interval{0, x.hi, false, x.hiOpen}, n)));
}

Interval attn::realPower(const Interval &x, const Interval &y) {
  if (x.hi < 0)
    return Interval::all();
  Interval base = intersect(x, Interval::atLeast(0));
  Interval result = exp(y * log(base));
  if (base.hi == 0)
    result = Interval::atLeast(0); // 0, 1 or a pole, by the sign of y
  // 0^y is 0 for y > 0, which exp(y log x) only approaches.
  if (base.contains(0) && y.hi > 0)
    result = hull(result, Interval::point(0));
  return result;
}

Interval attn::min(const Interval &a, const Interval &b) {
  End lo = smaller(lower(a), lower(b));
  // The upper end is the smaller one, and open if either that is there is open.
  End hi = a.hi == b.hi ? End{a.hi, a.hiOpen || b.hiOpen}
                        : smaller(upper(a), upper(b));
  return make(lo, hi);
}

Interval attn::max(const Interval &a, const Interval &b) {
  return -min(-a, -b);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Interval attn::exp(const Interval &x) {
  return increasing(
      x, [](double t) { return std::exp(t); }, 0, kInf);
}

Interval attn::expm1(const Interval &x) {
  return increasing(
      x, [](double t) { return std::expm1(t); }, -1, kInf);
}

Interval attn::log(const Interval &x) {
  if (x.hi <= 0)
    return Interval::all();
  auto end = [](End e, Side side) -> End {
    if (e.value <= 0)
      return {-kInf, true};
    if (e.value == 1)
      return {0, e.open};
    double y = std::log(e.value);
    for (int ulp = 0; ulp < 4; ++ulp)
      y = std::nextafter(y, side == Side::Lower ? -kInf : kInf);
    return {y, true};
  };
  return make(end(lower(x), Side::Lower), end(upper(x), Side::Upper));
}

Interval attn::log1p(const Interval &x) {
  if (x.hi <= -1)
    return Interval::all();
  Interval domain = {std::max(x.lo, -1.0), x.hi, true, x.hiOpen};
  if (x.lo > -1)
    domain.loOpen = x.loOpen;
  return increasing(
      domain, [](double t) { return std::log1p(t); }, -kInf, kInf);
}

Interval attn::sqrt(const Interval &x) {
  if (x.hi < 0)
    return Interval::all();
  auto end = [](End e, Side side) -> End {
    if (e.value <= 0 || std::isinf(e.value))
      return {std::max(e.value, 0.0), e.value == 0 && e.open};
    double y = std::sqrt(e.value);
    return rounded(y, std::fma(-y, y, e.value), e.open, side);
  };
  return make(end(lower(x), Side::Lower), end(upper(x), Side::Upper));
}

Interval attn::tanh(const Interval &x) {
  return increasing(
      x, [](double t) { return std::tanh(t); }, -1, 1);
}

static constexpr double kQuarterTurn = 1.5707963; // below pi / 2

Interval attn::sin(const Interval &x) {
  if (x.lo < -kQuarterTurn || x.hi > kQuarterTurn)
    return Interval::closed(-1, 1);
  return increasing(
      x, [](double t) { return std::sin(t); }, -1, 1);
}

Interval attn::cos(const Interval &x) {
  Interval y = abs(x);
  if (y.hi > kQuarterTurn)
    return Interval::closed(-1, 1);
  auto decreasing = [](double t) { return -std::cos(t); };
  return -increasing(y, decreasing, -1, 0);
}

Interval attn::floor(const Interval &x) {
  return Interval::closed(std::floor(x.lo), std::floor(x.hi));
}
