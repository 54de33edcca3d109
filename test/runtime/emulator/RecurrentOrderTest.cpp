//===- RecurrentOrderTest.cpp - a sequence in several calls, emulated -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What calls that go on from a state give, against the float64 interpreter on
// the whole sequence; faults in the text that reads and writes the state; the
// state itself, against the CPU's.
//
//===----------------------------------------------------------------------===//

#include "EmulatedSequence.h"
#include "lowering/cuda/Cuda.h"
#include "runtime/Arrays.h"
#include "runtime/Compile.h"
#include "runtime/Kernel.h"
#include "runtime/cuda/EmitCuda.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace attn;
using namespace attn::runtime;

namespace {

double boundOf(Type type) {
  return type == Type::bf16 ? 4e-3 : type == Type::f16 ? 1e-3 : 2e-5;
}

/// The same number of tokens for both sequences.
Turns both(const std::vector<int64_t> &counts) {
  Turns turns;
  for (int64_t count : counts)
    turns.push_back({count, count});
  return turns;
}

const char *elu1 =
    "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k)); mask = causal";
const char *square = "kappa = (1 + dot(q, k))^2; mask = causal";
const char *retnet =
    "kappa = dot(q, k) * g^(i - j); mask = causal; normalize = none";
const char *slope =
    "kappa = (1 + dot(q, k))^2 * exp(-g * abs(i - j)); mask = causal";
const char *strict =
    "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k)); mask = strict_causal";
const char *rotated = "q = rope(q, i); k = rope(k, j); kappa = 2 + dot(q, k); "
                      "mask = causal; normalize = none";
const char *performer = "kappa = exp(dot(q, k) / sqrt(dim)); mask = causal; "
                        "features = favor(m = 32, seed = 3)";

struct Case {
  const char *name, *parameters, *body;
  Type other; ///< beside f32
};
class RecurrentOrder : public ::testing::TestWithParam<Case> {};

} // namespace

// Three tiles at once, the last not whole; one by one, and none; a few and the
// rest; calls in which some sequences end early, or get nothing.
TEST_P(RecurrentOrder, HowEverASequenceIsCut) {
  const Turns cuts[] = {
      both({150}),
      both({1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}),
      both({7, 80, 1}),
      {{9, 2}, {4, 70}, {0, 1}, {20, 0}}};
  for (Type type : {Type::f32, GetParam().other})
    for (const Turns &turns : cuts) {
      Sequences s{GetParam().parameters, GetParam().body};
      s.type = type;
      s.turns = turns;
      EXPECT_LE(s.error(), boundOf(type))
          << nameOf(type) << ", " << &turns - cuts;
    }
}
INSTANTIATE_TEST_SUITE_P(
    All, RecurrentOrder,
    ::testing::Values(Case{"elu1", "", elu1, Type::bf16},
                      Case{"strict", "", strict, Type::f16},
                      Case{"square", "", square, Type::f16},
                      Case{"retnet", "; g[head] > 0", retnet, Type::bf16},
                      Case{"slope", "; g[head] > 0", slope, Type::bf16},
                      Case{"rotated", "", rotated, Type::f16},
                      Case{"performer", "", performer, Type::bf16}),
    [](const auto &info) { return info.param.name; });

TEST(RecurrentOrderTest, ApartFromTheStateBefore) {
  Sequences s{"", elu1};
  s.turns = both({7, 30, 1});
  s.inPlace = false;
  EXPECT_LE(s.error(), boundOf(s.type));
}

// Places behind the last token of a tile would have infinite ratios.
TEST(RecurrentOrderTest, SteepDecay) {
  Sequences s{"; g[head] > 0", retnet};
  s.decay = 1e-4f;
  s.turns = both({17, 1, 1});
  EXPECT_LE(s.error(), boundOf(s.type));
}

// A row's bits do not depend on rows behind the end (S8), though calls of few
// tokens have another program.
TEST(RecurrentOrderTest, SameBitsInLongerArrays) {
  for (Type type : {Type::f32, Type::bf16}) {
    Sequences s{"", elu1};
    s.type = type;
    s.turns = both({5, 3});
    s.error();
    Sequences longer = s;
    longer.extent = 20;
    longer.error();
    EXPECT_EQ(s.o, longer.o);
    EXPECT_EQ(s.state, longer.state);
  }
}

