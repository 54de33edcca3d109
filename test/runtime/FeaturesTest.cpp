//===- FeaturesTest.cpp - kernels by the features asked for ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each map on each target against plain loops in float64 over the same random
// rows, by the formulas of the papers.
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"
#include "dialect/attn/RandomRows.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace attn;

namespace {

constexpr int64_t N = 21, D = 6, Dv = 3;
using Rows = std::vector<std::vector<double>>;

/// Normal numbers, rounded to f32, times a scale.
std::vector<float> numbers(int64_t count, int64_t seed, float scale) {
  RandomRows rows;
  rows.count = 1;
  rows.length = count;
  rows.seed = 1000 + seed;
  std::vector<float> x = rows.draw();
  for (float &c : x)
    c *= scale;
  return x;
}

struct Data {
  std::vector<float> q, k, v;
  explicit Data(float scale = 0.6f)
      : q(numbers(N * D, 1, scale)), k(numbers(N * D, 2, scale)),
        v(numbers(N * Dv, 3, 1)) {}
};

Rows rowsOf(const std::vector<float> &x) {
  Rows rows;
  for (int64_t n = 0; n < N; ++n)
    rows.emplace_back(x.begin() + n * D, x.begin() + (n + 1) * D);
  return rows;
}

double dot(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (size_t d = 0; d < a.size(); ++d)
    sum += a[d] * b[d];
  return sum;
}

Rows units(Rows rows) {
  for (auto &row : rows) {
    double norm = std::sqrt(dot(row, row));
    for (double &c : row)
      c /= norm;
  }
  return rows;
}

/// w_r of a stream, m of them.
Rows frequencies(int64_t m, int64_t seed, int64_t stream, bool orthogonal,
                 bool anchors = false) {
  RandomRows wanted;
  wanted.count = m;
  wanted.length = D;
  wanted.seed = seed;
  wanted.stream = stream;
  wanted.orthogonal = orthogonal;
  wanted.anchors = anchors;
  std::vector<float> all = wanted.draw();
  Rows rows;
  for (int64_t r = 0; r < m; ++r)
    rows.emplace_back(all.begin() + r * D, all.begin() + (r + 1) * D);
  return rows;
}

/// sum_r exp(w.x - |x|^2/2) exp(w.y - |y|^2/2) / m.
double positive(const Rows &w, std::vector<double> x, std::vector<double> y,
                double scale) {
  for (auto *row : {&x, &y})
    for (double &c : *row)
      c *= scale;
  double sum = 0;
  for (const auto &r : w)
    sum += std::exp(dot(r, x) + dot(r, y) - dot(x, x) / 2 - dot(y, y) / 2);
  return sum / double(w.size());
}

class FeaturesTest : public ::testing::TestWithParam<const char *> {
protected:
  /// Compiled once a test.
  const Kernel &compile(const std::string &text) {
    Options options;
    options.target = GetParam();
    options.threads = 1;
    auto known = kernels.find(text);
    if (known == kernels.end())
      known = kernels.emplace(text, Compiler(options).compile(text)).first;
    return known->second;
  }
  std::map<std::string, Kernel> kernels;
  /// The results of a spec, by name.
  std::map<std::string, std::vector<float>>
  run(const std::string &text, const Data &data,
      std::vector<Argument> more = {}) {
    const Kernel &kernel = compile(text);
    std::vector<Argument> arguments = {{"q", {data.q.data(), {1, 1, N, D}}},
                                       {"k", {data.k.data(), {1, 1, N, D}}},
                                       {"v", {data.v.data(), {1, 1, N, Dv}}}};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::map<std::string, std::vector<float>> results;
    std::vector<Output> outputs;
    for (const std::string &name : kernel.results()) {
      auto &array = results[name];
      array.resize(name == "o" ? N * Dv : N);
      outputs.push_back({name, name == "o" ? Tensor(array.data(), {1, 1, N, Dv})
                                           : Tensor(array.data(), {1, 1, N})});
    }
    kernel(arguments, outputs);
    return results;
  }
  /// Compares o and mass, under the causal mask, with a kernel in loops.
  void expect(const std::string &text, const Data &data,
              const std::function<double(int64_t, int64_t)> &kappa,
              std::vector<Argument> more = {}) {
    auto results = run(text, data, std::move(more));
    for (int64_t i = 0; i < N; ++i) {
      double mass = 0, size = 0, o[Dv] = {};
      for (int64_t j = 0; j <= i; ++j) {
        double weight = kappa(i, j);
        mass += weight;
        size += std::fabs(weight);
        for (int64_t e = 0; e < Dv; ++e)
          o[e] += weight * data.v[j * Dv + e];
      }
      double tolerance = 2e-5 * size / std::fabs(mass);
      for (int64_t e = 0; e < Dv; ++e)
        EXPECT_NEAR(results["o"][i * Dv + e], o[e] / mass, 4 * tolerance)
            << text << " at " << i;
      if (results.count("mass")) {
        EXPECT_NEAR(results["mass"][i] / mass, 1, tolerance) << text;
      }
    }
  }
};

std::string spec(const std::string &kappa, const std::string &features,
                 const std::string &rest = "") {
  return "attention f(q, k, v) { kappa = " + kappa +
         "\n features = " + features + "\n mask = causal\n " + rest + " }";
}

TEST_P(FeaturesTest, Favor) {
  Data data;
  Rows q = rowsOf(data.q), k = rowsOf(data.k);
  for (bool orthogonal : {false, true}) {
    Rows w = frequencies(40, 7, 0, orthogonal), pairs = w;
    for (auto row : w) {
      for (double &c : row)
        c = -c;
      pairs.push_back(row);
    }
    double root = std::pow(D, -0.25);
    std::string flag = orthogonal ? "1" : "0";
    for (std::string results : {"return o", "return o, mass"}) {
      expect(spec("exp(dot(q, k)/sqrt(dim))", "favor(40, " + flag + ", 7)",
                  results),
             data, [&](int64_t i, int64_t j) {
               return positive(w, q[i], k[j], root);
             });
      expect(spec("exp(dot(q, k)/sqrt(dim))",
                  "favor(m = 40, orthogonal = " + flag +
                      ", seed = 7, hyperbolic = 1)",
                  results),
             data, [&](int64_t i, int64_t j) {
               return positive(pairs, q[i], k[j], root);
             });
    }
  }
  // What is of one side stays beside it; a negative scale turns the keys.
  Rows w = frequencies(16, 0, 0, true);
  expect(spec("exp(-sqdist(q, k)/2)", "favor(m = 16)", "return o, mass"), data,
         [&](int64_t i, int64_t j) {
           return std::exp(-(dot(q[i], q[i]) + dot(k[j], k[j])) / 2) *
                  positive(w, q[i], k[j], 1);
         });
  Rows turned = k;
  for (auto &row : turned)
    for (double &c : row)
      c = -c;
  expect(spec("3*exp(-dot(q, k)/4)", "favor(m = 16)", "return o, mass"), data,
         [&](int64_t i, int64_t j) {
           return 3 * positive(w, q[i], turned[j], 0.5);
         });
}

TEST_P(FeaturesTest, Rff) {
  Data data;
  Rows q = rowsOf(data.q), k = rowsOf(data.k), w = frequencies(64, 3, 0, false);
  auto kappa = [&](int64_t i, int64_t j) {
    double sum = 0;
    for (const auto &r : w)
      sum += std::cos((dot(r, q[i]) - dot(r, k[j])) / 2);
    return sum / 64;
  };
  expect("attention f(q, k, v; h > 0) { kappa = exp(-sqdist(q, k)/(2*h^2))\n"
         "features = rff(m = 64, seed = 3); mask = causal; allow signed\n"
         "return o, mass }",
         data, kappa, {{"h", 2.0}});
}

TEST_P(FeaturesTest, Slay) {
  Data data;
  Rows q = units(rowsOf(data.q)), k = units(rowsOf(data.k));
  double eps = 0.5, c = 2 + eps, root2 = std::sqrt(2.0);
  // L_2's zeros and weights; see LaguerreTest.
  double t[] = {2 - root2, 2 + root2}, a[] = {(2 + root2) / 4, (2 - root2) / 4};
  Rows w[] = {frequencies(24, 5, 0, false), frequencies(24, 5, 1, false)};
  Rows anchors = frequencies(24, 5, 2, false, /*anchors=*/true);
  auto quotient = [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int r : {0, 1})
      sum += a[r] / c * positive(w[r], q[i], k[j], std::sqrt(2 * t[r] / c));
    return sum;
  };
  auto text = [](const std::string &b, const std::string &poly) {
    return "attention f(q, k, v; eps > 0) { q = unit(q); k = unit(k)\n"
           "kappa = (dot(q, k)" +
           b +
           ")^2/(sqdist(q, k) + eps)\n features = slay(nodes = 2, features = "
           "24, poly = " +
           poly + ", seed = 5)\n mask = causal\n return o, mass }";
  };
  expect(text(" + 0.25", "exact"), data,
         [&](int64_t i, int64_t j) {
           double s = dot(q[i], k[j]) + 0.25;
           return s * s * quotient(i, j);
         },
         {{"eps", eps}});
  expect(text("", "anchors"), data,
         [&](int64_t i, int64_t j) {
           double sum = 0;
           for (const auto &r : anchors) {
             double u = dot(r, q[i]), v = dot(r, k[j]);
             sum += u * u * v * v;
           }
           return sum / 24 * quotient(i, j);
         },
         {{"eps", eps}});
}

