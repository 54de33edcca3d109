//===- ConcurrencyTest.cpp - many threads, many compilers -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Run under ThreadSanitizer by `tools/test --tsan`.
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <stdlib.h>
#include <thread>

using namespace attn;

namespace {

constexpr int kThreads = 8;

/// Runs `body(t)` on kThreads threads, and rethrows what one of them threw.
template <typename Body> void onThreads(Body body) {
  std::vector<std::thread> threads;
  std::vector<std::string> errors(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      try {
        body(t);
      } catch (const std::exception &error) {
        errors[t] = error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &error : errors)
    EXPECT_EQ(error, "");
}

Options withThreads(int threads) {
  Options options;
  options.threads = threads;
  return options;
}

/// A problem of its own for each seed.
struct Data {
  int64_t heads, n, d;
  std::vector<float> q, k, v, o;
  Data(int seed, int64_t n, int64_t d)
      : heads(2), n(n), d(d), q(heads * n * d), k(q.size()), v(q.size()),
        o(q.size()) {
    uint32_t state = seed * 2654435761u + 1;
    for (std::vector<float> *array : {&q, &k, &v})
      for (float &x : *array) {
        state = state * 1664525u + 1013904223u;
        x = static_cast<float>(state >> 8) / (1 << 23) - 1;
      }
  }
  std::vector<float> compute(const Kernel &kernel) {
    std::vector<int64_t> shape = {1, heads, n, d};
    kernel({{"q", {q.data(), shape}},
            {"k", {k.data(), shape}},
            {"v", {v.data(), shape}}},
           {{"o", {o.data(), shape}}});
    return o;
  }
};

TEST(ConcurrencyTest, OneKernelOnDifferentData) {
  const char *text = "attention f(q, k, v) { k = relu(k); "
                     "kappa = exp(dot(q, k)); mask = causal }";
  Kernel alone = Compiler(withThreads(1)).compile(text);
  Kernel shared = Compiler(withThreads(2)).compile(text);
  std::vector<std::vector<float>> expected;
  for (int t = 0; t < kThreads; ++t)
    expected.push_back(Data(t, 70 + t, 3 + t % 3).compute(alone));
  // Also the first calls for each length of rows meet.
  onThreads([&](int t) {
    for (int repeat = 0; repeat < 10; ++repeat)
      EXPECT_EQ(Data(t, 70 + t, 3 + t % 3).compute(shared), expected[t]);
  });
}

TEST(ConcurrencyTest, EightThreadsCompile) {
  onThreads([](int t) {
    for (int n = 1; n <= 2; ++n) {
      int factor = 2 * t + n; // no two are the same
      Kernel kernel = Compiler(withThreads(1))
                          .compile("attention f(q, k, v) { kappa = exp(" +
                                   std::to_string(factor) + " * dot(q, k)) }");
      float q[] = {0.1f}, k[] = {1, 0}, v[] = {1, 0}, o[1];
      kernel({{"q", {q, {1, 1}}}, {"k", {k, {2, 1}}}, {"v", {v, {2, 1}}}},
             {{"o", {o, {1, 1}}}});
      EXPECT_NEAR(o[0], 1 / (1 + std::exp(-0.1 * factor)), 1e-5);
    }
  });
}

TEST(ConcurrencyTest, OneCompilerAndOneCache) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "attn-threads.XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  unsetenv("ATTN_CACHE");
  Options options = withThreads(1);
  options.cache = folder;
  const Compiler compiler(options);
  setenv("ATTN_CACHE", "off", 1);
  const char *text = "attention f(q, k, v) { kappa = exp(dot(q, k)) }";
  std::vector<float> expected =
      Data(1, 9, 4).compute(Compiler(withThreads(1)).compile(text));
  onThreads([&](int) {
    EXPECT_EQ(Data(1, 9, 4).compute(compiler.compile(text)), expected);
  });
  std::filesystem::remove_all(folder);
}

TEST(ConcurrencyTest, CompilersDoNotShare) {
  auto first = std::make_unique<Compiler>(withThreads(1));
  Options reference = withThreads(1);
  reference.target = "reference";
  Compiler second(reference);
  const char *text = "attention f(q, k, v) { kappa = exp(-sqdist(q, k)) }";
  Kernel compiled = first->compile(text), interpreted = second.compile(text);
  first.reset(); // a kernel needs its compiler no more
  Data data(3, 11, 5);
  std::vector<float> one = data.compute(compiled),
                     other = data.compute(interpreted);
  for (size_t t = 0; t < one.size(); ++t)
    EXPECT_NEAR(one[t], other[t], 1e-5);
  EXPECT_EQ(Data(3, 11, 5).compute(Compiler(withThreads(2)).compile(text)),
            one);
}

TEST(ConcurrencyTest, TheLastCopyMayGoAnywhere) {
  std::optional<Kernel> kernel =
      Compiler(withThreads(2))
          .compile("attention f(q, k, v) { kappa = exp(dot(q, k)) }");
  std::vector<float> expected = Data(5, 30, 4).compute(*kernel);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([copy = *kernel, &expected] {
      EXPECT_EQ(Data(5, 30, 4).compute(copy), expected);
    });
  kernel.reset();
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
