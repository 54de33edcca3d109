//===- GoldenRule.cpp - runs a case and applies the pass rule -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Per array the error is max|delta| / max|expected|, with an o tolerance that
// comes with the case; mass is judged row by row where f32 holds it, at 1e-5
// times the row's condition; lse at 1e-5 max(1, |lse|). The condition is
// sum |kappa| / |mass|, or what one rounding of each product of a dot does to
// the mass where that is more: (dot + b)^p with dot near -b.
//
//===----------------------------------------------------------------------===//

#include "GoldenCases.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace attn;
using namespace attn::golden;

namespace {

constexpr double kSmallest = 0x1p-126, kLargest = 3.4028234e38;

/// Inputs laid out as a test wants them, and alive while it runs.
struct Placed {
  std::vector<char> bytes;
  Tensor tensor;
};

/// A [B, H, N, D] array stored as [B, N, H, D + 3], N backwards.
Placed strided(const std::vector<char> &bytes, const StoredArray &array) {
  int64_t b = array.shape[0], h = array.shape[1], n = array.shape[2],
          d = array.shape[3], pitch = d + 3;
  Placed placed;
  float nan = std::nanf("");
  placed.bytes.resize(std::max<int64_t>(b * n * h * pitch, 1) * 4);
  for (size_t t = 0; t < placed.bytes.size(); t += 4)
    std::memcpy(placed.bytes.data() + t, &nan, 4);
  auto at = [&](int64_t x, int64_t y, int64_t z) {
    return ((x * n + (n - 1 - z)) * h + y) * pitch * 4;
  };
  for (int64_t x = 0; x < b; ++x)
    for (int64_t y = 0; y < h; ++y)
      for (int64_t z = 0; z < n; ++z)
        std::memcpy(placed.bytes.data() + at(x, y, z),
                    bytes.data() + ((x * h + y) * n + z) * d * 4, d * 4);
  char *first = placed.bytes.data() + (n > 0 ? at(0, 0, 0) : 0);
  placed.tensor = Tensor(first, array.type, array.shape,
                         {n * h * pitch, pitch, -h * pitch, 1});
  return placed;
}

Placed place(const Suite &suite, const StoredArray &array, Layout layout) {
  std::vector<char> bytes = suite.read(array);
  if (layout == Layout::Strided && array.shape.size() == 4 &&
      array.type == Type::f32)
    return strided(bytes, array);
  Placed placed;
  placed.bytes = std::move(bytes);
  placed.bytes.resize(std::max<size_t>(placed.bytes.size(), 8));
  placed.tensor = Tensor(placed.bytes.data(), array.type, array.shape);
  return placed;
}

/// Says where and by how much, or nothing.
std::string report(const std::string &name, const StoredArray &array,
                   size_t element, double actual, double expected, double error,
                   double tolerance) {
  if (error <= tolerance)
    return "";
  std::string where;
  for (size_t axis = array.shape.size(); axis-- > 0;) {
    int64_t extent = std::max<int64_t>(array.shape[axis], 1);
    where = "[" + std::to_string(element % extent) + "]" + where;
    element /= extent;
  }
  char text[256];
  std::snprintf(text, sizeof text,
                "%s%s is %.9g, expected %.9g: error %.3g, at most %.3g\n",
                name.c_str(), where.c_str(), actual, expected, error,
                tolerance);
  return text;
}

/// o, weights: relative to the largest expected element.
std::string compareArray(const std::string &name, const Expected &expected,
                         const std::vector<double> &wanted,
                         const std::vector<double> &actual) {
  double scale = 0, worst = 0;
  size_t at = 0;
  for (double x : wanted)
    if (!std::isnan(x))
      scale = std::max(scale, std::abs(x));
  for (size_t t = 0; t < wanted.size(); ++t) {
    if (std::isnan(wanted[t]))
      continue;
    double delta = std::abs(actual[t] - wanted[t]);
    if (!(delta <= worst)) { // NaN is worse than anything
      worst = std::isnan(delta) ? INFINITY : delta;
      at = t;
    }
  }
  if (worst <= kSmallest) // results below the smallest normal may be flushed
    return "";
  return report(name, expected.array, at, actual[at], wanted[at],
                worst / std::max(scale, kSmallest), expected.tolerance);
}

/// mass, max: row by row, where f32 holds the number.
std::string compareRows(const Suite &suite, const std::string &name,
                        const Expected &expected,
                        const std::vector<double> &wanted,
                        const std::vector<double> &actual) {
  std::vector<double> condition(wanted.size(), 1);
  if (expected.condition)
    condition = suite.readDoubles(*expected.condition);
  for (size_t t = 0; t < wanted.size(); ++t) {
    double size = std::abs(wanted[t]);
    if (std::isnan(wanted[t]) || size > kLargest ||
        (size != 0 && size < kSmallest)) {
      if (std::isnan(wanted[t]) || !std::isnan(actual[t]))
        continue;
    }
    double tolerance = expected.tolerance * condition[t];
    double error = actual[t] == wanted[t] ? 0
                   : size == 0            ? INFINITY
                               : std::abs(actual[t] - wanted[t]) / size;
    std::string text = report(name, expected.array, t, actual[t], wanted[t],
                              std::isnan(error) ? INFINITY : error, tolerance);
    if (!text.empty())
      return text;
  }
  return "";
}

/// lse, entropy: absolute up to 1, relative above. argmax with tolerance 0.
std::string compareLogs(const std::string &name, const Expected &expected,
                        const std::vector<double> &wanted,
                        const std::vector<double> &actual) {
  for (size_t t = 0; t < wanted.size(); ++t) {
    if (std::isnan(wanted[t]))
      continue;
    double error = actual[t] == wanted[t] // infinities too
                       ? 0
                       : std::abs(actual[t] - wanted[t]) /
                             std::max(1.0, std::abs(wanted[t]));
    std::string text =
        report(name, expected.array, t, actual[t], wanted[t],
               std::isfinite(error) ? error : INFINITY, expected.tolerance);
    if (!text.empty())
      return text;
  }
  return "";
}

} // namespace

