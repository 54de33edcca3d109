//===- RecurrentTest.cpp - a sequence in several calls --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prefill, then steps of decoding, each from the state that the last call gave,
// are one causal call: the same results as float64 has for the whole sequence.
//
//===----------------------------------------------------------------------===//

#include "LinearKernels.h"
#include "RecurrentFixture.h"

using namespace attn;
using namespace attn::test;

namespace {

/// Against float64, as `compare` of LinearTest.
void compare(const KernelText &kappa, const char *mask, const Shape &s,
             const std::vector<int64_t> &pieces, const char *level = "") {
  SCOPED_TRACE(std::string(kappa.name) + " " + mask + " " + level);
  Inputs inputs(s);
  std::vector<Data> storage;
  storage.reserve(4);
  std::vector<Argument> parameters;
  addParameters(parameters, kappa, storage, s);
  Call call;
  call.text = textOf(kappa, mask);
  call.arguments = inputs.arguments();
  call.arguments.insert(call.arguments.end(), parameters.begin(),
                        parameters.end());
  call.target = "reference";
  auto exact = call.results();
  call.target = "cpu";
  call.schedule = "quadratic";
  auto quadratic = call.results();
  Results got =
      inPieces(compile(call.text, 1, level), inputs, parameters, pieces);
  for (const auto &[name, expected] : exact) {
    double other = errorOf(quadratic[name], expected);
    EXPECT_LE(errorOf(got[name], expected), std::max(1e-5, 4 * other))
        << name << ", quadratic " << other;
  }
}

class Recurrent : public ::testing::TestWithParam<KernelText> {};
const Shape grouped{2, 4, 2, 45, 45, 16, 8};

TEST_P(Recurrent, Causal) { compare(GetParam(), "causal", grouped, pieces); }
TEST_P(Recurrent, StrictCausal) {
  compare(GetParam(), "strict_causal", grouped, pieces);
}
TEST_P(Recurrent, FromTheFirstToken) {
  compare(GetParam(), "causal", {1, 2, 2, 5, 5, 6, 3}, {1, 1, 1, 1, 1});
}
TEST_P(Recurrent, OnOtherVectors) {
  for (const char *level : {"x86-64-v2", "x86-64-v3", "x86-64-v4@native"})
    compare(GetParam(), "causal", grouped, pieces, level);
}

// Maps that were asked for.
const KernelText asked[] = {
    {"favor", "",
     "kappa = exp(dot(q, k) / sqrt(dim)); features = favor(m = 32, seed = 3)"},
    {"taylor_asked", "",
     "kappa = exp(dot(q, k) / dim); features = taylor(order = 2)"},
    {"maclaurin", "",
     "q = unit(q); k = unit(k); kappa = (dot(q, k) + 1)^2 / (sqdist(q, k) + "
     "1); features = maclaurin(order = 2)"},
};

auto nameOf = [](const auto &info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Kernels, Recurrent, ::testing::ValuesIn(kappas),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Asked, Recurrent, ::testing::ValuesIn(asked), nameOf);
INSTANTIATE_TEST_SUITE_P(Decaying, Recurrent, ::testing::ValuesIn(decaying),
                         nameOf);

} // namespace
