//===- MergeTest.cpp - results over parts of the keys ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Merge.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace attn;

namespace {

constexpr float kInf = INFINITY;

/// Rows of one value each.
struct Part {
  std::vector<float> o, weight;
  Partial view() {
    int64_t n = static_cast<int64_t>(o.size());
    return {{o.data(), {n, 1}}, {weight.data(), {n}}};
  }
};

Part merged(std::vector<Part> parts, MergeBy by) {
  Part whole = parts.front();
  std::fill(whole.o.begin(), whole.o.end(), 99.0f);
  std::vector<Partial> views;
  for (Part &part : parts)
    views.push_back(part.view());
  merge(views, whole.view(), by);
  return whole;
}

TEST(Merge, ByLse) {
  // Weights 1 and 3; one part that sees nothing; none that does; far beyond
  // what exp holds.
  float log3 = std::log(3.0f);
  Part whole = merged({{{1, 0, 0, 2}, {0, -kInf, -kInf, 1000}},
                       {{5, 7, 0, 4}, {log3, 2, -kInf, 1000}}},
                      MergeBy::lse);
  EXPECT_FLOAT_EQ(whole.o[0], 4);
  EXPECT_FLOAT_EQ(whole.weight[0], std::log(4.0f));
  EXPECT_EQ(whole.o[1], 7);
  EXPECT_EQ(whole.weight[1], 2);
  EXPECT_EQ(whole.o[2], 0);
  EXPECT_EQ(whole.weight[2], -kInf);
  EXPECT_EQ(whole.o[3], 3);
  EXPECT_FLOAT_EQ(whole.weight[3], 1000 + std::log(2.0f));
}

TEST(Merge, ByMass) {
  // Signed masses; what cancels is an empty row.
  Part whole =
      merged({{{1, 8, 1}, {2, 1, 0x1p-127f}}, {{3, 8, 1}, {-1, -1, 0}}},
             MergeBy::mass);
  EXPECT_EQ(whole.o, (std::vector<float>{-1, 0, 0}));
  EXPECT_EQ(whole.weight, (std::vector<float>{1, 0, 0}));
}

TEST(Merge, Sums) {
  Part whole = merged({{{1, -2}, {5, 0}}, {{3, 8}, {-1, 2}}}, MergeBy::none);
  EXPECT_EQ(whole.o, (std::vector<float>{4, 6}));
  EXPECT_EQ(whole.weight, (std::vector<float>{4, 2}));
  Part a{{1}, {}}, b{{2}, {}}, sum{{0}, {}};
  merge({{a.view().o, {}}, {b.view().o, {}}}, {sum.view().o, {}},
        MergeBy::none);
  EXPECT_EQ(sum.o[0], 3);
}

/// Parts of the keys of real kernels, in every order, and merged in two steps.
TEST(Merge, PartsOfKernelsAreTheWhole) {
  struct Case {
    const char *text, *weight;
    MergeBy by;
  };
  const Case cases[] = {
      {"attention a(q, k, v) { kappa = exp(dot(q, k)); mask = causal; return "
       "o, "
       "lse }",
       "lse", MergeBy::lse},
      {"attention b(q, k, v) { kappa = (dot(q, k) + 1)^2 / (sqdist(q, k) + 1); "
       "mask = window(9, 0); return o, mass }",
       "mass", MergeBy::mass},
      {"attention c(q, k, v) { kappa = dot(q, k); normalize = none; return o, "
       "mass }",
       "mass", MergeBy::none},
  };
  const int64_t n = 40, d = 8;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> q(n * d), k(n * d), v(n * d);
  for (auto *data : {&q, &k, &v})
    for (float &x : *data)
      x = normal(random);
  for (const Case &c : cases) {
    SCOPED_TRACE(c.text);
    Kernel kernel = Compiler().compile(c.text);
    auto run = [&](int64_t begin, int64_t end, std::vector<float> &o,
                   std::vector<float> &weight) {
      o.assign(n * d, 0), weight.assign(n, 0);
      kernel({{"q", {q.data(), {n, d}}},
              {"k", {k.data() + begin * d, {end - begin, d}}},
              {"v", {v.data() + begin * d, {end - begin, d}}},
              {"offset", static_cast<double>(-begin)}},
             {{"o", {o.data(), {n, d}}}, {c.weight, {weight.data(), {n}}}});
    };
    std::vector<float> o, weight, os[3], weights[3];
    run(0, n, o, weight);
    const int64_t bounds[] = {0, 17, 18, n};
    std::vector<Partial> parts;
    for (int p = 0; p < 3; ++p) {
      run(bounds[p], bounds[p + 1], os[p], weights[p]);
      parts.push_back({{os[p].data(), {n, d}}, {weights[p].data(), {n}}});
    }
    auto near = [&](const std::vector<float> &a, const std::vector<float> &b) {
      float scale = 1; // of a sum whose terms cancel
      for (float x : b)
        scale = std::isfinite(x) ? std::max(scale, std::fabs(x)) : scale;
      for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i]) { // -inf is
          ASSERT_NEAR(a[i], b[i], 2e-6 * scale) << i;
        }
      }
    };
    std::vector<float> got(n * d), gotWeight(n);
    Partial whole{{got.data(), {n, d}}, {gotWeight.data(), {n}}};
    std::vector<int> order = {0, 1, 2};
    do {
      merge({parts[order[0]], parts[order[1]], parts[order[2]]}, whole, c.by);
      near(got, o);
      near(gotWeight, weight);
    } while (std::next_permutation(order.begin(), order.end()));
    merge({parts[0], parts[1]}, whole, c.by);
    merge({whole, parts[2]}, whole, c.by); // in place
    near(got, o);
    near(gotWeight, weight);
  }
}

