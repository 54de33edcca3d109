//===- BindParametersTest.cpp - axes, bounds and values of parameters -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BinderFixture.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::runtime;

TEST_F(BinderTest, NumbersFillAllIndices) {
  addParam("b", {"head", "D"});
  addParam("a", {"D"});
  Binding binding = bind(usual({{"b", 0.3}, {"a", rows({7})}}));
  EXPECT_EQ(binding.arrays[3].shape, (Extents{4, 7}));
  EXPECT_EQ(binding.arrays[3].strides, (Extents{0, 0}));
  EXPECT_EQ(*static_cast<float *>(binding.arrays[3].data), 0.3f);
  EXPECT_EQ(
      *static_cast<double *>(
          bind(usual({{"b", 0.3}, {"a", rows({7})}}), true).arrays[3].data),
      0.3);
  EXPECT_EQ(
      errorOf(usual({{"b", 0.3}, {"a", 1.0}})),
      "nothing given fixes the size 'D': give an array, not a number, for a "
      "parameter with that axis");
}

TEST_F(BinderTest, SizeVariablesUnify) {
  addParam("W", {"head", "D", "d"});
  addParam("a", {"d"});
  EXPECT_EQ(errorOf(usual({{"W", rows({4, 8, 3})}, {"a", rows({2})}})),
            "parameter 'a' gives d = 2, but parameter 'W' gives 3");
  EXPECT_EQ(errorOf(usual({{"W", rows({3, 8, 3})}, {"a", rows({3})}})),
            "parameter 'W' gives the number of query heads = 3, but input 'q' "
            "gives 4");
  EXPECT_EQ(
      errorOf(usual({{"W", rows({8, 3})}, {"a", rows({3})}})),
      "parameter 'W' has shape [8, 3]; it is declared as W[head, D, d], or one "
      "number for all");
  std::vector<std::pair<std::string, int64_t>> sizes = {{"D", 8}, {"d", 3}};
  EXPECT_EQ(
      bind(usual({{"W", rows({4, 8, 3})}, {"a", rows({3})}})).sizes.variables,
      sizes);
}

TEST_F(BinderTest, TablesHaveClosedRanges) {
  addParam("t", {"-2:R"});
  addParam("u", {"-R:nk"});
  addParam("s", {"-S:S"});
  // -2:3 has 6 entries, so R = 3; -3:5 has 9; -4:4 has 9.
  Binding binding =
      bind(usual({{"t", rows({6})}, {"u", rows({9})}, {"s", rows({9})}}));
  std::vector<std::pair<std::string, int64_t>> sizes = {{"R", 3}, {"S", 4}};
  EXPECT_EQ(binding.sizes.variables, sizes);
  EXPECT_EQ(
      errorOf(usual({{"t", rows({6})}, {"u", rows({8})}, {"s", rows({9})}})),
      "parameter 'u' has extent 8 on axis -R:nk, which has 9 entries");
  EXPECT_EQ(
      errorOf(usual({{"t", rows({6})}, {"u", rows({9})}, {"s", rows({8})}})),
      "parameter 's' has extent 8 on axis -S:S, which fits no 'S'");
}

TEST_F(BinderTest, BatchAndPositionAxes) {
  addParam("doc", {"batch", "nk"}, "", 0, true);
  std::vector<int32_t> ids(10, 7);
  Binding binding =
      bind(usual({{"doc", Tensor(ids.data(), Type::i32, {2, 5})}}));
  EXPECT_EQ(binding.arrays[3].type, Type::i64);
  EXPECT_EQ(static_cast<int64_t *>(binding.arrays[3].data)[9], 7);
  EXPECT_EQ(bind(usual({{"doc", Tensor(ids.data(), Type::i32, {1, 5})}}))
                .arrays[3]
                .strides,
            (Extents{0, 1}));
  EXPECT_EQ(
      errorOf(usual({{"doc", Tensor(ids.data(), Type::i32, {2, 4})}})),
      "parameter 'doc' gives the number of keys = 4, but input 'k' gives 5");
}

TEST_F(BinderTest, ParametersOfEveryIntegerType) {
  addParam("doc", {"nk"}, "", 0, true);
  addParam("r", {"nk"}, "", 0);
  auto values = [&](auto first, auto last, Type type) {
    decltype(first) given[] = {first, 0, 1, 1, decltype(first)(last)};
    Binding binding = bind(usual(
        {{"doc", Tensor(given, type, {5})}, {"r", Tensor(given, type, {5})}}));
    auto *whole = static_cast<int64_t *>(binding.arrays[3].data);
    auto *real = static_cast<float *>(binding.arrays[4].data);
    for (int n = 0; n < 5; ++n)
      EXPECT_EQ(static_cast<float>(whole[n]), real[n]);
    return std::pair(whole[0], whole[4]);
  };
  using Ends = std::pair<int64_t, int64_t>;
  EXPECT_EQ(values(int8_t(-128), 127, Type::i8), Ends(-128, 127));
  EXPECT_EQ(values(int16_t(-32768), 32767, Type::i16), Ends(-32768, 32767));
  EXPECT_EQ(values(uint8_t(255), 128, Type::u8), Ends(255, 128));
  EXPECT_EQ(values(uint16_t(65535), 32768, Type::u16), Ends(65535, 32768));
  EXPECT_EQ(values(uint32_t(7), 1 << 30, Type::u32), Ends(7, 1 << 30));
  EXPECT_EQ(values(true, false, Type::boolean), Ends(1, 0));
  uint32_t large[] = {0, 0, 0xffffffff, 0, 0};
  EXPECT_EQ(errorOf(usual({{"doc", Tensor(large, Type::u32, {5})},
                           {"r", Tensor(large, Type::u32, {5})}})),
            "parameter 'doc' at index [2]: 4294967295 is out of range: "
            "integers of a kernel lie between -1073741824 and 1073741824");
}

