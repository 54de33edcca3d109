//===- LinearFixture.h - one kernel in both orders --------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_RUN_LINEAR_LINEARFIXTURE_H
#define ATTN_TEST_RUN_LINEAR_LINEARFIXTURE_H

#include "attn/attn.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace attn::test {

struct Shape {
  int64_t B = 1, Hq = 1, Hk = 1, Nq = 40, Nk = 40, D = 8, Dv = 8;
};

/// A normal random array.
class Data {
public:
  Data(std::vector<int64_t> shape, unsigned seed) : shape(std::move(shape)) {
    int64_t count = 1;
    for (int64_t extent : this->shape)
      count *= extent;
    values.resize(static_cast<size_t>(count));
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float &x : values)
      x = normal(random);
  }
  Tensor view() { return {values.data(), shape}; }
  float &at(size_t n) { return values[n]; }

  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// One call in one order.
struct Call {
  std::string text, schedule, target = "cpu", level;
  int threads = 1;
  std::vector<Argument> arguments;

  /// Compiled once for all calls.
  Kernel compile() const {
    static std::map<std::string, Kernel> known;
    std::string key = schedule + "|" + target + "|" + level + "|" +
                      std::to_string(threads) + "|" + text;
    if (auto found = known.find(key); found != known.end())
      return found->second;
    Options options;
    options.target = target;
    options.schedule = schedule;
    options.level = level;
    options.threads = threads;
    return known.emplace(key, Compiler(options).compile(text)).first->second;
  }
  std::map<std::string, std::vector<float>> results() const {
    Kernel kernel = compile();
    std::map<std::string, std::vector<float>> all;
    std::vector<Output> outputs;
    for (const std::string &name : kernel.results()) {
      std::vector<int64_t> shape = kernel.shapeOf(name, arguments);
      size_t count = 1;
      for (int64_t extent : shape)
        count *= static_cast<size_t>(extent);
      all[name].assign(count, 12345);
      outputs.push_back({name, {all[name].data(), shape}});
    }
    kernel(arguments, outputs);
    return all;
  }
};

/// max|a - b| / max|b|; infinite where one is no number and the other is.
inline double errorOf(const std::vector<float> &a,
                      const std::vector<float> &b) {
  double worst = 0, scale = 1e-30;
  for (size_t n = 0; n < a.size(); ++n) {
    if (a[n] == b[n])
      continue;
    if (std::isnan(a[n]) && std::isnan(b[n]))
      continue;
    double delta = std::fabs(double(a[n]) - double(b[n]));
    if (!(delta < INFINITY))
      return INFINITY;
    worst = std::max(worst, delta);
  }
  for (float x : b)
    if (std::isfinite(x))
      scale = std::max(scale, std::fabs(double(x)));
  return worst / scale;
}

/// Inputs q, k, v of a shape.
struct Inputs {
  Data q, k, v;
  explicit Inputs(const Shape &s, unsigned seed = 1)
      : q({s.B, s.Hq, s.Nq, s.D}, seed), k({s.B, s.Hk, s.Nk, s.D}, seed + 1),
        v({s.B, s.Hk, s.Nk, s.Dv}, seed + 2) {}
  std::vector<Argument> arguments() {
    return {{"q", q.view()}, {"k", k.view()}, {"v", v.view()}};
  }
};

} // namespace attn::test

#endif // ATTN_TEST_RUN_LINEAR_LINEARFIXTURE_H