/// The same seed gives the same bits, another seed others.
TEST_P(FeaturesTest, SeedsMakeThemReproducible) {
  Data data;
  auto o = [&](const std::string &seed) {
    return run(spec("exp(dot(q, k))", "favor(m = 16, seed = " + seed + ")"),
               data)["o"];
  };
  EXPECT_EQ(o("1"), o("1"));
  EXPECT_NE(o("1"), o("2"));
}

/// S9: a later key changes no bit of an earlier row, however large it is.
TEST_P(FeaturesTest, LateKeysLeaveEarlyRowsAlone) {
  for (std::string features :
       {"favor(m = 32)", "favor(m = 32, hyperbolic = 1)", "taylor(order = 2)"})
    for (std::string results : {"return o", "return o, mass"}) {
      Data data;
      std::string text = spec("exp(dot(q, k)/sqrt(dim))", features, results);
      auto before = run(text, data);
      constexpr int64_t late = 12;
      for (float value : {30.0f, -1e3f, INFINITY, NAN}) {
        Data other = data;
        for (int64_t d = 0; d < D; ++d)
          other.k[late * D + d] = value;
        auto after = run(text, other);
        for (auto &[name, x] : before)
          EXPECT_TRUE(std::equal(x.begin(),
                                 x.begin() + late * (name == "o" ? Dv : 1),
                                 after[name].begin()))
              << text << value;
      }
    }
}

