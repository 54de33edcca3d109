//===- LinearTest.cpp - the linear order computes what was meant ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linear = quadratic = float64, for every way in which a feature map is made,
// under every mask that the linear order allows.
//
//===----------------------------------------------------------------------===//

#include "LinearFixture.h"

using namespace attn;
using namespace attn::test;

namespace {

struct Kappa {
  const char *name, *parameters, *body;
};

/// What a kernel is called with beside q, k and v.
void addParameters(std::vector<Argument> &arguments, const Kappa &kappa,
                   std::vector<Data> &storage, const Shape &s) {
  std::string text = kappa.parameters;
  if (text.find("g[head]") != std::string::npos) {
    storage.emplace_back(std::vector<int64_t>{s.Hq}, 5);
    for (size_t h = 0; h < storage.back().values.size(); ++h)
      storage.back().at(h) = 0.9f - 0.07f * static_cast<float>(h);
    arguments.push_back({"g", storage.back().view()});
  }
  if (text.find("c[head]") != std::string::npos) {
    storage.emplace_back(std::vector<int64_t>{s.Hq}, 6);
    for (float &x : storage.back().values)
      x = std::fabs(x) + 0.1f;
    arguments.push_back({"c", storage.back().view()});
  }
  if (text.find("W[kv_head") != std::string::npos) {
    storage.emplace_back(std::vector<int64_t>{s.Hk, s.D, 6}, 7);
    arguments.push_back({"W", storage.back().view()});
  }
  if (text.find("M > 0") != std::string::npos)
    arguments.push_back({"M", 2.0 * static_cast<double>(s.Nk + s.Nq + 1)});
}

// Sums of features cancel where kappa is far below the sum of what they are
// sums of, as (s + c)^4 is near s = -c: a row that sees few such keys, and all
// of them through a state, is ill-conditioned in the linear order. These stay
// away from there.
const Kappa kappas[] = {
    {"elu1", "", "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k))"},
    {"square", "", "kappa = (1 + dot(q, k))^2"},
    {"fourth", "c[head] >= 0", "kappa = (dot(q, k) / (2 * dim) + 1 + c)^4"},
    {"even", "", "kappa = 1 + dot(q, k)^2"},
    {"constant", "c[head] >= 0", "kappa = 1 + c"},
    {"sum", "",
     "phi(x) = relu(x) + 1; kappa = dot(q, k)^2 + 3 * dot(phi(q), phi(k))"},
    {"product", "",
     "phi(x) = relu(x) + 1; kappa = dot(phi(q), phi(k)) * (1 + dot(q, k)^2)"},
    {"per_head", "c[head] >= 0",
     "phi(x) = relu(c * x) + 0.5; kappa = dot(phi(q), phi(k))"},
    {"norms", "",
     "kappa = dot(q, k)^2 * (1 / (1 + dot(q, q))) * (1 / (1 + dot(k, k)))"},
    {"rope", "", "q = rope(q, i); k = rope(k, j); kappa = (1 + dot(q, k))^2"},
    {"unit", "", "q = unit(q); k = unit(k); kappa = 1.5 + dot(q, k)"},
    {"project", "W[kv_head, D, d]",
     "q = q * W; k = k * W; kappa = (1 + dot(q, k))^2"},
    {"cosformer", "M > 0",
     "a = pi / 2 / M; q = concat(relu(q) * cos(a * i), relu(q) * sin(a * i)); "
     "k = concat(relu(k) * cos(a * j), relu(k) * sin(a * j)); "
     "kappa = dot(q, k); allow signed; normalize = mass(floor = 1e-6)"},
    {"raw", "", "kappa = dot(q, k); normalize = none"},
};
// Under a causal mask the rows that see few keys see them as pairs.
const Kappa cancelling[] = {
    {"square_near_0", "", "kappa = (1 + dot(q, k))^2"},
    {"fourth_near_0", "c[head] >= 0", "kappa = (dot(q, k) / sqrt(dim) + c)^4"},
    {"taylor", "", "kappa = exp(dot(q, k)); features = taylor(order = 4)"},
    {"gauss", "",
     "kappa = exp(-sqdist(q, k) / 4); features = taylor(order = 2)"},
    {"unit_inside", "", "kappa = (dot(unit(q), unit(k)) - 1.01)^2"},
    {"fading", "c[head] >= 0",
     "kappa = (1 + dot(q, k))^2 * exp(-c * abs(i - j))"},
};
const Kappa decaying[] = {
    {"retnet", "g[head] > 0",
     "kappa = dot(q, k) * g^(i - j); normalize = none"},
    {"slope", "c[head] >= 0",
     "kappa = (1 + dot(q, k))^2 * exp(-c * abs(i - j))"},
    {"growth", "",
     "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k)) * exp(0.01 * (i - j))"},
};

// Few lengths of rows: each is compiled anew.
const Shape shapes[] = {
    {1, 1, 1, 1, 1, 16, 8},     {2, 4, 2, 33, 33, 16, 8},
    {1, 2, 2, 16, 47, 16, 8},   {1, 1, 1, 70, 20, 6, 3},
    {2, 2, 1, 130, 130, 16, 8}, {1, 1, 1, 7, 700, 6, 3},
};

std::string textOf(const Kappa &kappa, const char *mask) {
  std::string parameters = kappa.parameters;
  return "attention t(q, k, v" + (parameters.empty() ? "" : "; " + parameters) +
         ") { " + kappa.body + "; mask = " + mask + "; return o, mass }";
}

/// Both orders against float64. Cancellation is the kernel's own: the linear
/// order may be as wrong as the quadratic one, or 1e-5.
void compare(const Kappa &kappa, const char *mask, const Shape &s,
             const char *level = "") {
  SCOPED_TRACE(std::string(kappa.name) + " " + mask + " " +
               std::to_string(s.Nq) + " x " + std::to_string(s.Nk) + " " +
               level);
  Inputs inputs(s);
  std::vector<Data> storage;
  storage.reserve(4);
  Call call;
  call.text = textOf(kappa, mask);
  call.arguments = inputs.arguments();
  addParameters(call.arguments, kappa, storage, s);
  call.target = "reference";
  auto exact = call.results();
  call.target = "cpu";
  call.level = level;
  call.schedule = "quadratic";
  auto quadratic = call.results();
  call.schedule = "linear";
  auto linear = call.results();
  for (const auto &[name, expected] : exact) {
    double other = errorOf(quadratic[name], expected);
    EXPECT_LE(errorOf(linear[name], expected), std::max(1e-5, 4 * other))
        << name << ", quadratic " << other;
  }
}

class Separable : public ::testing::TestWithParam<Kappa> {};
TEST_P(Separable, NoMask) {
  for (const Shape &s : shapes)
    compare(GetParam(), "none", s);
}
TEST_P(Separable, Causal) {
  for (const Shape &s : shapes)
    compare(GetParam(), "causal", s);
}
TEST_P(Separable, StrictCausal) {
  for (const Shape &s : shapes)
    compare(GetParam(), "strict_causal", s);
}
TEST_P(Separable, OnOtherVectors) {
  for (const char *level : {"x86-64-v2", "x86-64-v3", "x86-64-v4@native"})
    for (const char *mask : {"none", "causal"})
      compare(GetParam(), mask, shapes[1], level);
}
class Decaying : public ::testing::TestWithParam<Kappa> {};
TEST_P(Decaying, Causal) {
  for (const Shape &s : shapes)
    compare(GetParam(), "causal", s);
}
TEST_P(Decaying, StrictCausal) {
  for (const Shape &s : shapes)
    compare(GetParam(), "strict_causal", s);
}

/// Rows of their own size each: errors are relative to the row.
class Cancelling : public ::testing::TestWithParam<Kappa> {};
TEST_P(Cancelling, EarlyRowsKeepTheirDigits) {
  for (const char *mask : {"causal", "strict_causal"}) {
    SCOPED_TRACE(mask);
    const Shape s{1, 2, 1, 16, 16, 8, 8};
    Inputs inputs(s);
    std::vector<Data> storage;
    storage.reserve(4);
    Call call;
    call.text = textOf(GetParam(), mask);
    call.arguments = inputs.arguments();
    addParameters(call.arguments, GetParam(), storage, s);
    call.target = "reference";
    auto exact = call.results();
    call.target = "cpu";
    call.schedule = "quadratic";
    auto quadratic = call.results();
    call.schedule = "linear";
    auto linear = call.results();
    for (size_t n = 0; n < exact["mass"].size(); ++n) {
      double bound =
          std::max(1e-5 * exact["mass"][n],
                   8.0 * std::fabs(quadratic["mass"][n] - exact["mass"][n]));
      EXPECT_NEAR(linear["mass"][n], exact["mass"][n], bound) << n;
    }
  }
}

auto nameOf = [](const auto &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Linear, Separable, ::testing::ValuesIn(kappas),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Linear, Cancelling, ::testing::ValuesIn(cancelling),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Linear, Decaying, ::testing::ValuesIn(decaying),
                         nameOf);

} // namespace