TEST(Merge, StridesAndTypes) {
  std::vector<uint16_t> bf16 = {0x3f80, 0x4000, 0x4040, 0x4080}; // 1 2 3 4
  std::vector<double> weights = {0, 0, 0, 0};
  std::vector<float> o(4);
  // The same rows, forwards and backwards, columns apart.
  Tensor a(bf16.data(), Type::bf16, {2, 2});
  Tensor b(bf16.data() + 3, Type::bf16, {2, 2}, {-2, -1});
  Tensor w(weights.data(), Type::f64, {2}, {2});
  std::vector<float> lse(2);
  merge({{a, w}, {b, w}}, {{o.data(), {2, 2}, {1, 2}}, {lse.data(), {2}}},
        MergeBy::lse);
  EXPECT_EQ(o, (std::vector<float>{2.5, 2.5, 2.5, 2.5}));
  EXPECT_FLOAT_EQ(lse[0], std::log(2.0f));
}

TEST(Merge, Errors) {
  Part a{{1, 2}, {0, 0}}, b{{1, 2}, {0, 0}}, whole = a, shorter{{1}, {0}};
  auto error = [](const std::vector<Partial> &parts, const Partial &whole,
                  MergeBy by = MergeBy::lse) -> std::string {
    try {
      merge(parts, whole, by);
    } catch (const Error &e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error({}, whole.view()), "there are no parts to merge");
  EXPECT_EQ(error({a.view(), shorter.view()}, whole.view()),
            "part 1's o has shape [1, 1]; it must be [2, 1]");
  EXPECT_EQ(error({{a.view().o, {}}}, whole.view()),
            "part 0's lse has no memory: its pointer is null");
  EXPECT_EQ(error({{a.view().o, shorter.view().weight}}, whole.view()),
            "part 0's lse has shape [1]; it must be [2]");
  int32_t integers[2] = {};
  EXPECT_EQ(error({{Tensor(integers, Type::i32, {2, 1}), a.view().weight}},
                  whole.view()),
            "part 0's o has type i32; it must be f32, f16, bf16 or f64");
  Partial shifted = whole.view();
  float memory[8] = {};
  shifted.o = {memory, {2, 1}};
  Partial other{{memory + 1, {2, 1}}, a.view().weight};
  EXPECT_EQ(error({other}, shifted),
            "the whole's o shares memory with a part, and is not the same "
            "array");
  shifted.weight = {memory, {2}};
  EXPECT_EQ(error({a.view()}, shifted), "the whole's o and lse share memory");
}

} // namespace
