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

#include "LinearKernels.h"

using namespace attn;
using namespace attn::test;

namespace {

// Under a causal mask the rows that see few keys see them as pairs.
const KernelText cancelling[] = {
    {"square_near_0", "", "kappa = (1 + dot(q, k))^2"},
    {"fourth_near_0", "c[head] >= 0", "kappa = (dot(q, k) / sqrt(dim) + c)^4"},
    {"taylor", "", "kappa = exp(dot(q, k)); features = taylor(order = 4)"},
    {"gauss", "",
     "kappa = exp(-sqdist(q, k) / 4); features = taylor(order = 2)"},
    {"unit_inside", "", "kappa = (dot(unit(q), unit(k)) - 1.01)^2"},
    {"fading", "c[head] >= 0",
     "kappa = (1 + dot(q, k))^2 * exp(-c * abs(i - j))"},
};
// Few lengths of rows: each is compiled anew.
const Shape shapes[] = {
    {1, 1, 1, 1, 1, 16, 8},     {2, 4, 2, 33, 33, 16, 8},
    {1, 2, 2, 16, 47, 16, 8},   {1, 1, 1, 70, 20, 6, 3},
    {2, 2, 1, 130, 130, 16, 8}, {1, 1, 1, 7, 700, 6, 3},
};

/// Both orders against float64. Cancellation is the kernel's own: the linear
/// order may be as wrong as the quadratic one, or 1e-5.
void compare(const KernelText &kappa, const char *mask, const Shape &s,
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

class Separable : public ::testing::TestWithParam<KernelText> {};
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
class Decaying : public ::testing::TestWithParam<KernelText> {};
TEST_P(Decaying, Causal) {
  for (const Shape &s : shapes)
    compare(GetParam(), "causal", s);
}
TEST_P(Decaying, StrictCausal) {
  for (const Shape &s : shapes)
    compare(GetParam(), "strict_causal", s);
}

/// Rows of their own size each: errors are relative to the row.
class Cancelling : public ::testing::TestWithParam<KernelText> {};
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