/// Rows of any size give finite results: weights in range, or none at all.
TEST_P(FeaturesTest, StayFinite) {
  for (float scale : {1e-6f, 1.0f, 10.0f, 100.0f, 1e4f})
    for (std::string results : {"return o", "return o, mass"}) {
      Data data(scale);
      for (auto &[name, x] :
           run(spec("exp(dot(q, k)/sqrt(dim))", "favor(m = 64)", results),
               data))
        for (float c : x)
          EXPECT_TRUE(std::isfinite(c)) << scale;
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, FeaturesTest,
                         ::testing::Values("cpu", "reference"));

/// Many features are close to the kernel that they estimate.
TEST(Features, ConvergeToTheKernel) {
  Data data(0.4f);
  auto errorOf = [&](const std::string &features, const std::string &more) {
    Compiler compiler;
    auto o = [&](const std::string &line) {
      std::vector<float> out(N * Dv);
      compiler.compile("attention f(q, k, v) { kappa = exp(-sqdist(q, k)/2)\n" +
                       line + " }")({{"q", {data.q.data(), {1, 1, N, D}}},
                                     {"k", {data.k.data(), {1, 1, N, D}}},
                                     {"v", {data.v.data(), {1, 1, N, Dv}}}},
                                    {{"o", {out.data(), {1, 1, N, Dv}}}});
      return out;
    };
    std::vector<float> exact = o(""),
                       close = o("features = " + features + more);
    double worst = 0;
    for (size_t n = 0; n < exact.size(); ++n)
      worst = std::max(worst, std::fabs(double(exact[n]) - close[n]));
    return worst;
  };
  EXPECT_LT(errorOf("favor(m = 2048, hyperbolic = 1)", ""), 0.1);
  EXPECT_LT(errorOf("rff(m = 2048)", "\n allow signed"), 0.1);
  EXPECT_LT(errorOf("taylor(order = 8)", ""), 1e-4);
  EXPECT_GT(errorOf("favor(m = 4)", ""), 0.1);
}

} // namespace
