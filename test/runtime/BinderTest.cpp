//===- BinderTest.cpp - what a call may get wrong -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Binder.h"
#include "runtime/Arrays.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace attn;
using namespace attn::runtime;

namespace {

/// Memory that all tests point into; what matters are shapes.
class BinderTest : public ::testing::Test {
protected:
  BinderTest() : memory(1 << 16, 1.0f) {
    signature.name = "test";
    add(FormalKind::Query, "q");
    add(FormalKind::Key, "k");
    add(FormalKind::Value, "v");
  }

  Formal &add(FormalKind kind, const std::string &name) {
    signature.formals.emplace_back();
    signature.formals.back().kind = kind;
    signature.formals.back().name = name;
    if (kind == FormalKind::Output)
      signature.results.push_back(name);
    return signature.formals.back();
  }

  void addParam(const std::string &name, const std::vector<std::string> &axes,
                const std::string &relop = "", double bound = 0,
                bool integer = false) {
    Formal &formal = add(FormalKind::Param, name);
    for (const std::string &text : axes) {
      formal.axes.emplace_back();
      ASSERT_TRUE(parseAxis(text, formal.axes.back())) << text;
    }
    formal.relop = relop;
    formal.bound = bound;
    formal.integer = integer;
  }

  void addLengths() {
    add(FormalKind::KeyLengths, "key_lengths");
    add(FormalKind::QueryLengths, "query_lengths");
    add(FormalKind::Offset, "offset");
  }

  Tensor rows(std::vector<int64_t> shape, int64_t at = 0) {
    return Tensor(memory.data() + at, std::move(shape));
  }