// Changing a later token changes no bit of an earlier row (S9).
TEST(RecurrentOrderTest, LaterTokensAreNotSeen) {
  for (const char *body : {elu1, retnet})
    for (Type type : {Type::f32, Type::bf16}) {
      Sequences s{body == retnet ? "; g[head] > 0" : "", body};
      s.type = type;
      s.turns = both({40, 30});
      s.error();
      Sequences odd = s;
      odd.oddFrom = 25;
      odd.error();
      size_t row = s.Dv * sizeOf(type), heads = s.B * s.Hq;
      for (size_t h = 0; h < heads; ++h)
        EXPECT_TRUE(std::equal(s.o.begin() + h * 70 * row,
                               s.o.begin() + (h * 70 + 25) * row,
                               odd.o.begin() + h * 70 * row))
            << nameOf(type);
    }
}

// What the CPU sums is what the GPU sums, and goes on from.
TEST(RecurrentOrderTest, TheStateOfTheCpu) {
  const int64_t n = 21, D = 16, Dv = 8;
  std::string text = std::string("attention t(q, k, v) { ") + elu1 + " }";
  std::vector<float> rows[3], o(n * Dv), states[2];
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int role = 0; role < 3; ++role)
    for (int64_t e = 0; e < n * (role < 2 ? D : Dv); ++e)
      rows[role].push_back(normal(random));
  auto tokens = [&](int64_t begin, int64_t count) {
    return std::vector<Argument>{
        {"q", {rows[0].data() + begin * D, {count, D}}},
        {"k", {rows[1].data() + begin * D, {count, D}}},
        {"v", {rows[2].data() + begin * Dv, {count, Dv}}}};
  };
  std::vector<int64_t> shape{Dv + 2, D};
  Kernel emulated = compileFor(text, "cuda-emulator", "recurrent"),
         cpu = compileFor(text, "cpu", "recurrent");
  const Kernel *kernels[] = {&emulated, &cpu};
  for (int which = 0; which < 2; ++which) {
    ASSERT_EQ(kernels[which]->shapeOf("state", tokens(0, 20)), shape);
    states[which].resize((Dv + 2) * D);
    (*kernels[which])(tokens(0, 20),
                      {{"o", {o.data(), {20, Dv}}},
                       {"state", {states[which].data(), shape}}});
  }
  std::vector<double> a(states[0].begin(), states[0].end()),
      b(states[1].begin(), states[1].end());
  EXPECT_LE(relativeError(a, b), 1e-6);
  EXPECT_EQ(states[0][(Dv + 1) * D], 20); // tokens
  // The last token, from the state of the other.
  std::vector<float> last[2];
  for (int which = 0; which < 2; ++which) {
    std::vector<Argument> arguments = tokens(20, 1);
    arguments.push_back({"state", {states[1 - which].data(), shape}});
    last[which].resize(Dv);
    (*kernels[which])(arguments,
                      {{"o", {last[which].data(), {1, Dv}}},
                       {"state", {states[1 - which].data(), shape}}});
  }
  EXPECT_LE(relativeError({last[0].begin(), last[0].end()},
                          {last[1].begin(), last[1].end()}),
            1e-6);
}

// A position is the number of tokens before it: 3 * 2^20 + 5 of them; and a
// state that no call gave is refused.
TEST(RecurrentOrderTest, FarIntoASequence) {
  Kernel kernel = compileFor("attention t(q, k, v) { kappa = dot(q, k) * "
                             "(j + 1); mask = causal; normalize = none }",
                             "cuda-emulator", "recurrent");
  float one[1] = {1}, o[1];
  std::vector<float> state(3 * 16);
  state[2 * 16] = 5, state[2 * 16 + 1] = 3;
  Tensor token(one, {1, 1}), all(state.data(), {3, 16});
  std::vector<Argument> arguments = {
      {"q", token}, {"k", token}, {"v", token}, {"state", all}};
  kernel(arguments, {{"o", {o, {1, 1}}}, {"state", all}});
  EXPECT_EQ(o[0], 3 * 1048576 + 6);
  EXPECT_EQ(state[2 * 16], 6);
  EXPECT_EQ(state[2 * 16 + 1], 3);
  state[2 * 16] = 0.5f;
  try {
    kernel(arguments, {{"o", {o, {1, 1}}}, {"state", all}});
    FAIL() << "half a token";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("no state that a call gave"),
              std::string::npos)
        << error.what();
  }
}

