//===- PairsTest.cpp - few queries of bf16 --------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of bf16 are multiplied as they are stored, by pairs of products where
// the machine has them: = float64 on the same inputs for odd lengths of rows
// and of keys, mass and lse to f32's digits; a row's bits are its own (S8), and
// hidden keys and values change none of them (S2, S9).
//
//===----------------------------------------------------------------------===//

#include "../linear/LinearFixture.h"
#include "runtime/Arrays.h"

#include <cstring>

using namespace attn;
using namespace attn::test;

namespace {

/// Normal random numbers, rounded to bf16.
struct Rows {
  std::vector<int64_t> shape;
  std::vector<uint16_t> values;
  Rows(std::vector<int64_t> shape, unsigned seed) : shape(shape) {
    for (float x : Data(std::move(shape), seed).values) {
      values.emplace_back();
      runtime::storeReal(Type::bf16, &values.back(), x);
    }
  }
  Tensor view() { return {values.data(), Type::bf16, shape}; }
  /// Overwrites row j of every head.
  void fill(int64_t j, float even, float odd) {
    int64_t n = shape[3];
    for (int64_t head = 0; head < shape[0] * shape[1]; ++head)
      for (int64_t d = 0; d < n; ++d)
        runtime::storeReal(Type::bf16, &values[(head * shape[2] + j) * n + d],
                           d % 2 ? odd : even);
  }
};

struct Results {
  std::vector<uint16_t> o;
  std::vector<float> mass, lse;
};

struct Problem {
  Rows q, k, v;
  std::string body;
  std::vector<int64_t> offset;

  Problem(const Shape &s, std::string body, unsigned seed = 1)
      : q({s.B, s.Hq, s.Nq, s.D}, seed), k({s.B, s.Hk, s.Nk, s.D}, seed + 1),
        v({s.B, s.Hk, s.Nk, s.Dv}, seed + 2), body(std::move(body)) {}

  Results compute(const std::string &target, const std::string &level = {}) {
    Call call;
    call.target = target;
    call.level = level;
    call.text = "attention t(q, k, v) { " + body + "; return o, mass, lse }";
    Results r;
    int64_t rows = q.shape[0] * q.shape[1] * q.shape[2];
    r.o.assign(rows * v.shape[3], 0x7fff);
    r.mass.assign(rows, NAN);
    r.lse.assign(rows, NAN);
    std::vector<int64_t> one{q.shape[0], q.shape[1], q.shape[2]}, whole = one;
    whole.push_back(v.shape[3]);
    std::vector<Argument> arguments{
        {"q", q.view()}, {"k", k.view()}, {"v", v.view()}};
    if (!offset.empty())
      arguments.push_back(
          {"offset", Tensor(offset.data(), Type::i64,
                            {static_cast<int64_t>(offset.size())})});
    call.compile()(arguments, {{"o", Tensor(r.o.data(), Type::bf16, whole)},
                               {"mass", Tensor(r.mass.data(), one)},
                               {"lse", Tensor(r.lse.data(), one)}});
    return r;
  }
};

double real(uint16_t x) { return runtime::loadReal(Type::bf16, &x); }

void expectRight(Problem &problem, const std::string &level) {
  Results got = problem.compute("cpu", level),
          expected = problem.compute("reference");
  double difference = 0, norm = 1e-300;
  for (size_t n = 0; n < got.o.size(); ++n) {
    double delta = real(got.o[n]) - real(expected.o[n]);
    difference += delta * delta;
    norm += real(expected.o[n]) * real(expected.o[n]);
  }
  EXPECT_LE(std::sqrt(difference / norm), 4e-3);
  for (size_t n = 0; n < got.mass.size(); ++n) {
    EXPECT_LE(std::fabs(got.mass[n] - expected.mass[n]),
              1e-5f * expected.mass[n])
        << n;
    if (got.lse[n] != expected.lse[n]) {
      EXPECT_LE(std::fabs(got.lse[n] - expected.lse[n]),
                1e-5f * std::max(1.0f, std::fabs(expected.lse[n])))
          << n;
    }
  }
}

void expectSame(const Results &a, size_t fromA, const Results &b, size_t fromB,
                size_t rows, size_t width, const std::string &what) {
  EXPECT_EQ(
      std::memcmp(&a.o[fromA * width], &b.o[fromB * width], rows * width * 2),
      0)
      << what;
  EXPECT_EQ(std::memcmp(&a.mass[fromA], &b.mass[fromB], rows * 4), 0) << what;
  EXPECT_EQ(std::memcmp(&a.lse[fromA], &b.lse[fromB], rows * 4), 0) << what;
}

const char *const bodies[] = {
    "kappa = exp(dot(q, k)/sqrt(dim))",
    "kappa = exp(dot(q, k)/sqrt(dim)); mask = causal",
    "kappa = exp(dot(q, k)/sqrt(dim)); mask = (i + j) % 3 == 0",
    "kappa = (dot(q, k) + 1)^2/(sqdist(q, k) + 1)",
    "kappa = exp(-sqdist(q, k)/dim)",
    // Rows that maps make have more digits than bf16.
    "q = rope(q, i); k = rope(k, j); kappa = exp(dot(q, k)/sqrt(dim))",
    "v = 2*v; kappa = exp(dot(q, k)/sqrt(dim))",
};

class Pairs : public ::testing::TestWithParam<const char *> {};

} // namespace