  std::vector<Argument> inputs(std::vector<int64_t> q, std::vector<int64_t> k,
                               std::vector<int64_t> v) {
    return {{"q", rows(q)}, {"k", rows(k)}, {"v", rows(v)}};
  }
  /// B = 2, Hq = 4, Hk = 2, Nq = 3, Nk = 5, D = 8, Dv = 6.
  std::vector<Argument> usual(std::vector<Argument> more = {}) {
    auto arguments = inputs({2, 4, 3, 8}, {2, 2, 5, 8}, {2, 2, 5, 6});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  Binding bind(const std::vector<Argument> &arguments, bool reference = false) {
    return bindInputs(signature, arguments, {reference});
  }

  /// The message of the error that `bind` ends in.
  std::string errorOf(const std::vector<Argument> &arguments,
                      bool reference = false) {
    try {
      bind(arguments, reference);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  std::string errorOfOutputs(const std::vector<Output> &outputs) {
    Binding binding = bind(usual());
    try {
      bindOutputs(binding, signature, outputs, 6, {});
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  Signature signature;
  std::vector<float> memory;
};

using Extents = std::vector<int64_t>;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

TEST_F(BinderTest, NamesAreChecked) {
  addLengths();
  EXPECT_EQ(
      errorOf(usual({{"w", 1.0}})),
      "there is no input or parameter 'w'; test takes q, k, v and optionally "
      "key_lengths, query_lengths, offset");
  EXPECT_EQ(errorOf(usual({{"q", rows({2, 4, 3, 8})}})), "'q' is given twice");
  auto arguments = usual();
  arguments.pop_back();
  EXPECT_EQ(errorOf(arguments),
            "'v' is missing; test takes q, k, v and optionally key_lengths, "
            "query_lengths, offset");
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

TEST_F(BinderTest, RowsKeepTheirExtents) {
  Binding binding = bind(usual());
  EXPECT_EQ(binding.batch, 2);
  EXPECT_EQ(binding.queryHeads, 4);
  EXPECT_EQ(binding.keyHeads, 2);
  EXPECT_EQ(binding.queries, 3);
  EXPECT_EQ(binding.keys, 5);
  EXPECT_EQ(binding.arrays[0].strides, (Extents{96, 24, 8, 1}));
  std::vector<std::pair<std::string, int64_t>> rows = {
      {"k", 8}, {"q", 8}, {"v", 6}};
  EXPECT_EQ(binding.sizes.rows, rows);
}

TEST_F(BinderTest, LowerRanksBroadcast) {
  // [N, n] has no batch and no head axis, [B, N, n] no head axis.
  Binding binding = bind(inputs({2, 6, 3, 8}, {5, 8}, {2, 5, 6}));
  EXPECT_EQ(binding.batch, 2);
  EXPECT_EQ(binding.queryHeads, 6);
  EXPECT_EQ(binding.keyHeads, 1);
  EXPECT_EQ(binding.arrays[1].shape, (Extents{2, 1, 5, 8}));
  EXPECT_EQ(binding.arrays[1].strides[0], 0);
  EXPECT_EQ(binding.arrays[2].strides[0], 30);
}

TEST_F(BinderTest, OneHeadBroadcastsToThoseOfParameters) {
  addParam("b", {"head"});
  addParam("c", {"kv_head"});
  auto arguments = inputs({2, 3, 8}, {2, 5, 8}, {2, 5, 6});
  arguments.push_back({"b", rows({4})});
  arguments.push_back({"c", rows({2})});
  Binding binding = bind(arguments);
  EXPECT_EQ(binding.queryHeads, 4);
  EXPECT_EQ(binding.keyHeads, 2);
  EXPECT_EQ(binding.arrays[0].shape, (Extents{2, 4, 3, 8}));
  EXPECT_EQ(binding.arrays[0].strides, (Extents{24, 0, 8, 1}));
  EXPECT_EQ(binding.arrays[2].shape, (Extents{2, 2, 5, 6}));
}

TEST_F(BinderTest, QueriesWithoutHeadsServeAllKeyHeads) {
  Binding binding = bind(inputs({3, 8}, {5, 8}, {1, 3, 5, 6}));
  EXPECT_EQ(binding.queryHeads, 3);
  EXPECT_EQ(binding.keyHeads, 3);
}

TEST_F(BinderTest, RowErrors) {
  EXPECT_EQ(errorOf({{"q", 1.0}, {"k", 1.0}, {"v", 1.0}}),
            "input 'q' is an array of rows, not a number");
  EXPECT_EQ(
      errorOf(inputs({8}, {5, 8}, {5, 6})),
      "input 'q' has shape [8]; it must be [N, n], [B, N, n] or [B, H, N, n]");
  EXPECT_EQ(errorOf(inputs({3, 0}, {5, 8}, {5, 6})),
            "input 'q' has rows of length 0");
  EXPECT_EQ(errorOf(inputs({-3, 8}, {5, 8}, {5, 6})),
            "input 'q' has a negative extent in its shape [-3, 8]");
  EXPECT_EQ(errorOf(inputs({3, 8}, {5, 8}, {4, 6})),
            "input 'v' gives the number of keys = 4, but input 'k' gives 5");
  EXPECT_EQ(errorOf(inputs({2, 3, 8}, {3, 5, 8}, {5, 6})),
            "input 'k' gives the batch = 3, but input 'q' gives 2");
  EXPECT_EQ(errorOf(inputs({1, 3, 3, 8}, {1, 2, 5, 8}, {5, 6})),
            "3 query heads are not a multiple of 2 key heads (from input 'q' "
            "and input "
            "'k')");
  EXPECT_EQ(
      errorOf(inputs({3, 8}, {1, 2, 5, 8}, {1, 4, 5, 6})),
      "input 'v' gives the number of key heads = 4, but input 'k' gives 2");
}

TEST_F(BinderTest, TypesOfRows) {
  auto withType = [&](Type type) {
    auto arguments = usual();
    arguments[1].tensor.type = type;
    return arguments;
  };
  EXPECT_EQ(errorOf(withType(Type::f16)),
            "input 'k' has type f16; the cpu target takes f32 "
            "(--target=reference takes "
            "f64, f16 and bf16 too)");
  EXPECT_EQ(errorOf(withType(Type::f16), /*reference=*/true), "no error");
  EXPECT_EQ(
      errorOf(withType(Type::i32), /*reference=*/true),
      "input 'k' has type i32; the reference takes f32, f64, f16 or bf16");
}

TEST_F(BinderTest, MemoryOfRows) {
  auto arguments = usual();
  arguments[0].tensor.data = nullptr;
  EXPECT_EQ(errorOf(arguments), "input 'q' has no memory: its pointer is null");
  arguments[0].tensor.data = reinterpret_cast<char *>(memory.data()) + 2;
  EXPECT_EQ(errorOf(arguments),
            "input 'q' is not aligned: the address of a f32 is a "
            "multiple of 4 bytes");
  arguments = usual();
  arguments[0].tensor.strides = {1, 1};
  EXPECT_EQ(errorOf(arguments), "input 'q' has 4 extents but 2 strides");
  arguments[0].tensor.strides = {int64_t(1) << 62, 24, 8, 1};
  EXPECT_EQ(errorOf(arguments),
            "input 'q' spans more memory than 64 bits address");
  int64_t huge = int64_t(1) << 40;
  EXPECT_EQ(errorOf(inputs({huge, huge}, {5, 8}, {5, 6})),
            "input 'q' has shape [1099511627776, 1099511627776], more elements "
            "than 64 "
            "bits count");
}

TEST_F(BinderTest, EmptyArraysNeedNoMemory) {
  std::vector<Argument> arguments = {
      {"q", Tensor(nullptr, Type::f32, {0, 4, 3, 8})},
      {"k", Tensor(nullptr, Type::f32, {0, 4, 0, 8})},
      {"v", Tensor(nullptr, Type::f32, {0, 4, 0, 6})}};
  Binding binding = bind(arguments);
  EXPECT_EQ(binding.batch, 0);
  EXPECT_EQ(binding.keys, 0);
}

TEST_F(BinderTest, InnerStridesArePackedForCompiledCode) {
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = i;
  auto arguments = usual();
  // k transposed: [2, 2, 5, 8] over rows of 5, and upside down.
  arguments[1].tensor =
      Tensor(memory.data() + 4, Extents{2, 2, 5, 8}, Extents{80, 40, -1, 5});
  Binding binding = bind(arguments);
  const Tensor &k = binding.arrays[1];
  EXPECT_EQ(k.strides, (Extents{80, 40, 8, 1}));
  auto *data = static_cast<float *>(k.data);
  EXPECT_EQ(data[80 + 40 + 2 * 8 + 3], 4 + 80 + 40 - 2 + 15);
  // The reference reads strides as they are.
  EXPECT_EQ(bind(arguments, true).arrays[1].strides, (Extents{80, 40, -1, 5}));
}

//===----------------------------------------------------------------------===//
// Lengths and offset
//===----------------------------------------------------------------------===//

TEST_F(BinderTest, LengthsAndOffset) {
  addLengths();
  EXPECT_EQ(bind(usual()).arrays[3].shape, (Extents{0})); // not given
  int32_t lengths[] = {5, 0};
  Binding binding = bind(usual(
      {{"key_lengths", Tensor(lengths, Type::i32, {2})}, {"offset", 7.0}}));
  auto *bound = static_cast<int64_t *>(binding.arrays[3].data);
  EXPECT_EQ(bound[0], 5);
  EXPECT_EQ(bound[1], 0);
  EXPECT_EQ(static_cast<int64_t *>(binding.arrays[5].data)[1], 7);

  lengths[1] = 6;
  EXPECT_EQ(
      errorOf(usual({{"key_lengths", Tensor(lengths, Type::i32, {2})}})),
      "'key_lengths'[1] is 6; it must lie between 0 and 5, the number of keys");
  lengths[1] = -1;
  EXPECT_EQ(errorOf(usual(
                {{"query_lengths", Tensor(lengths + 1, Type::i32, {2}, {0})}})),
            "'query_lengths'[0] is -1; it must lie between 0 and 3, the number "
            "of queries");
  EXPECT_EQ(errorOf(usual({{"key_lengths", Tensor(lengths, Type::i32, {1})}})),
            "'key_lengths' has shape [1]; it must be [2], the batch");
  EXPECT_EQ(errorOf(usual({{"offset", Tensor(lengths, Type::i32, {3})}})),
            "'offset' has shape [3]; it must be [2], the batch, or [1]");
  EXPECT_EQ(errorOf(usual({{"key_lengths", rows({2})}})),
            "'key_lengths' has type f32; it must be i32 or i64");
  EXPECT_EQ(errorOf(usual({{"offset", 0.5}})),
            "'offset' is 0.5, not a whole number");
  EXPECT_EQ(errorOf(usual({{"offset", 1e300}})),
            "'offset' is 1e+300, not a whole number");
  EXPECT_EQ(errorOf(usual({{"offset", 1e17}})),
            "'offset' is 1e+17, out of range");
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

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
  auto *bound = static_cast<int64_t *>(
      bind(usual({{"n", Tensor(whole, Type::f64, {3})}})).arrays[3].data);
  (void)bound; // freed with the binding
  whole[1] = 2.5;
  EXPECT_EQ(
      errorOf(usual({{"n", Tensor(whole, Type::f64, {3})}})),
      "parameter 'n' at index [1]: 2.5 is not an integer, and the parameter is "
      "declared int");
  EXPECT_EQ(errorOf(usual({{"n", std::nan("")}})),
            "parameter 'n': nan is not an integer, and the parameter is "
            "declared int");

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

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

TEST_F(BinderTest, OutputErrors) {
  add(FormalKind::Output, "o");
  add(FormalKind::Output, "mass");
  std::vector<float> space(1000);
  Output o{"o", Tensor(space.data(), {2, 4, 3, 6})};
  Output mass{"mass", Tensor(space.data() + 144, {2, 4, 3})};
  EXPECT_EQ(errorOfOutputs({o, mass}), "no error");
  EXPECT_EQ(errorOfOutputs({o}),
            "output 'mass' is missing; test returns o, mass");
  EXPECT_EQ(errorOfOutputs({o, o}), "output 'o' is given twice");
  EXPECT_EQ(errorOfOutputs({o, mass, {"lse", mass.tensor}}),
            "there is no output 'lse'; test returns o, mass");

  Output bad = o;
  bad.tensor.shape[3] = 8;
  EXPECT_EQ(errorOfOutputs({bad, mass}),
            "output 'o' has shape [2, 4, 3, 8]; it must be [2, 4, 3, 6]");
  bad = o;
  bad.tensor.type = Type::f64;
  EXPECT_EQ(errorOfOutputs({bad, mass}),
            "output 'o' has type f64; it must be f32");
  bad = o;
  bad.tensor.strides = {72, 18, 0, 1};
  EXPECT_EQ(
      errorOfOutputs({bad, mass}),
      "output 'o' has strides [72, 18, 0, 1] that let its elements overlap");
  bad = mass;
  bad.tensor.data = space.data() + 143;
  EXPECT_EQ(errorOfOutputs({o, bad}),
            "output 'mass' shares memory with output 'o'");
  bad = o;
  bad.tensor.data = memory.data() + 100;
  EXPECT_EQ(errorOfOutputs({bad, mass}), "output 'o' shares memory with 'q'");
}

TEST_F(BinderTest, InterleavedSlicesDoNotOverlap) {
  // Rows of 8 and of 6 side by side in rows of 16; then one element too far.
  Tensor a(memory.data(), {5, 8}, {16, 1});
  Tensor b(memory.data() + 8, {5, 6}, {16, 1});
  EXPECT_FALSE(mayOverlap(a, b));
  EXPECT_FALSE(mayOverlap(b, a));
  b.data = memory.data() + 11;
  EXPECT_TRUE(mayOverlap(a, b));
  EXPECT_TRUE(mayOverlap(b, a));
  b.data = memory.data() + 7;
  EXPECT_TRUE(mayOverlap(a, b));
}

TEST_F(BinderTest, OutputsMayLackAxesThatTheQueriesLack) {
  add(FormalKind::Output, "o");
  std::vector<float> space(100);
  Binding binding = bind(inputs({3, 8}, {5, 8}, {5, 6}));
  EXPECT_EQ(outputShape(binding, "o", 6), (Extents{3, 6}));
  EXPECT_EQ(outputShape(binding, "mass", 6), (Extents{3}));
  EXPECT_EQ(outputShape(binding, "weights", 6), (Extents{3, 5}));
  for (Extents shape : {Extents{3, 6}, {1, 3, 6}, {1, 1, 3, 6}}) {
    bindOutputs(binding, signature, {{"o", Tensor(space.data(), shape)}}, 6,
                {});
    EXPECT_EQ(binding.arrays[3].shape, (Extents{1, 1, 3, 6}));
    EXPECT_EQ(binding.arrays[3].strides[2], 6);
  }
}

TEST_F(BinderTest, StridedOutputsAreCopiedBack) {
  add(FormalKind::Output, "o");
  std::vector<float> space(6 * 3, -1);
  Binding binding = bind(inputs({3, 8}, {5, 8}, {5, 6}));
  bindOutputs(binding, signature, {{"o", Tensor(space.data(), {3, 6}, {1, 3})}},
              6, {});
  auto *packed = static_cast<float *>(binding.arrays[3].data);
  ASSERT_NE(packed, space.data());
  for (int i = 0; i < 18; ++i)
    packed[i] = i;
  binding.finish();
  EXPECT_EQ(space[0 + 3 * 1], 1); // row 0, channel 1
  EXPECT_EQ(space[2 + 3 * 5], 17);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

TEST(ArraysTest, SmallFloatsRoundOnceToNearestEven) {
  auto half = [](double value) {
    uint16_t bits;
    storeReal(Type::f16, &bits, value);
    return bits;
  };
  EXPECT_EQ(half(1), 0x3c00);
  EXPECT_EQ(half(-2), 0xc000);
  EXPECT_EQ(half(65504), 0x7bff);
  EXPECT_EQ(half(65520), 0x7c00);   // halfway to 2^16 rounds to even: infinity
  EXPECT_EQ(half(0x1p-24), 0x0001); // the smallest
  EXPECT_EQ(half(0x1p-25), 0x0000); // a tie, to even
  EXPECT_EQ(half(0x1.002p0), 0x3c00); // a tie, to even
  EXPECT_EQ(half(0x1.006p0), 0x3c02); // a tie, to even
  EXPECT_EQ(half(0x1.0020000001p0),
            0x3c01); // by way of f32 this would be a tie
  uint16_t bits;
  storeReal(Type::bf16, &bits, 0x1.01p0);
  EXPECT_EQ(bits, 0x3f80);
  storeReal(Type::bf16, &bits, -0x1.03p0);
  EXPECT_EQ(bits, 0xbf82);
  for (int pattern = 0; pattern < 1 << 16;
       ++pattern) { // every value reads back
    for (Type type : {Type::f16, Type::bf16}) {
      uint16_t from = pattern, to;
      double value = loadReal(type, &from);
      storeReal(type, &to, value);
      if (!std::isnan(value)) {
        ASSERT_EQ(from, to);
      }
    }
  }
}

} // namespace
