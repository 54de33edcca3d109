//===- RobustnessTest.cpp - memory, signals, many kernels -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

using namespace attn;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_SANITIZERS()                                                \
  GTEST_SKIP() << "SKIP: a sanitizer keeps freed memory and reserves address " \
                  "space of its own"
#else
#define SKIP_UNDER_SANITIZERS() (void)0
#endif

namespace {

Options oneThread() {
  Options options;
  options.threads = 1;
  return options;
}

/// Bytes: the first number of /proc/self/statm is the address space, the second
/// what is resident.
int64_t memory(bool resident) {
  std::ifstream stream("/proc/self/statm");
  int64_t space = 0, pages = 0;
  stream >> space >> pages;
  return (resident ? pages : space) * sysconf(_SC_PAGESIZE);
}

/// Compiles a kernel that differs from all others by a constant, and calls it.
void compileNumber(int n) {
  Kernel kernel = Compiler(oneThread())
                      .compile("attention f(q, k, v) { kappa = exp(" +
                               std::to_string(n) + " * dot(q, k)) }");
  float q[] = {0.001f}, k[] = {1, 0}, v[] = {1, 0}, o[1];
  kernel({{"q", {q, {1, 1}}}, {"k", {k, {2, 1}}}, {"v", {v, {2, 1}}}},
         {{"o", {o, {1, 1}}}});
  ASSERT_NEAR(o[0], 1 / (1 + std::exp(-0.001 * n)), 1e-5);
}

/// Code is freed with its kernel: memory levels off. ATTN_MANY_KERNELS asks for
/// another number of kernels, and the figures are printed.
TEST(RobustnessTest, ManyKernels) {
  SKIP_UNDER_SANITIZERS();
  const char *asked = std::getenv("ATTN_MANY_KERNELS");
  const int count = asked ? std::atoi(asked) : 100;
  int64_t early = 0;
  for (int n = 1; n <= count; ++n) {
    compileNumber(n);
    if (n == 30)
      early = memory(/*resident=*/true);
    if (asked && n % (count / 10) == 0)
      std::printf("%d kernels: %.1f MiB\n", n, memory(true) / 1048576.0);
  }
  // A kernel's code and IR take half a megabyte and more: 70 that were kept
  // would be 35 MiB.
  EXPECT_LT(memory(true) - early, int64_t(16) << 20);
}

TEST(RobustnessTest, OutOfMemory) {
  SKIP_UNDER_SANITIZERS();
  Kernel kernel =
      Compiler(oneThread())
          .compile(
              "attention f(q, k, v) { k = relu(k); kappa = exp(dot(q, k)) }");
  // All keys are one row: the input takes no memory, relu(k) takes 256 MB.
  const int64_t keys = 1000000, d = 64;
  std::vector<float> row(d, 0.125f);
  float o[1] = {-7}, v[1] = {3};
  auto call = [&](int64_t n) {
    kernel({{"q", {row.data(), {1, d}}},
            {"k", {row.data(), {n, d}, {0, 1}}},
            {"v", {v, {n, 1}, {0, 1}}}},
           {{"o", {o, {1, 1}}}});
  };
  call(10);
  EXPECT_EQ(o[0], 3);
  o[0] = -7;
  struct rlimit before, tight;
  getrlimit(RLIMIT_AS, &before);
  tight = before;
  tight.rlim_cur = memory(/*resident=*/false) + (int64_t(64) << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  std::string message = "no error";
  try {
    call(keys);
  } catch (const Error &error) {
    message = error.what();
  }
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(message, "out of memory: a workspace takes 256000000 bytes");
  EXPECT_EQ(o[0], -7) << "something was written";
  call(keys); // and all is well again
  EXPECT_EQ(o[0], 3);
}

volatile double sink;
volatile int signals;

/// The handler computes too: its rounding and denormals are not the kernel's.
void onAlarm(int) {
  ++signals;
  sink = sink / 3 + 1e-310;
}

TEST(RobustnessTest, Signals) {
  Kernel kernel =
      Compiler(oneThread())
          .compile("attention f(q, k, v) { kappa = exp(dot(q, k)) }");
  const int64_t n = 200, d = 16;
  std::vector<float> x(n * d), expected(n * d), o(n * d);
  for (size_t t = 0; t < x.size(); ++t)
    x[t] = 0.01f * static_cast<float>(t * 37 % 101) - 0.5f;
  auto call = [&](std::vector<float> &out) {
    kernel({{"q", {x.data(), {n, d}}},
            {"k", {x.data(), {n, d}}},
            {"v", {x.data(), {n, d}}}},
           {{"o", {out.data(), {n, d}}}});
  };
  call(expected);
  struct sigaction action = {}, oldAction;
  action.sa_handler = onAlarm; // without SA_RESTART
  sigaction(SIGALRM, &action, &oldAction);
  struct itimerval timer = {{0, 500}, {0, 500}}, off = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  int wrong = 0;
  for (int repeat = 0; repeat < 100000 && signals < 100; ++repeat) {
    call(o);
    wrong += o != expected;
  }
  compileNumber(3); // interrupted as well
  setitimer(ITIMER_REAL, &off, nullptr);
  sigaction(SIGALRM, &oldAction, nullptr);
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(signals, 100);
  volatile double denormal = 1e-310;
  EXPECT_GT(denormal / 2, 0) << "flush-to-zero was left on";
}

} // namespace
