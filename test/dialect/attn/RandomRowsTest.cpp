//===- RandomRowsTest.cpp - random rows and what is made of them ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bits from a second implementation in Python; features from the float64
// oracle; moments by their theorems, at seeds where they hold.
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/RandomRows.h"
#include "Inputs/oracle_features.inc"

#include <gtest/gtest.h>

using namespace attn;

namespace {

RandomRows rowsOf(int64_t count, int64_t length, int64_t seed) {
  RandomRows rows;
  rows.count = count;
  rows.length = length;
  rows.seed = seed;
  return rows;
}

double dot(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t d = 0; d < n; ++d)
    sum += double(a[d]) * b[d];
  return sum;
}

TEST(RandomRows, AreTheSameEverywhere) {
  EXPECT_EQ(rowsOf(2, 4, 7).draw(),
            (std::vector<float>{1.7551688f, -0.539062083f, 1.12826002f,
                                -0.144677401f, 0.352708697f, 0.50622499f,
                                -0.817819655f, 0.401660532f}));
  RandomRows other = rowsOf(1, 4, -1);
  other.stream = 3;
  EXPECT_EQ(other.draw(), (std::vector<float>{0.0328270309f, 0.339040279f,
                                              -1.10578537f, -1.05397272f}));
}

TEST(RandomRows, MoreOfThemLeaveTheFirstAsTheyAre) {
  for (bool orthogonal : {false, true}) {
    RandomRows few = rowsOf(5, 8, 1), many = rowsOf(40, 8, 1);
    few.orthogonal = many.orthogonal = orthogonal;
    std::vector<float> a = few.draw(), b = many.draw();
    EXPECT_EQ(a, std::vector<float>(b.begin(), b.begin() + 40));
  }
  EXPECT_NE(rowsOf(1, 8, 1).draw(), rowsOf(1, 8, 2).draw());
}

TEST(RandomRows, AreNormal) {
  std::vector<float> x = rowsOf(1000, 64, 3).draw();
  double moments[5] = {};
  for (float c : x)
    for (int p = 1; p <= 4; ++p)
      moments[p] += std::pow(double(c), p) / double(x.size());
  // Standard deviations: 1, sqrt(2), sqrt(15) and sqrt(96), over 253.
  EXPECT_NEAR(moments[1], 0, 0.015);
  EXPECT_NEAR(moments[2], 1, 0.02);
  EXPECT_NEAR(moments[3], 0, 0.06);
  EXPECT_NEAR(moments[4], 3, 0.15);
}

TEST(RandomRows, OrthogonalInBlocksWithNormalNorms) {
  constexpr int64_t n = 16, count = 40;
  RandomRows wanted = rowsOf(count, n, 5);
  wanted.orthogonal = true;
  std::vector<float> w = wanted.draw();
  double norms = 0;
  for (int64_t a = 0; a < count; ++a) {
    norms += dot(&w[a * n], &w[a * n], n) / count;
    for (int64_t b = a / n * n; b < a; ++b)
      EXPECT_NEAR(dot(&w[a * n], &w[b * n], n), 0, 1e-5);
  }
  EXPECT_NEAR(norms, n, 4 * std::sqrt(2.0 * n / count));
  // From block to block they are not.
  EXPECT_GT(std::fabs(dot(&w[0], &w[n * n], n)), 1e-3);
}

TEST(RandomRows, AnchorsAreUnits) {
  RandomRows wanted = rowsOf(9, 5, 5);
  wanted.anchors = true;
  std::vector<float> w = wanted.draw();
  for (int64_t r = 0; r < 9; ++r)
    EXPECT_NEAR(dot(&w[r * 5], &w[r * 5], 5), 1, 1e-6);
}

void compare(RandomKind kind, bool hyperbolic, const float *rows,
             const float *xs, const double *expected, int64_t channels) {
  for (int64_t t = 0; t < 2; ++t) {
    std::vector<double> x(xs + 8 * t, xs + 8 * t + 8), y(channels);
    randomFeatures(kind, hyperbolic, rows, 8, x.data(), 8, y.data());
    for (int64_t r = 0; r < channels; ++r)
      EXPECT_NEAR(y[r], expected[t * channels + r],
                  1e-12 * std::max(1.0, expected[t * channels + r]));
  }
}

