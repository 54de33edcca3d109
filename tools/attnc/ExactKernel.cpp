//===- ExactKernel.cpp - a kernel without its features --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExactKernel.h"
#include "runtime/Compile.h"
#include "runtime/Kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

using namespace attn;

std::optional<Kernel> attn::exactKernel(const std::string &path,
                                        const std::string &name,
                                        Options options) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  // As far as it goes: the exact kernel may be one that is refused.
  auto compilation = runtime::Compilation::parse(
      text.str(), name, path, nullptr, /*acceptSigned=*/true);
  if (!compilation->dropFeatures())
    return std::nullopt;
  options.target = "reference";
  options.level.clear(); // which it has none of
  options.schedule.clear();
  return Kernel(std::make_shared<Kernel::Impl>(compilation, options));
}

double attn::relativeError(const Array &a, const Array &b) {
  double difference = 0, size = 0;
  for (int64_t n = 0; n < b.size(); ++n) {
    double x = elementOf(a, n), y = elementOf(b, n);
    if (x == y) // infinities, too
      continue;
    difference += (x - y) * (x - y);
  }
  for (int64_t n = 0; n < b.size(); ++n)
    if (double y = elementOf(b, n); std::isfinite(y))
      size += y * y;
  return size > 0 ? std::sqrt(difference / size) : NAN;
}

void ApproximationErrors::add(const std::string &group,
                              const Results &approximate,
                              const Results &exact) {
  if (groups.empty() || groups.back().name != group)
    groups.push_back({group, {}});
  for (const auto &[name, array] : exact) {
    double error =
        name == "argmax" ? NAN : relativeError(approximate.at(name), array);
    if (std::isfinite(error))
      groups.back().errors[name].push_back(error);
  }
}

void ApproximationErrors::print() const {
  fmt::print(
      "against the exact kernel, |difference| / |exact| of all elements, "
      "median and largest:\n");
  for (const Group &group : groups) {
    fmt::print("{:<12} {:>5}", group.name, "");
    for (auto [name, errors] : group.errors) {
      std::sort(errors.begin(), errors.end());
      fmt::print("  {:>17}",
                 fmt::format("{} {:.2g} / {:.2g}", name,
                             errors[errors.size() / 2], errors.back()));
    }
    fmt::print("\n");
  }
}