// Sixteen rows are the smallest tile, of one warp.
TEST(RecurrentOrderTest, StepsHaveSmallTiles) {
  Kernel kernel =
      compileFor(std::string("attention t(q, k, v) { ") + elu1 + " }",
                 "cuda-emulator", "recurrent");
  Kernel::Impl &impl = kernel.getImpl();
  CudaOptions options;
  options.level = &cudaLevel("sm_80");
  for (auto [count, threads] :
       {std::pair<int64_t, int64_t>{1, 32}, {16, 32}, {17, 128}}) {
    std::vector<float> rows(count * 64);
    Tensor tensor(rows.data(), {count, 64});
    Binding binding =
        bindInputs(impl.signature,
                   {{"q", tensor}, {"k", tensor}, {"v", tensor}}, impl.rules);
    CudaProgram program = impl.compilation->emitCuda(binding.sizes, options);
    ASSERT_EQ(program.stages.size(), 1u);
    EXPECT_EQ(program.stages[0].threads, threads) << count;
    std::string json = launchJson(program);
    for (const char *part : {"\"role\": \"state\"", "\"role\": \"state_out\"",
                             "\"shape\": \"B Hk 66\""})
      EXPECT_NE(json.find(part), std::string::npos) << json;
  }
}

// A state of 2145 features by 64 values.
TEST(RecurrentOrderTest, WhatDoesNotFitIsRefused) {
  Kernel kernel =
      compileFor(std::string("attention t(q, k, v) { ") + square + " }",
                 "cuda-emulator", "recurrent");
  std::vector<float> rows(64);
  Tensor tensor(rows.data(), {1, 64});
  try {
    kernel.shapeOf("state", {{"q", tensor}, {"k", tensor}, {"v", tensor}});
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("KiB of shared memory, sm_80 has"),
              std::string::npos)
        << error.what();
  }
}

// Faults in the text.
struct StateFault {
  const char *name, *before, *after;
};
class RecurrentFault : public ::testing::TestWithParam<StateFault> {};
TEST_P(RecurrentFault, IsCaught) {
  StateFault fault = GetParam();
  Sequences s{"; g[head] > 0",
              "q = rope(q, i); k = rope(k, j); kappa = (1 + dot(q, k))^2 * "
              "exp(-g * abs(i - j)); mask = causal"};
  s.Hk = s.Hq;
  s.turns = both({20, 18});
  s.extent = 20;
  if (std::string(fault.name) == "NotWaitedFor")
    s.turns = both({20, 0, 18}), s.extent = 0; // else the loop waits for it
  s.mutate = [&](std::string &text) {
    std::string before = fault.before;
    size_t at = text.find(before);
    ASSERT_NE(at, std::string::npos) << "nothing to change";
    text.replace(at, before.size(), fault.after);
  };
  double error = INFINITY;
  try {
    error = s.error();
  } catch (const Error &found) {
    std::string what = found.what();
    EXPECT_TRUE(what.find("in the emulator") != std::string::npos ||
                what.find("no state that a call gave") != std::string::npos)
        << what;
  }
  EXPECT_GT(error, 2e-2);
}
INSTANTIATE_TEST_SUITE_P(
    All, RecurrentFault,
    ::testing::Values(StateFault{"NotWritten", "storeState(state",
                                 "if (false) storeState(state"},
                      StateFault{"NotWaitedFor", "arrive<0>();\n  auto ",
                                 "barrier();\n  auto "},
                      StateFault{"WrittenTooEarly", "barrier();\n  storeState(",
                                 "storeState("},
                      StateFault{"SumsNotWritten", "storeFeatures(sums",
                                 "if (false) storeFeatures(sums"},
                      StateFault{"TokensNotCounted", "storeFeature(float(",
                                 "storeFeature(0 * float("},
                      StateFault{"StateOfAnotherHead", "stage(state, state_in",
                                 "stage(state, state_in + 26"}),
    [](const auto &info) { return info.param.name; });
