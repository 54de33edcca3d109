//===- CompareTest.cpp - tests of the bounds of attnc check ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace attn;

static const double infinity = std::numeric_limits<double>::infinity();

static Array reals(std::initializer_list<double> values) {
  Array array(Type::f64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), array.data<double>());
  return array;
}

static Array floats(std::initializer_list<float> values) {
  Array array(Type::f32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), array.data<float>());
  return array;
}

static double ratio(const char *name, std::initializer_list<float> got,
                    std::initializer_list<double> expected,
                    std::initializer_list<double> moved = {}) {
  Array want = reals(expected), other = moved.size() ? reals(moved) : want;
  return compare(name, floats(got), want, {&other}).ratio();
}

TEST(Compare, OutputIsRelativeToTheLargest) {
  EXPECT_LT(ratio("o", {100, 1e-4f}, {100, 0}), 1);
  EXPECT_GT(ratio("o", {100, 2e-3f}, {100, 0}), 1);
  EXPECT_NEAR(ratio("o", {100, 2e-3f}, {100, 0}), 2, 1e-3);
}

TEST(Compare, MassIsRelativeRowByRow) {
  EXPECT_GT(ratio("mass", {100, 1e-4f}, {100, 1.1e-4}), 1);
  EXPECT_LT(ratio("mass", {100, 1e-4f}, {100, 1.000001e-4}), 1);
}

TEST(Compare, LseIsAbsoluteBelowOne) {
  EXPECT_LT(ratio("lse", {5e-6f}, {0}), 1);
  EXPECT_GT(ratio("lse", {2e-5f}, {0}), 1);
  EXPECT_LT(ratio("lse", {1000.005f}, {1000}), 1);
}

TEST(Compare, EmptyRowsMustAgree) {
  EXPECT_EQ(ratio("lse", {-INFINITY}, {-infinity}), 0);
  EXPECT_GT(ratio("lse", {0}, {-infinity}), 1);
  EXPECT_GT(ratio("lse", {-INFINITY}, {0}), 1);
  EXPECT_GT(ratio("mass", {1e-20f}, {0}), 1);
}

TEST(Compare, NanIsAlwaysWrong) {
  EXPECT_GT(ratio("o", {1, NAN}, {1, 0}), 1);
  EXPECT_GT(ratio("mass", {NAN}, {1}), 1);
  EXPECT_GT(ratio("mass", {NAN}, {1}, {2}), 1); // however ill-conditioned
}

TEST(Compare, WhatF32CannotHold) {
  EXPECT_EQ(ratio("mass", {INFINITY}, {1e50}), 0);
  EXPECT_GT(ratio("mass", {1}, {1e50}), 1);
  EXPECT_EQ(ratio("mass", {0}, {1e-50}), 0);
  EXPECT_GT(ratio("mass", {1}, {1e-50}), 1);
}

TEST(Compare, WhatF32CannotHoldIsRelativeToTheLargestToo) {
  EXPECT_LT(ratio("o", {1, 1e-6f}, {1, 1e-39}), 1);
  EXPECT_GT(ratio("o", {1, 2e-5f}, {1, 1e-39}), 1);
  EXPECT_GT(ratio("mass", {1, 1e-37f}, {1, 1e-39}), 1);
}

TEST(Compare, RoundedWeightsAreBoundByTheNorm) {
  // sqrt(0.04^2 + 0.03^2)/sqrt(8^2 + 6^2) = 5e-3, though each of the two
  // elements is within 5e-3 of itself.
  Array want = reals({8, 6}), same = want;
  auto ratio = [&](double norm, std::initializer_list<float> got) {
    return compare("o", floats(got), want, {&same}, norm).ratio();
  };
  EXPECT_NEAR(ratio(4e-3, {8.04f, 5.97f}), 1.25, 1e-4);
  EXPECT_NEAR(ratio(6e-3, {8.04f, 5.97f}), 0.8333, 1e-4);
  EXPECT_EQ(ratio(4e-3, {8, NAN}), INFINITY);
  EXPECT_EQ(ratio(4e-3, {INFINITY, 6}), INFINITY);
  // Only o is summed from them.
  EXPECT_GT(compare("mass", floats({8.04f, 6}), want, {&same}, 6e-3).ratio(),
            1);
}

