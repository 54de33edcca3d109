//===- StorageTest.cpp - inputs and outputs in bf16 and f16 ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With one key, o is v: every stored number goes through the widening, and
// numbers of all kinds through the rounding, at every level that runs here.
//
//===----------------------------------------------------------------------===//

#include "lowering/Target.h"
#include "runtime/Arrays.h"

#include "attn/attn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace attn;

namespace {
class Storage : public ::testing::TestWithParam<std::string> {
protected:
  /// o of rows of 256 values, one a sequence.
  void pass(const void *v, Type typeOfV, void *o, Type typeOfO, int64_t rows) {
    if (!hostRuns(*parseCpuLevel(GetParam())))
      GTEST_SKIP() << "this machine does not run " << GetParam();
    Options options;
    options.level = GetParam();
    options.threads = 1;
    Kernel kernel = Compiler(options).compile(
        "attention pass(q, k, v) { kappa = exp(0 * dot(q, k)) }");
    std::vector<char> zeros(8 * rows);
    auto in = [&](const void *data, Type type, int64_t n) {
      return Tensor(const_cast<void *>(data), type, {rows, 1, 1, n});
    };
    kernel({{"q", in(zeros.data(), typeOfO, 1)},
            {"k", in(zeros.data(), Type::f32, 1)},
            {"v", in(v, typeOfV, 256)}},
           {{"o", in(o, typeOfO, 256)}});
  }
};
} // namespace

/// Denormal inputs count as 0 (S4).
static double seen(double x) { return std::fabs(x) < 0x1p-126 ? 0 : x; }

TEST_P(Storage, WidensEveryNumber) {
  for (Type type : {Type::bf16, Type::f16}) {
    std::vector<uint16_t> v(65536);
    for (size_t n = 0; n < v.size(); ++n)
      v[n] = n;
    std::vector<float> o(v.size(), 1);
    pass(v.data(), type, o.data(), Type::f32, 256);
    if (IsSkipped())
      return;
    for (size_t n = 0; n < v.size(); ++n) {
      double expected = seen(runtime::loadReal(type, &v[n]));
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(o[n])) << n;
      else
        ASSERT_EQ(o[n], expected) << n;
    }
  }
}

TEST_P(Storage, RoundsToNearestEven) {
  std::mt19937 random(3);
  std::vector<float> v;
  // All exponents and signs, with few and with many bits; ties, and beside
  // them.
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (uint32_t n = 0; n < 256; ++n) {
      uint32_t mantissa = n < 64    ? random() & 0x7fffff
                          : n < 128 ? (random() & 0x7f0000) | 0x8000
                          : n < 192 ? (random() & 0x7fe000) | 0x1000
                                    : (random() & 0x7fe000) | (0xfff + (n & 2));
      uint32_t bits = (n & 1) << 31 | exponent << 23 | mantissa;
      float x;
      std::memcpy(&x, &bits, sizeof x);
      v.push_back(x);
    }
  for (float x : {65504.0f, 65519.996f, 65520.0f, 65536.0f, 0x1p-24f, 0x1p-25f,
                  0x1.000002p-25f, 0x1p-26f, 6.1e-5f, INFINITY, -INFINITY, NAN})
    v.push_back(x);
  v.resize((v.size() + 255) / 256 * 256);
  for (Type type : {Type::bf16, Type::f16}) {
    std::vector<uint16_t> o(v.size(), 1);
    pass(v.data(), Type::f32, o.data(), type, v.size() / 256);
    if (IsSkipped())
      return;
    for (size_t n = 0; n < v.size(); ++n) {
      uint16_t nearest;
      runtime::storeReal(type, &nearest, seen(v[n]));
      double expected = runtime::loadReal(type, &nearest),
             got = runtime::loadReal(type, &o[n]);
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(got)) << v[n];
      else
        ASSERT_EQ(got, expected) << v[n];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Storage,
                         ::testing::Values("avx512bf16", "x86-64-v4",
                                           "x86-64-v3", "x86-64-v2",
                                           "x86-64-v4@x86-64-v2"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = std::isalnum(static_cast<unsigned char>(c))
                                     ? c
                                     : '_';
                           return name;
                         });
