//===- Features.cpp - feature maps in the C++ builder ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/FeatureArguments.h"

using namespace attn;

Features Features::named(const char *name) {
  Features features;
  features.given = std::make_shared<const Arguments>(Arguments{name, {}, {}});
  return features;
}

Features Features::with(const char *argument, int64_t value) const {
  auto more = std::make_shared<Arguments>(*given);
  more->numbers.emplace_back(argument, value);
  Features features;
  features.given = std::move(more);
  return features;
}

Features Features::taylor(int64_t order) {
  return named("taylor").with("order", order);
}
Features Features::favor(int64_t m) { return named("favor").with("m", m); }
Features Features::rff(int64_t m) { return named("rff").with("m", m); }
Features Features::slay(int64_t nodes, int64_t features) {
  return named("slay").with("nodes", nodes).with("features", features);
}
Features Features::maclaurin(int64_t order) {
  return named("maclaurin").with("order", order);
}
Features Features::seed(int64_t seed) const { return with("seed", seed); }
Features Features::orthogonal(bool yes) const {
  return with("orthogonal", yes);
}
Features Features::hyperbolic(bool yes) const {
  return with("hyperbolic", yes);
}

Features Features::anchors() const {
  auto more = std::make_shared<Arguments>(*given);
  more->words.emplace_back("poly", "anchors");
  Features features;
  features.given = std::move(more);
  return features;
}
