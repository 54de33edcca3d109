//===- BinderTest.cpp - names, rows, lengths ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BinderFixture.h"

using namespace attn;
using namespace attn::runtime;

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
  EXPECT_EQ(errorOf(withType(Type::f64)),
            "input 'k' has type f64; the cpu target takes f32, f16 or bf16 "
            "(--target=reference takes f64 too)");
  EXPECT_EQ(errorOf(withType(Type::bf16)), "no error");
  EXPECT_EQ(errorOf(withType(Type::f16), /*reference=*/true), "no error");
  const std::pair<Type, const char *> integers[] = {
      {Type::i32, "i32"}, {Type::i64, "i64"},     {Type::i8, "i8"},
      {Type::i16, "i16"}, {Type::u8, "u8"},       {Type::u16, "u16"},
      {Type::u32, "u32"}, {Type::boolean, "bool"}};
  for (auto [type, name] : integers)
    EXPECT_EQ(errorOf(withType(type), /*reference=*/true),
              std::string("input 'k' has type ") + name +
                  "; the reference takes f32, f64, f16 or bf16");
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
  uint8_t few[] = {5, 200};
  EXPECT_EQ(
      errorOf(usual({{"key_lengths", Tensor(few, Type::u8, {2})}})),
      "'key_lengths'[1] is 200; it must lie between 0 and 5, the number of "
      "keys");

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
            "'key_lengths' has type f32; it must be of integers, i32 or i64, "
            "say");
  EXPECT_EQ(errorOf(usual({{"offset", 0.5}})),
            "'offset' is 0.5, not a whole number");
  EXPECT_EQ(errorOf(usual({{"offset", 1e300}})),
            "'offset' is 1e+300, not a whole number");
  EXPECT_EQ(errorOf(usual({{"offset", 1e17}})),
            "'offset' is 1e+17, out of range: it must lie between -1073741824 "
            "and 1073741824");
}