TEST(Compare, StorageRoundsOnce) {
  Array want = reals({1 + 0x1p-9, -0x1.8p-30}), same = want;
  auto stored = [&](Type type, double first) {
    Array got(type, {2});
    got.setReal(0, first);
    got.setReal(1, 0);
    return compare("o", got, want, {&same}).ratio();
  };
  EXPECT_LT(stored(Type::bf16, 1), 1);    // half a unit, 2^-9 of it
  EXPECT_GT(stored(Type::bf16, 1.01), 1); // more than the next number
  EXPECT_LT(stored(Type::f16, 1.002), 1); // 1 + 2^-9 is a number of f16
  EXPECT_GT(stored(Type::f16, 1.0), 1);
}

static double ratioOfF16(std::initializer_list<double> got,
                         std::initializer_list<double> expected) {
  Array want = reals(expected), same = want;
  Array stored(Type::f16, {static_cast<int64_t>(got.size())});
  int64_t n = 0;
  for (double x : got)
    stored.setReal(n++, x);
  return compare("o", stored, want, {&same}, 1e-3).ratio();
}

// Below 2^-14, numbers of f16 are 2^-24 apart: half of that in each of two
// elements is sqrt(2) 2^-25 in sqrt(2) 2^-18, beside the bound of the norm.
TEST(Compare, StorageHasAnEnd) {
  double ratio = ratioOfF16({0x1p-18, 0x1p-18}, {0x1.02p-18, 0x0.fep-18});
  EXPECT_NEAR(ratio, 0x1p-7 / (1e-3 + 0x1p-7), 1e-5);
  EXPECT_GT(ratioOfF16({0x1p-18, 0x1.08p-18}, {0x1.02p-18, 0x0.fep-18}), 1);
  EXPECT_GT(ratioOfF16({0.251, 0.25}, {0.25, 0.25}), 1); // nothing there
}

// What is beyond the range of f16 belongs to the norm: 200 of 2e5.
TEST(Compare, NormsHoldWhatStorageDoesNot) {
  EXPECT_NEAR(ratioOfF16({INFINITY, 1200}, {2e5, 1000}), 1, 1e-3);
  EXPECT_LT(ratioOfF16({INFINITY, 1100}, {2e5, 1000}), 0.6);
  EXPECT_LT(ratioOfF16({65504, 0}, {65540, 0}), 1);
  EXPECT_EQ(ratioOfF16({-INFINITY, 1000}, {2e5, 1000}), INFINITY);
  EXPECT_EQ(ratioOfF16({INFINITY, 1000}, {6e4, 1000}), INFINITY);
  EXPECT_GT(ratioOfF16({65504, 1000}, {2e5, 1000}), 1);
}

TEST(Compare, AllowsWhatTheInputsLeaveOpen) {
  EXPECT_GT(ratio("mass", {1.001f}, {1}), 1);
  EXPECT_LT(ratio("mass", {1.001f}, {1}, {1.0002}), 1);
  EXPECT_GT(ratio("mass", {1.002f}, {1}, {1.0002}), 1);
}

TEST(Compare, SaysWhere) {
  Array got(Type::f32, {2, 2}), want(Type::f64, {2, 2});
  got.data<float>()[2] = 3;
  EXPECT_EQ(compare("mass", got, want, {}).place, "[1, 0] is 3, expected 0");
}

// By norms, so that one element that moves far says nothing of the others: the
// movement is 0.01/2 of |o|, the bound eight times that.
TEST(Compare, AsAWholeByNorms) {
  Array want = reals({1, 1, 1, 1}), moved = reals({1.01, 1, 1, 1});
  Comparison result =
      compare("o", floats({1.05f, 0.95f, 1.05f, 0.95f}), want, {&moved}, 4e-3);
  EXPECT_NEAR(result.error, 0.05, 1e-6);
  EXPECT_NEAR(result.bound, 0.04, 1e-12);
  EXPECT_EQ("o" + result.place, "o as a whole, by its norm");
}

// Where one weight decides, its rounding moves o as a whole; in bf16 o is then
// rounded to the next even number, here 2^-7 above 1.
TEST(Compare, FewWeightsDecide) {
  Array got(Type::bf16, {2}), want = reals({1, 1}),
                              rounded = reals({1.00390626, 1.00390626});
  got.data<uint16_t>()[0] = got.data<uint16_t>()[1] = 0x3f81;
  Comparison result = compare("o", got, want, {&want}, 4e-3, &rounded);
  EXPECT_NEAR(result.error, 0x1p-7, 1e-12);
  EXPECT_NEAR(result.bound, 1.5 * 0x1p-7, 1e-12);
  // Where they do not, the bound is what it was.
  rounded = reals({1.001, 1.001});
  EXPECT_NEAR(compare("o", got, want, {&want}, 4e-3, &rounded).bound, 4e-3,
              1e-12);
}