TEST_F(BinderTest, BoundsHoldForEveryElement) {
  addParam("b", {"head"}, ">=", 0);
  float values[] = {0, 1, -0.5f, 2};
  EXPECT_EQ(
      errorOf(usual({{"b", Tensor(values, {4})}})),
      "parameter 'b' at index [2]: -0.5 violates its declared bound b >= 0");
  EXPECT_EQ(errorOf(usual({{"b", Tensor(values, {4}, {0})}})), "no error");
  values[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(errorOf(usual({{"b", Tensor(values, {4})}})), "no error");
  EXPECT_EQ(errorOf(usual({{"b", -1.0}})),
            "parameter 'b': -1 violates its declared bound b >= 0");
}

TEST_F(BinderTest, BoundsHoldAfterRounding) {
  addParam("h", {}, ">", 0);
  // 1e-60 is positive, but what f32 code would see is not.
  EXPECT_EQ(errorOf(usual({{"h", 1e-60}})),
            "parameter 'h': 0 violates its declared bound h > 0");
  EXPECT_EQ(errorOf(usual({{"h", 1e-60}}), /*reference=*/true), "no error");
}

TEST_F(BinderTest, AllRelations) {
  struct Case {
    const char *relop;
    double bound, good, bad;
  };
  for (Case c : {Case{"<", 1, 0, 1},
                 {"<=", 1, 1, 2},
                 {">", 1, 2, 1},
                 {">=", 1, 1, 0},
                 {"==", 1, 1, 2},
                 {"!=", 1, 2, 1}}) {
    signature.formals.resize(3);
    addParam("x", {}, c.relop, c.bound);
    EXPECT_EQ(errorOf(usual({{"x", c.good}})), "no error") << c.relop;
    EXPECT_NE(errorOf(usual({{"x", c.bad}})), "no error") << c.relop;
  }
}

TEST_F(BinderTest, ConversionsAreExact) {
  addParam("n", {"nq"}, "", 0, true);
  double whole[] = {1, -2, 3};
  Binding exact = bind(usual({{"n", Tensor(whole, Type::f64, {3})}}));
  EXPECT_EQ(static_cast<int64_t *>(exact.arrays[3].data)[1], -2);
  whole[1] = 2.5;
  EXPECT_EQ(
      errorOf(usual({{"n", Tensor(whole, Type::f64, {3})}})),
      "parameter 'n' at index [1]: 2.5 is not an integer, and the parameter is "
      "declared int");
  EXPECT_EQ(errorOf(usual({{"n", std::nan("")}})),
            "parameter 'n': nan is not an integer, and the parameter is "
            "declared int");

  // Lanes hold 32 bits: document ids that differ by 2^32 would be one document.
  int64_t wide[] = {1, (int64_t(1) << 32) + 1, 3};
  EXPECT_EQ(errorOf(usual({{"n", Tensor(wide, Type::i64, {3})}})),
            "parameter 'n' at index [1]: 4294967297 is out of range: integers "
            "of a kernel lie between -1073741824 and 1073741824");

  signature.formals.resize(3);
  addParam("r", {});
  int64_t large = (1 << 24) + 1;
  EXPECT_EQ(errorOf(usual({{"r", Tensor(&large, Type::i64, {})}})),
            "parameter 'r': the integer 16777217 is not exact in f32; give a "
            "real array");
  large = 3;
  Binding binding = bind(usual({{"r", Tensor(&large, Type::i64, {1})}}));
  EXPECT_EQ(*static_cast<float *>(binding.arrays[3].data), 3.0f);
  EXPECT_EQ(errorOf(usual({{"r", 1e39}})),
            "parameter 'r': 1e+39 is beyond the range of f32");
  EXPECT_EQ(errorOf(usual({{"r", INFINITY}})), "no error");
}

TEST_F(BinderTest, EmptyAxesClampToSomething) {
  addParam("a", {"nk"});
  auto arguments = inputs({3, 8}, {0, 8}, {0, 6});
  arguments.push_back({"a", rows({0})});
  const Tensor bound = bind(arguments).arrays[3];
  EXPECT_EQ(bound.shape, (Extents{0}));
  EXPECT_EQ(bound.strides, (Extents{0}));
  EXPECT_NE(bound.data, nullptr);
}
