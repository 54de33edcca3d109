//===- SpecialValuesTest.cpp - zeros, infinities, NaN, scalars ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitMath.h"
#include "Ulp.h"

#include <gtest/gtest.h>

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kDenormal = 0x1p-130f;

struct Row {
  const char *function;
  float x, y, expected;
};

/// Exact to the sign of zero. C's Annex F, denormals counting as 0.
const Row table[] = {
    {"exp", 0, 0, 1},
    {"exp", -0.0f, 0, 1},
    {"exp", kDenormal, 0, 1},
    {"exp", -kInfinity, 0, 0},
    {"exp", -1000, 0, 0},
    {"exp", -kMax, 0, 0},
    {"exp", 89, 0, kInfinity},
    {"exp", kMax, 0, kInfinity},
    {"exp", kInfinity, 0, kInfinity},
    {"exp_nonpositive", 0, 0, 1},
    {"exp_nonpositive", -0.0f, 0, 1},
    {"exp_nonpositive", -89, 0, 0},
    {"exp_nonpositive", -kMax, 0, 0},
    {"exp_nonpositive", -kInfinity, 0, 0},
    {"exp2", 0, 0, 1},
    {"exp2", -0.0f, 0, 1},
    {"exp2", 1, 0, 2},
    {"exp2", -126, 0, 0x1p-126f},
    {"exp2", 127, 0, 0x1p127f},
    {"exp2", 128, 0, kInfinity},
    {"exp2", -127, 0, 0},
    {"exp2", -kMax, 0, 0},
    {"exp2", kMax, 0, kInfinity},
    {"exp2", -kInfinity, 0, 0},
    {"exp2", kInfinity, 0, kInfinity},
    {"exp2_nonpositive", 0, 0, 1},
    {"exp2_nonpositive", -1, 0, 0.5f},
    {"exp2_nonpositive", -126, 0, 0x1p-126f},
    {"exp2_nonpositive", -127, 0, 0},
    {"exp2_nonpositive", -kMax, 0, 0},
    {"exp2_nonpositive", -kInfinity, 0, 0},
    {"expm1", 0, 0, 0},
    {"expm1", -0.0f, 0, -0.0f},
    {"expm1", 0x1p-126f, 0, 0x1p-126f},
    {"expm1", -kInfinity, 0, -1},
    {"expm1", -kMax, 0, -1},
    {"expm1", kInfinity, 0, kInfinity},
    {"tanh", 0, 0, 0},
    {"tanh", -0.0f, 0, -0.0f},
    {"tanh", 0x1p-126f, 0, 0x1p-126f},
    {"tanh", kInfinity, 0, 1},
    {"tanh", -kInfinity, 0, -1},
    {"tanh", kMax, 0, 1},
    {"log", 1, 0, 0},
    {"log", 0, 0, -kInfinity},
    {"log", -0.0f, 0, -kInfinity},
    {"log", kDenormal, 0, -kInfinity},
    {"log", -kDenormal, 0, -kInfinity},
    {"log", kInfinity, 0, kInfinity},
    {"log", -1, 0, kNaN},
    {"log", -0x1p-126f, 0, kNaN},
    {"log", -kInfinity, 0, kNaN},
    {"log2", 1, 0, 0},
    {"log2", 8, 0, 3},
    {"log2", 0x1p-126f, 0, -126},
    {"log2", 0, 0, -kInfinity},
    {"log2", kInfinity, 0, kInfinity},
    {"log2", -1, 0, kNaN},
    {"log2", -kInfinity, 0, kNaN},
    {"log1p", 0, 0, 0},
    {"log1p", -0.0f, 0, -0.0f},
    {"log1p", 0x1p-126f, 0, 0x1p-126f},
    {"log1p", -1, 0, -kInfinity},
    {"log1p", -1.0000001f, 0, kNaN},
    {"log1p", -kInfinity, 0, kNaN},
    {"log1p", kInfinity, 0, kInfinity},
    {"sin", 0, 0, 0},
    {"sin", -0.0f, 0, -0.0f},
    {"sin", 0x1p-126f, 0, 0x1p-126f},
    {"sin", kInfinity, 0, kNaN},
    {"sin", -kInfinity, 0, kNaN},
    {"cos", 0, 0, 1},
    {"cos", -0.0f, 0, 1},
    {"cos", kInfinity, 0, kNaN},
    {"powf", 2, 3, 8},
    {"powf", 1, kInfinity, 1},
    {"powf", 1, kNaN, 1},
    {"powf", kNaN, 0, 1},
    {"powf", 0, 0, 1},
    {"powf", kInfinity, 0, 1},
    {"powf", 5, 0, 1},
    {"powf", 5, kDenormal, 1},
    {"powf", 0, 2.5f, 0},
    {"powf", -0.0f, 2.5f, 0},
    {"powf", kDenormal, 2.5f, 0},
    {"powf", 0, -2.5f, kInfinity},
    {"powf", kInfinity, 0.5f, kInfinity},
    {"powf", kInfinity, -0.5f, 0},
    {"powf", 2, kInfinity, kInfinity},
    {"powf", 2, -kInfinity, 0},
    {"powf", 0.5f, kInfinity, 0},
    {"powf", 0.5f, -kInfinity, kInfinity},
    {"powf", 2, 128, kInfinity},
    {"powf", 2, -127, 0},
    {"powf", -1, 2.5f, kNaN},
    {"powf", kNaN, 1, kNaN},
    {"powf", 2, kNaN, kNaN},
    {"pow_m3", 0, 0, kInfinity},
    {"pow_m3", -0.0f, 0, -kInfinity},
    {"pow_m3", -2, 0, -0.125f},
    {"pow_m3", kInfinity, 0, 0},
    {"pow_m1", 4, 0, 0.25f},
    {"pow_0", kNaN, 0, 1},
    {"pow_2", -3, 0, 9},
    {"pow_7", -2, 0, -128},
    {"pow_half", 0, 0, 0},
    {"pow_half", -0.0f, 0, 0},
    {"pow_m2half", -0.0f, 0, kInfinity},
    {"pow_4half", -0.0f, 0, 0},
    {"pow_half", -1, 0, kNaN},
    {"pow_half", kInfinity, 0, kInfinity},
    {"pow_m2half", 0, 0, kInfinity},
    {"pow_m2half", 4, 0, 0.03125f},
    {"pow_m2half", kInfinity, 0, 0},
    {"pow_4half", 4, 0, 512},
    {"pow_4half", -4, 0, kNaN},
    {"fma", 3, 4, 13},
    {"floor", -0.5f, 0, -1},
    {"floor", -0.0f, 0, -0.0f},
    {"floor", kInfinity, 0, kInfinity},
};

