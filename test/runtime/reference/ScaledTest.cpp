//===- ScaledTest.cpp - numbers with a split exponent, and elements -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Elements.h"
#include "runtime/reference/RowReadout.h"
#include <gtest/gtest.h>

using namespace attn;
using namespace attn::reference;

TEST(Scaled, ExponentsThatNoDoubleHolds) {
  Scaled big = scaledExp(5000), small = scaledExp(-5000);
  EXPECT_EQ(plain(big * small), 1);
  EXPECT_NEAR(plain((big + big) / big), 2, 1e-15);
  EXPECT_TRUE(small < big);
  EXPECT_TRUE(-big < small);
  EXPECT_FALSE(big == small);
  EXPECT_EQ(plain(small), 0);
  EXPECT_EQ(plain(big), INFINITY);
  // m makes up for what exp(e) lacks.
  EXPECT_NEAR(plain({1e-200, 800}) / (std::exp(400) * 1e-200 * std::exp(400)),
              1, 1e-12);
}

TEST(Scaled, ZeroHasNoExponent) {
  Scaled zero = {0, 9000};
  EXPECT_EQ(plain(zero), 0);
  EXPECT_EQ(plain(zero + Scaled{3, 0}), 3);
  EXPECT_TRUE(zero < scaledExp(-5000));
}

TEST(Scaled, PowersAboveFourKeepTheirMagnitude) {
  EXPECT_NEAR(plain(scaledPower({-1.5, 0}, 5L)), -7.59375, 1e-13);
  EXPECT_NEAR(plain(scaledPower({2, 0}, -3L)), 0.125, 0);
  EXPECT_NEAR(plain(scaledPower({0, 0}, 8L)), 0, 0);
  Scaled huge = scaledPower({1e60, 0}, 8L); // 1e480
  EXPECT_NEAR(plain(huge / scaledPower({1e59, 0}, 8L)), 1e8, 1e-3);
}

TEST(Elements, HalfAndBrainRoundOnce) {
  uint16_t half = 0, brain = 0;
  Tensor h(&half, attn::Type::f16, {1}), b(&brain, attn::Type::bf16, {1});
  writeReal(h, 0, 1.0009765625); // 1 + 2^-10
  EXPECT_EQ(half, 0x3c01);
  // Just above the tie between 1 and 1 + 2^-10; by way of float it is the tie.
  writeReal(h, 0, 1 + 0x1p-11 + 0x1p-40);
  EXPECT_EQ(half, 0x3c01);
  writeReal(h, 0, 1 + 0x1p-11);
  EXPECT_EQ(half, 0x3c00);
  writeReal(h, 0, 65520);
  EXPECT_EQ(half, 0x7c00);
  writeReal(h, 0, -0x1p-24);
  EXPECT_EQ(half, 0x8001);
  writeReal(b, 0, 1 + 0x1p-8 + 0x1p-40);
  EXPECT_EQ(brain, 0x3f81);
  writeReal(b, 0, -3.0);
  EXPECT_EQ(brain, 0xc040);
  double value;
  half = 0x8001;
  readReals(h, 0, 1, 1, &value);
  EXPECT_EQ(value, -0x1p-24);
  half = 0x7bff;
  readReals(h, 0, 1, 1, &value);
  EXPECT_EQ(value, 65504);
}

TEST(Elements, BelowTheSmallestNormalIsZero) {
  float data[2] = {0x1p-127f, 0x1p-126f};
  double value[2];
  readReals(Tensor(data, {2}), 0, 1, 2, value);
  EXPECT_EQ(value[0], 0);
  EXPECT_EQ(value[1], 0x1p-126);
}

TEST(RowReadout, FloorReplacesAndDeltaAdds) {
  std::vector<VisibleKey> keys = {{0, {0.25, 0}}, {2, {-0.5, 0}}};
  Denominator d;
  d.delta = 0.125;
  RowResults row = readOut(keys, d);
  EXPECT_EQ(row.mass, -0.25); // without delta
  EXPECT_EQ(row.weights[1], -0.5 / -0.125);
  EXPECT_EQ(row.argmax, 0);
  d.floor = 0.5;
  EXPECT_EQ(readOut(keys, d).weights[0], 0.25 / -0.5);
}

TEST(RowReadout, TheThresholdIsAfterTheGauge) {
  std::vector<VisibleKey> algebraic = {{0, {0x1p-127, 0}}};
  EXPECT_TRUE(readOut(algebraic, {}).empty);
  std::vector<VisibleKey> exponential = {{0, scaledExp(-9000)},
                                         {1, scaledExp(-9001)}};
  RowResults row = readOut(exponential, {});
  EXPECT_FALSE(row.empty);
  EXPECT_NEAR(row.lse, -9000 + std::log1p(std::exp(-1)), 1e-12);
  EXPECT_NEAR(row.weights[0], 1 / (1 + std::exp(-1)), 1e-15);
  EXPECT_NEAR(row.entropy, 0.582203, 1e-6); // of (0.731059, 0.268941)
}

TEST(RowReadout, AnEmptyRowReturnsItsSink) {
  Denominator d;
  d.sink = 3;
  RowResults row = readOut({}, d);
  EXPECT_NEAR(row.mass, std::exp(3), 1e-12);
  EXPECT_EQ(row.lse, 3);
  EXPECT_EQ(row.argmax, -1);
}