std::string golden::compare(const Suite &suite, const std::string &name,
                            const Expected &expected,
                            const std::vector<double> &actual,
                            const std::vector<double> *mass) {
  std::vector<double> wanted = suite.readDoubles(expected.array);
  if (actual.size() != wanted.size())
    return name + " has " + std::to_string(actual.size()) + " elements, not " +
           std::to_string(wanted.size()) + "\n";
  if (name == "mass" || name == "max")
    return compareRows(suite, name, expected, wanted, actual);
  if (name == "lse" || name == "entropy" || name == "argmax")
    return compareLogs(name, expected, wanted, actual);
  auto zero = [](double x) { return x == 0; };
  if (expected.mayVanish && mass &&
      std::all_of(mass->begin(), mass->end(), zero) &&
      std::all_of(actual.begin(), actual.end(), zero))
    return "";
  return compareArray(name, expected, wanted, actual);
}

std::string golden::check(const Suite &suite, const Case &c,
                          const Options &options, Layout layout,
                          double tolerance) {
  std::vector<Placed> placed;
  std::vector<Argument> arguments;
  placed.reserve(c.arrays.size());
  for (const auto &[name, array] : c.arrays) {
    placed.push_back(place(suite, array, layout));
    arguments.emplace_back(name, placed.back().tensor);
  }
  for (const auto &[name, number] : c.numbers)
    arguments.emplace_back(name, number);

  // Outputs start as what no kernel may leave there.
  std::map<std::string, std::vector<float>> reals;
  std::map<std::string, std::vector<int32_t>> integers;
  std::vector<Output> outputs;
  for (const auto &[name, expected] : c.expected) {
    size_t size = std::max<size_t>(expected.array.size(), 1);
    if (name == "argmax") {
      integers[name].assign(size, -12345);
      outputs.push_back({name, Tensor(integers[name].data(), Type::i32,
                                      expected.array.shape)});
    } else {
      reals[name].assign(size, 12345.0f);
      outputs.push_back(
          {name, Tensor(reals[name].data(), expected.array.shape)});
    }
  }

  try {
    Compiler(options).compile(suite.spec(c.spec), c.spec,
                              c.spec + ".attn")(arguments, outputs);
  } catch (const Error &error) {
    return std::string(error.what()) + "\n";
  }

  std::map<std::string, std::vector<double>> results;
  for (const auto &[name, expected] : c.expected) {
    std::vector<double> &result = results[name];
    if (name == "argmax")
      result.assign(integers[name].begin(), integers[name].end());
    else
      result.assign(reals[name].begin(), reals[name].end());
    result.resize(expected.array.size());
  }
  std::string failures;
  auto mass = results.find("mass");
  for (auto [name, expected] : c.expected) {
    expected.tolerance = std::min(expected.tolerance, tolerance);
    if (name == "lse" && c.expected.count("o") && c.expected.at("o").mayVanish)
      continue; // as uncertain as whether the row is empty
    failures += compare(suite, name, expected, results[name],
                        mass == results.end() ? nullptr : &mass->second);
  }
  return failures;
}
