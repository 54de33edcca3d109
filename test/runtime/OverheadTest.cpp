//===- OverheadTest.cpp - what a call costs beside its work ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Medians of batches of calls on problems of a few elements; the machine's
// other users can only add to them, so the best batch counts. Prints them.
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"
#include "runtime/Cache.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <time.h>

using namespace attn;

namespace {

double microseconds() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The least of the medians of `batches` batches of `size` calls.
template <typename Call>
double bestMedian(int batches, int size, const Call &call) {
  double best = 1e30;
  for (int batch = 0; batch < batches; ++batch) {
    std::vector<double> times(size);
    for (double &time : times) {
      double begin = microseconds();
      call();
      time = microseconds() - begin;
    }
    std::nth_element(times.begin(), times.begin() + size / 2, times.end());
    best = std::min(best, times[size / 2]);
  }
  return best;
}

double callTime(int threads, int64_t heads) {
  Options options;
  options.threads = threads;
  Kernel kernel = Compiler(options).compile(
      "attention softmax(q, k, v) { kappa = exp(dot(q, k) / sqrt(dim)) }");
  std::vector<float> x(heads * 8, 0.5f), o(heads * 8);
  std::vector<int64_t> shape = {1, heads, 1, 8};
  std::vector<Argument> arguments = {{"q", {x.data(), shape}},
                                     {"k", {x.data(), shape}},
                                     {"v", {x.data(), shape}}};
  std::vector<Output> outputs = {{"o", {o.data(), shape}}};
  kernel(arguments, outputs);
  double time = bestMedian(500, 20, [&] { kernel(arguments, outputs); });
  EXPECT_EQ(o[0], 0.5f);
  return time;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_SANITIZERS()                                                \
  GTEST_SKIP() << "SKIP: a sanitizer takes time of its own"
#else
#define SKIP_UNDER_SANITIZERS() (void)0
#endif

TEST(OverheadTest, CallsOnOneThread) {
  SKIP_UNDER_SANITIZERS();
  double time = callTime(1, 1);
  std::printf("a call on one thread: %.2f us\n", time);
  EXPECT_LE(time, 5);
}

/// As most callers write it: the lists are made anew for each call.
TEST(OverheadTest, CallsWithTheirArgumentsWrittenOut) {
  SKIP_UNDER_SANITIZERS();
  Options options;
  options.threads = 1;
  Kernel kernel = Compiler(options).compile(
      "attention softmax(q, k, v) { kappa = exp(dot(q, k) / sqrt(dim)) }");
  float x[8] = {}, o[8];
  double time = bestMedian(500, 20, [&] {
    kernel({{"q", {x, {1, 1, 1, 8}}},
            {"k", {x, {1, 1, 1, 8}}},
            {"v", {x, {1, 1, 1, 8}}}},
           {{"o", {o, {1, 1, 1, 8}}}});
  });
  std::printf("a call with its arguments written out: %.2f us\n", time);
  EXPECT_LE(time, 5);
}

TEST(OverheadTest, CallsOnTwoThreads) {
  SKIP_UNDER_SANITIZERS();
  double time = callTime(2, 2);
  std::printf("a call on two threads: %.2f us\n", time);
  EXPECT_LE(time, 15);
}

/// Milliseconds of the processor's time, in which others have no part.
double processorTime() {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

/// Milliseconds from the text to the first result.
double firstResult(const std::string &folder) {
  double begin = processorTime();
  Options options;
  options.threads = 1;
  options.cache = folder;
  Kernel kernel = Compiler(options).compile(
      "attention softmax(q, k, v) { kappa = exp(dot(q, k) / sqrt(dim)) }");
  std::vector<float> x(64, 0.5f), o(64);
  kernel({{"q", {x.data(), {1, 64}}},
          {"k", {x.data(), {1, 64}}},
          {"v", {x.data(), {1, 64}}}},
         {{"o", {o.data(), {1, 64}}}});
  return processorTime() - begin;
}

TEST(OverheadTest, FirstResults) {
  SKIP_UNDER_SANITIZERS();
  unsetenv("ATTN_CACHE");
  std::string folder =
      (std::filesystem::temp_directory_path() / "attn-first.XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  double compiled = 1e30, cached = 1e30;
  for (int repeat = 0; repeat < 20 && compiled > 150; ++repeat)
    compiled = std::min(compiled, firstResult("off"));
  firstResult(folder);
  for (int repeat = 0; repeat < 20; ++repeat)
    cached = std::min(cached, firstResult(folder));
  std::filesystem::remove_all(folder);
  setenv("ATTN_CACHE", "off", 1);
  std::printf("text to result: compiled %.1f ms, from the cache %.2f ms\n",
              compiled, cached);
  EXPECT_LE(compiled, 250);
  EXPECT_LE(cached, 10);
}

} // namespace
