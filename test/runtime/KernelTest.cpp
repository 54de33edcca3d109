//===- KernelTest.cpp - the public interface ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <thread>

using namespace attn;

namespace {

/// What an Error says about compiling a text.
std::string errorOf(std::string_view text, std::string_view name = {}) {
  try {
    Compiler().compile(text, name, "k.attn");
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

/// kappa = exp(q k): o is (e v0 + v1) / (e + 1) for q = (1), k = (1, 0).
class KernelTest : public ::testing::TestWithParam<const char *> {
protected:
  Kernel compile(std::string_view text) {
    Options options;
    options.target = GetParam();
    options.threads = 1;
    return Compiler(options).compile(text);
  }
};

TEST_P(KernelTest, HiddenPairsWeighNothingBesideOddOnes) {
  // Row 2 sees key 2, which is NaN, and not key 3 (S2).
  Kernel kernel = compile("attention w(q, k, v) { kappa = exp(dot(q, k)); "
                          "mask = causal; return weights, entropy }");
  float q[] = {1, 1, 1, 1}, k[] = {0, 0, NAN, 0}, v[] = {1, 1, 1, 1};
  double weights[16], entropy[4];
  float narrowWeights[16], narrowEntropy[4];
  bool wide = GetParam() == std::string("reference");
  auto view = [&](double *x, float *y, std::vector<int64_t> shape) {
    return wide ? Tensor(x, Type::f64, shape) : Tensor(y, shape);
  };
  kernel({{"q", {q, {4, 1}}}, {"k", {k, {4, 1}}}, {"v", {v, {4, 1}}}},
         {{"weights", view(weights, narrowWeights, {4, 4})},
          {"entropy", view(entropy, narrowEntropy, {4})}});
  if (!wide) {
    std::copy(narrowWeights, narrowWeights + 16, weights);
    std::copy(narrowEntropy, narrowEntropy + 4, entropy);
  }
  EXPECT_NEAR(weights[4], 0.5, 1e-6);
  EXPECT_NEAR(entropy[1], std::log(2.0), 1e-6);
  for (int j = 0; j < 3; ++j)
    EXPECT_TRUE(std::isnan(weights[8 + j])) << j;
  EXPECT_EQ(weights[11], 0);
  EXPECT_TRUE(std::isnan(entropy[2]));
}

TEST_P(KernelTest, ComputesAWeightedMean) {
  Kernel kernel = compile(
      "attention f(q, k, v) { kappa = exp(dot(q, k)); return o, mass }");
  EXPECT_EQ(kernel.name(), "f");
  EXPECT_EQ(kernel.results(), (std::vector<std::string>{"o", "mass"}));
  float q[] = {1}, k[] = {1, 0}, v[] = {3, 30, 5, 50}, o[2], mass[1];
  std::vector<Argument> arguments = {
      {"q", {q, {1, 1}}}, {"k", {k, {2, 1}}}, {"v", {v, {2, 2}}}};
  EXPECT_EQ(kernel.shapeOf("o", arguments), (std::vector<int64_t>{1, 2}));
  kernel(arguments, {{"mass", {mass, {1}}}, {"o", {o, {1, 2}}}});
  double e = std::exp(1.0);
  EXPECT_NEAR(o[0], (3 * e + 5) / (e + 1), 1e-5);
  EXPECT_NEAR(o[1], (30 * e + 50) / (e + 1), 1e-4);
  EXPECT_NEAR(mass[0], e + 1, 1e-5);
}

TEST_P(KernelTest, ProductsOfPositionsAreExact) {
  // Keys j with |i^2 - j^2| < i, at i = 69999 where i^2 exceeds 32 bits: j = i
  // alone, as (i - 1)^2 = i^2 - 2 i + 1.
  Kernel kernel =
      compile("attention f(q, k, v) { kappa = exp(-(i - j)^2 / nk)\n"
              "mask = abs(i * i - j * j) < i; return o, mass }");
  constexpr int64_t keys = 70000;
  std::vector<float> k(keys, 1), v(keys);
  for (int64_t j = 0; j < keys; ++j)
    v[j] = static_cast<float>(j);
  float q[] = {1}, o[1], mass[1];
  kernel({{"q", {q, {1, 1}}},
          {"k", {k.data(), {keys, 1}}},
          {"v", {v.data(), {keys, 1}}}},
         {{"o", {o, {1, 1}}}, {"mass", {mass, {1}}}});
  EXPECT_EQ(mass[0], 1);
  EXPECT_EQ(o[0], 69999);
}

TEST_P(KernelTest, ManyThreadsAndManySizes) {
  Kernel kernel = compile(
      "attention f(q, k, v; s) { kappa = exp(s * dot(q, k)); mask = causal }");
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      int64_t d = 1 + t % 3, n = 4 + t; // three specialisations, used by turns
      std::vector<float> q(n * d, 0.0f), v(n), o(n);
      for (int64_t j = 0; j < n; ++j)
        v[j] = j + t;
      for (int repeat = 0; repeat < 5; ++repeat) {
        kernel({{"q", {q.data(), {n, d}}},
                {"k", {q.data(), {n, d}}},
                {"v", {v.data(), {n, 1}}},
                {"s", 0.5}},
               {{"o", {o.data(), {n, 1}}}});
        for (int64_t i = 0; i < n;
             ++i) // all weights are 1: the mean of 0..i, plus t
          wrong[t] += std::fabs(o[i] - (i / 2.0 + t)) > 1e-5;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST_P(KernelTest, NothingIsWrittenWhereSomethingDoesNotFit) {
  Kernel kernel =
      compile("attention f(q, k, v; b >= 0) { kappa = exp(dot(q, k)) + b }");
  float x[] = {1, 2}, o[] = {-7, -7};
  auto call = [&](std::vector<int64_t> k, double b) {
    kernel({{"q", {x, {2, 1}}}, {"k", {x, k}}, {"v", {x, {2, 1}}}, {"b", b}},
           {{"o", {o, {2, 1}}}});
  };
  EXPECT_THROW(call({2, 1}, -1), Error);
  EXPECT_THROW(call({1, 2}, 1), Error); // one key, and rows of unequal length
  EXPECT_THROW(call({1, 1}, 1), Error);
  EXPECT_EQ(o[0], -7);
  EXPECT_EQ(o[1], -7);
  call({2, 1}, 1);
  EXPECT_NE(o[0], -7);
}

TEST_P(KernelTest, UnequalRowsAreAnError) {
  Kernel kernel = compile("attention f(q, k, v) { kappa = exp(dot(q, k)) }");
  float x[8] = {}, o[4];
  try {
    kernel({{"q", {x, {2, 3}}}, {"k", {x, {2, 4}}}, {"v", {x, {2, 1}}}},
           {{"o", {o, {2, 1}}}});
    FAIL() << "rows of 3 and 4 have no inner product";
  } catch (const Error &error) {
    // The place of `dot` in the text, and the line.
    EXPECT_NE(std::string(error.what()).find("<text>:1:"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("kappa = exp(dot(q, k))"),
              std::string::npos)
        << error.what();
  }
}

TEST_P(KernelTest, EmptyArrays) {
  Kernel kernel = compile("attention f(q, k, v) { kappa = exp(dot(q, k)) }");
  float q[] = {1, 2}, o[] = {-7, -7};
  Tensor none(nullptr, Type::f32, {0, 1});
  kernel({{"q", {q, {2, 1}}}, {"k", none}, {"v", none}}, {{"o", {o, {2, 1}}}});
  EXPECT_EQ(o[0], 0); // no key is visible (S3)
  EXPECT_EQ(o[1], 0);
  kernel({{"q", none}, {"k", {q, {2, 1}}}, {"v", {q, {2, 1}}}}, {{"o", none}});
}

TEST_P(KernelTest, WorkspacesBeyondTheLimit) {
  // relu(k) is computed ahead, once a key: 2 heads x 40000 keys x 64 floats
  // are 19.5 MiB, so one head's workspace is used for both, by turns.
  Kernel kernel =
      compile("attention f(q, k, v) { k = relu(k); kappa = exp(dot(q, k)) }");
  const int64_t heads = 2, keys = 40000, d = 64;
  std::vector<float> q(heads * d), k(heads * keys * d), v(heads * keys),
      o(heads);
  for (size_t i = 0; i < q.size(); ++i)
    q[i] = 0.01f * (i % 7) - 0.02f;
  for (size_t i = 0; i < k.size(); ++i)
    k[i] = 0.1f * (i * 37 % 101) - 5;
  for (size_t i = 0; i < v.size(); ++i)
    v[i] = 0.25f * (i * 31 % 17) + i / keys;
  kernel({{"q", {q.data(), {1, heads, 1, d}}},
          {"k", {k.data(), {1, heads, keys, d}}},
          {"v", {v.data(), {1, heads, keys, 1}}}},
         {{"o", {o.data(), {1, heads, 1, 1}}}});
  for (int64_t h = 0; h < heads; ++h) {
    // Alone, a head has a whole workspace; its bits are the same (S8).
    float alone = 0;
    kernel({{"q", {q.data() + h * d, {1, d}}},
            {"k", {k.data() + h * keys * d, {keys, d}}},
            {"v", {v.data() + h * keys, {keys, 1}}}},
           {{"o", {&alone, {1, 1}}}});
    EXPECT_EQ(o[h], alone) << "head " << h;
    double mass = 0, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double s = 0;
      for (int64_t t = 0; t < d; ++t)
        s += q[h * d + t] * std::max(0.0, double(k[(h * keys + j) * d + t]));
      mass += std::exp(s);
      sum += std::exp(s) * v[h * keys + j];
    }
    EXPECT_NEAR(o[h], sum / mass, 1e-3) << "head " << h;
  }
}

TEST_P(KernelTest, StridesInAndOut) {
  // Rows of stride 2 and -1 are packed, and a transposed o is copied back.
  Kernel kernel = compile("attention f(q, k, v) { kappa = exp(dot(q, k)) }");
  float q[] = {1, -9, 0.5f, -9}, k[] = {0, 1, 1, 0}, v[] = {2, 4, 6, 8},
        o[4] = {};
  kernel({{"q", {q, {1, 2}, {4, 2}}},      // (1, 0.5)
          {"k", {k + 1, {2, 2}, {2, -1}}}, // (1, 0), (0, 1)
          {"v", {v, {2, 2}, {1, 2}}}},     // (2, 6), (4, 8)
         {{"o", {o, {1, 2}, {1, 2}}}});
  double a = std::exp(1.0), b = std::exp(0.5);
  EXPECT_NEAR(o[0], (2 * a + 4 * b) / (a + b), 1e-5);
  EXPECT_EQ(o[1], 0);
  EXPECT_NEAR(o[2], (6 * a + 8 * b) / (a + b), 1e-5);
}

TEST_P(KernelTest, MasksOfInequality) {
  // The canonicaliser turns the skip of tiles round: "nobody sees" comes first.
  Kernel kernel = compile("attention f(q, k, v) { kappa = exp(dot(q, k)); "
                          "mask = i != j }");
  const int64_t n = 150; // three tiles of keys
  std::vector<float> q(n, 0.0f), v(n), o(n);
  double sum = 0;
  for (int64_t j = 0; j < n; ++j)
    sum += v[j] = j % 7;
  kernel({{"q", {q.data(), {n, 1}}},
          {"k", {q.data(), {n, 1}}},
          {"v", {v.data(), {n, 1}}}},
         {{"o", {o.data(), {n, 1}}}});
  for (int64_t i = 0; i < n; ++i) // the mean of all others
    EXPECT_NEAR(o[i], (sum - v[i]) / (n - 1), 1e-5) << i;
}

INSTANTIATE_TEST_SUITE_P(Targets, KernelTest,
                         ::testing::Values("reference", "cpu"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

TEST(CompilerTest, Options) {
  auto message = [](const Options &options) -> std::string {
    try {
      Compiler compiler(options);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({"gpu", "", 0}),
            "there is no target 'gpu'; known targets are cpu, cuda, "
            "cuda-emulator, reference");
  EXPECT_EQ(message({"cpu", "x86-64-v9", 0}),
            "there is no feature level 'x86-64-v9'; known levels are amx, "
            "avx512bf16, x86-64-v4, x86-64-v3, x86-64-v2, aarch64");
  EXPECT_EQ(message({"cpu", "", -1}), "a call cannot use -1 threads");
}

TEST(CompilerTest, ErrorsHaveTheirPlace) {
  try {
    Compiler().compile("attention f(q, k, v) {\n  kappa = exp(dot(q, x))\n}",
                       {}, "k.attn");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.file(), "k.attn");
    EXPECT_EQ(error.line(), 2);
    EXPECT_EQ(error.column(), 22);
  }
  try {
    Compiler().compile("attention f(q, k, v) { kappa = dot(q, k) }");
    FAIL();
  } catch (const Error &error) { // a diagnostic of a pass
    EXPECT_EQ(error.file(), "<text>");
    EXPECT_EQ(error.line(), 1);
    EXPECT_EQ(error.column(), 32);
  }
  EXPECT_EQ(errorOf("attention f(q, k, v) {\n  kappa = exp(dot(q, x))\n}")
                .substr(0, 20),
            "k.attn:2:22: error: ");
  // S7 is refused at once, not at the first call.
  EXPECT_NE(errorOf("attention f(q, k, v) { kappa = dot(q, k) }")
                .find("allow signed"),
            std::string::npos);
}

TEST(CompilerTest, IntegersBeyond64Bits) {
  struct {
    const char *statements; ///< '@' before the place that is blamed
    const char *text;
  } wide[] = {
      {"kappa = 1; mask = @i * j * i > 0",
       "it is the product of integers of 60 and 30 bits; positions, lengths "
       "and "
       "integer parameters may take 30; compute it as a real, `1.0 * i`"},
      {"kappa = 1; mask = (@i * j * i + j) * 2 > 0",
       "it is the product of integers of 60 and 30 bits; positions, "},
      {"kappa = 1; mask = @i * 9223372036854775807 > j",
       "it is the product of integers of 30 and 63 bits; positions, "},
      {"kappa = @floor(dot(q, k))^2",
       "it is the product of integers of 62 and 62 bits; the floor of a real "
       "may take 62; compute with it as a real, `1.0 * floor(x)`"},
      {"kappa = exp(dot(q, k)) + 4 * (j + @3 * floor(dot(q, k)))^2",
       "bits; the floor of a real may take 62"},
  };
  for (const auto &one : wide) {
    std::string text = std::string("attention f(q, k, v) { ") + one.statements +
                       "; normalize = none }";
    size_t at = text.find('@');
    text.erase(at, 1);
    Kernel kernel = Compiler().compile(text, {}, "k.attn");
    float x[] = {1}, o[1];
    Tensor row(x, {1, 1});
    try {
      kernel({{"q", row}, {"k", row}, {"v", row}}, {{"o", {o, {1, 1}}}});
      FAIL() << text;
    } catch (const Error &error) {
      std::string message = error.what();
      EXPECT_EQ(message.find("k.attn:1:" + std::to_string(at + 1) +
                             ": error: an integer of this kernel may exceed 64 "
                             "bits: "),
                0u)
          << message;
      EXPECT_NE(message.find(one.text), std::string::npos) << message;
    }
  }
}

TEST(CompilerTest, SpecsAreChosenByName) {
  const char *two = "attention f(q, k, v) { kappa = exp(dot(q, k)) }\n"
                    "attention g(q, k, v) { kappa = exp(-sqdist(q, k)) }\n";
  EXPECT_EQ(Compiler().compile(two, "g").name(), "g");
  EXPECT_NE(
      errorOf(two).find("there are several specs here: f, g; choose one by its "
                        "name"),
      std::string::npos);
  EXPECT_NE(errorOf(two, "h").find("there is no spec 'h' here; there is f, g"),
            std::string::npos);
}

TEST(CompilerTest, MissingFile) {
  try {
    Compiler().compileFile("no/such.attn");
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "no/such.attn: error: cannot read this file");
  }
}

} // namespace