TEST_P(Pairs, IsFloat64) {
  const Shape shapes[] = {
      {1, 1, 1, 1, 1, 2, 1},       {1, 1, 1, 1, 33, 6, 3},
      {2, 4, 2, 1, 129, 16, 8},    {1, 8, 1, 1, 2501, 64, 64},
      {1, 3, 1, 1, 1023, 80, 40},  {1, 2, 2, 3, 1024, 96, 48},
      {1, 6, 2, 8, 1101, 34, 33},  {1, 40, 2, 1, 301, 128, 128},
      {1, 2, 1, 1, 20000, 40, 24}, {1, 5, 1, 1, 515, 320, 272},
      {1, 2, 1, 2, 700, 66, 17},
  };
  for (const Shape &s : shapes)
    for (const char *level : {"", "x86-64-v3@native"}) {
      SCOPED_TRACE(std::to_string(s.Hq) + "/" + std::to_string(s.Hk) +
                   " heads, " + std::to_string(s.Nq) + " x " +
                   std::to_string(s.Nk) + ", rows of " + std::to_string(s.D) +
                   " and " + std::to_string(s.Dv) + " " + level);
      Problem problem(s, GetParam());
      expectRight(problem, level);
    }
}

/// The heads of a group and the sequences of a batch, each alone.
TEST_P(Pairs, BitsAreTheRowsOwn) {
  Shape s{2, 8, 1, 1, 1501, 80, 40};
  Problem together(s, GetParam());
  Results all = together.compute("cpu");
  for (int64_t sequence = 0; sequence < s.B; ++sequence)
    for (int64_t head = 0; head < s.Hq; ++head) {
      int64_t row = sequence * s.Hq + head;
      Problem alone({1, 1, 1, 1, s.Nk, s.D, s.Dv}, GetParam());
      auto take = [](const Rows &from, int64_t first, Rows &into) {
        std::copy_n(from.values.begin() + first * into.values.size(),
                    into.values.size(), into.values.begin());
      };
      take(together.q, row, alone.q);
      take(together.k, sequence, alone.k);
      take(together.v, sequence, alone.v);
      expectSame(alone.compute("cpu"), 0, all, row, 1, s.Dv,
                 "head " + std::to_string(head));
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Pairs, ::testing::ValuesIn(bodies));

TEST(Pairs, HiddenKeysAreNotSeen) {
  Shape s{1, 5, 1, 2, 3000, 64, 40};
  for (const char *mask : {"causal", "j % 7 != 3 and causal"}) {
    Problem problem(s, "kappa = exp(dot(q, k)/sqrt(dim)); mask = " +
                           std::string(mask));
    problem.offset = {2000};
    Results clean = problem.compute("cpu");
    for (int64_t j = 0; j < s.Nk; ++j)
      if (j > 2001 || (mask[0] == 'j' && j % 7 == 3))
        for (Rows *rows : {&problem.k, &problem.v})
          rows->fill(j, INFINITY, NAN);
    expectSame(problem.compute("cpu"), 0, clean, 0, 10, s.Dv, mask);
    // Row 0 of a head does not see key 2001, which row 1 sees.
    problem.v.fill(2001, INFINITY, NAN);
    Results seen = problem.compute("cpu");
    for (size_t head = 0; head < 5; ++head) {
      expectSame(seen, 2 * head, clean, 2 * head, 1, s.Dv, mask);
      EXPECT_TRUE(std::isinf(real(seen.o[(2 * head + 1) * s.Dv]))) << mask;
      EXPECT_TRUE(std::isnan(real(seen.o[(2 * head + 1) * s.Dv + 1]))) << mask;
    }
  }
}