const char *const unary[] = {"exp",   "exp_nonpositive",
                             "exp2",  "exp2_nonpositive",
                             "expm1", "tanh",
                             "log",   "log2",
                             "log1p", "sin",
                             "cos",   "pow_m3",
                             "pow_2", "floor"};

class Values : public testing::TestWithParam<std::string> {};

} // namespace

TEST_P(Values, Table) {
  for (const Row &row : table) {
    // 33 copies: vectors, and at the end a scalar.
    std::vector<float> x(33, row.x), y(33, row.y);
    std::vector<float> result = JitMath::at(GetParam()).run(row.function, x, y);
    for (size_t i : {0, 32}) {
      float got = flush(result[i]);
      EXPECT_TRUE(std::isnan(row.expected)
                      ? std::isnan(got)
                      : toBits(got) == toBits(row.expected))
          << row.function << "(" << row.x << ", " << row.y << ") = " << got
          << ", not " << row.expected << (i ? " (scalar)" : "");
    }
  }
}

// NaN with any payload: memory filled with ones is one, too.
TEST_P(Values, NaNStaysNaN) {
  std::vector<float> x;
  for (uint32_t payload : {0x7fc00000u, 0xffc00000u, 0x7fffffffu, 0xffffffffu,
                           0x7f800001u, 0xffc00001u, 0x7fc00081u, 0x7fd55555u})
    x.push_back(fromBits(payload));
  for (const char *function : unary)
    for (float result : JitMath::at(GetParam()).run(function, x))
      EXPECT_TRUE(std::isnan(result)) << function << " gives " << result;
}

// A result far from the argument's last bits must not depend on the other lanes
// or on the way in which it was computed.
TEST_P(Values, ScalarsAndVectorsAgreeToTheBit) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 0x00345671)
    x.push_back(fromBits(bits));
  JitMath &math = JitMath::at(GetParam());
  for (const char *function : unary) {
    std::vector<float> together = math.run(function, x);
    for (size_t i = 0; i < x.size(); ++i) {
      float alone = math.run(function, {x[i]})[0];
      EXPECT_TRUE(toBits(alone) == toBits(together[i]) ||
                  (std::isnan(alone) && std::isnan(together[i])))
          << function << "(" << x[i] << ")";
    }
  }
}

TEST_P(Values, SineAndCosineStayInRange) {
  std::vector<float> x;
  for (uint32_t bits = toBits(0x1p24f); bits < toBits(kInfinity); bits += 997)
    x.push_back(fromBits(bits));
  for (const char *function : {"sin", "cos"})
    for (float result : JitMath::at(GetParam()).run(function, x))
      ASSERT_LE(std::fabs(result), 1) << function;
}

// A weight below the maximum must not outgrow the maximum.
TEST_P(Values, PowersOfNegativeNumbersAreAtMostOne) {
  std::vector<float> x;
  for (uint32_t bits = 0; bits < toBits(200.0f); bits += 1009)
    x.push_back(-fromBits(bits));
  for (const char *function :
       {"exp", "exp2", "exp_nonpositive", "exp2_nonpositive"})
    for (float result : JitMath::at(GetParam()).run(function, x))
      ASSERT_LE(result, 1) << function;
}

INSTANTIATE_TEST_SUITE_P(All, Values, testing::ValuesIn(JitMath::levels()),
                         [](const auto &info) {
                           return identifier(info.param);
                         });