TEST(RandomFeatures, AgreeWithTheOracle) {
  compare(RandomKind::Positive, false, kPositiveRows, kPositiveX,
          kPositiveFeatures, 8);
  compare(RandomKind::Positive, true, kHyperbolicRows, kHyperbolicX,
          kHyperbolicFeatures, 16);
  compare(RandomKind::Trigonometric, false, kTrigonometricRows, kTrigonometricX,
          kTrigonometricFeatures, 16);
}

TEST(RandomFeatures, StabilisedIsPositiveOverItsLargest) {
  const std::vector<double> x(kPositiveX, kPositiveX + 8);
  for (bool hyperbolic : {false, true}) {
    std::vector<double> plain(hyperbolic ? 16 : 8), stable(plain.size());
    randomFeatures(RandomKind::Positive, hyperbolic, kPositiveRows, 8, x.data(),
                   8, plain.data());
    randomFeatures(RandomKind::Stabilised, hyperbolic, kPositiveRows, 8,
                   x.data(), 8, stable.data());
    double largest = *std::max_element(plain.begin(), plain.end());
    for (size_t r = 0; r < plain.size(); ++r)
      EXPECT_NEAR(stable[r], plain[r] / largest, 1e-12);
  }
}

/// The mean of many features is the kernel, within four standard errors of
/// what the variance formulas say (Choromanski et al. 2021, lemma 2; for the
/// trigonometric ones (1 - exp(-r))^2 / 2).
TEST(RandomFeatures, AreUnbiased) {
  constexpr int64_t m = 20000, n = 6;
  std::vector<float> w = rowsOf(m, n, 11).draw();
  std::vector<double> x = {0.3, -0.2, 0.5, 0.1, -0.4, 0.2},
                      y = {0.1, 0.4, 0.2, -0.3, -0.1, 0.6};
  double product = 0, sum = 0, distance = 0;
  for (int64_t d = 0; d < n; ++d) {
    product += x[d] * y[d];
    sum += (x[d] + y[d]) * (x[d] + y[d]);
    distance += (x[d] - y[d]) * (x[d] - y[d]);
  }
  auto estimate = [&](RandomKind kind, bool hyperbolic) {
    std::vector<double> a(2 * m), b(2 * m);
    randomFeatures(kind, hyperbolic, w.data(), m, x.data(), n, a.data());
    randomFeatures(kind, hyperbolic, w.data(), m, y.data(), n, b.data());
    double total = 0;
    for (int64_t r = 0; r < 2 * m; ++r)
      total += a[r] * b[r];
    return total / (hyperbolic ? 2 * m : m);
  };
  double kernel = std::exp(product), error = std::sqrt(std::expm1(sum) / m);
  EXPECT_NEAR(estimate(RandomKind::Positive, false) / kernel, 1, 4 * error);
  EXPECT_NEAR(estimate(RandomKind::Positive, true) / kernel, 1,
              4 * error * std::sqrt(-std::expm1(-sum) / 2));
  EXPECT_NEAR(estimate(RandomKind::Trigonometric, false),
              std::exp(-distance / 2),
              4 * -std::expm1(-distance) / std::sqrt(2.0 * m));
}

/// No row, however long, makes a feature that is not finite in f32.
TEST(RandomFeatures, StayInRange) {
  constexpr int64_t m = 64, n = 256;
  std::vector<float> w = rowsOf(m, n, 1).draw();
  for (double scale : {1e-3, 1.0, 2.0, 100.0, 1e6}) {
    std::vector<double> x(w.begin(), w.begin() + n), y(2 * m); // along w_0
    for (double &c : x)
      c *= scale;
    for (RandomKind kind : {RandomKind::Positive, RandomKind::Stabilised}) {
      randomFeatures(kind, true, w.data(), m, x.data(), n, y.data());
      for (double c : y)
        EXPECT_TRUE(c >= 0 && c <= std::exp(kLargestFeatureExponent)) << c;
    }
  }
}

} // namespace
