//===- ArraysTest.cpp - elements of small types ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Arrays.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace attn;
using namespace attn::runtime;

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
