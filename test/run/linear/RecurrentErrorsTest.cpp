//===- RecurrentErrorsTest.cpp - sequences that cannot go on --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecurrentFixture.h"

using namespace attn;
using namespace attn::test;

namespace {

std::string errorOfCall(const Kernel &kernel,
                        const std::vector<Argument> &arguments,
                        std::vector<Output> outputs) {
  try {
    kernel(arguments, outputs);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

std::string errorOfCompiling(const std::string &text,
                             const char *target = "cpu") {
  try {
    Options options;
    options.schedule = "recurrent";
    options.target = target;
    Kernel kernel = Compiler(options).compile(text);
    float x[4 * 8] = {};
    std::vector<Argument> arguments;
    for (const char *name : {"q", "k", "v"})
      arguments.push_back({name, Tensor(x, {4, 8})});
    for (const char *name : {"ids", "b"})
      if (text.find(std::string(name) + "[") != std::string::npos)
        arguments.push_back({name, 1});
    kernel.shapeOf("state", arguments);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(RecurrentErrors, Kernels) {
  const std::pair<const char *, const char *> cases[] = {
      {"attention t(q, k, v) { kappa = (1 + dot(q, k))^2 }",
       "without a mask a token sees keys that are yet to come"},
      {"attention t(q, k, v) { kappa = exp(dot(q, k)); mask = causal }",
       "the linear order is not licensed"},
      {"attention t(q, k, v; ids[nk]: int) { kappa = (1 + dot(q, k))^2; mask = "
       "causal and document(ids) }",
       "a state does not know the ids of the documents in it"},
      {"attention t(q, k, v) { kappa = (1 + dot(q, k))^2 / nk; mask = causal }",
       "`nk` is the length of a call, not of the sequence that it continues"},
      {"attention t(q, k, v; b[nk] >= 0) { kappa = (1 + dot(q, k))^2 * b[j]; "
       "mask = causal }",
       "parameter `b` has an element a token of the whole sequence"},
      {"attention t(q, k, v) { v = v * j; kappa = (1 + dot(q, k))^2; mask = "
       "causal }",
       "`v` reads the position `j`"},
      {"attention t(q, k, v; state) { kappa = (1 + dot(q, k))^2; mask = causal "
       "}",
       "t has an argument of its own named 'state'"},
  };
  for (auto [text, expected] : cases)
    EXPECT_NE(errorOfCompiling(text).find(expected), std::string::npos)
        << errorOfCompiling(text);
  EXPECT_NE(errorOfCompiling(elu1, "reference")
                .find("the recurrent order is of compiled code"),
            std::string::npos);
}

Kernel compileElu1() {
  Options options;
  options.schedule = "recurrent";
  return Compiler(options).compile(elu1);
}

TEST(RecurrentErrors, Calls) {
  Kernel kernel = compileElu1();
  float x[5 * 16] = {}, o[4 * 16], mass[4];
  std::vector<float> state(2 * 18 * 16 + 16, 0);
  Tensor rows(x, {4, 16});
  std::vector<Argument> tokens = {{"q", rows}, {"k", rows}, {"v", rows}};
  std::vector<Output> outputs = {{"o", {o, {4, 16}}},
                                 {"mass", {mass, {4}}},
                                 {"state", {state.data(), {18, 16}}}};
  ASSERT_EQ(errorOfCall(kernel, tokens, outputs), "no error");
  auto with = [&](Argument argument) {
    std::vector<Argument> arguments = tokens;
    arguments.push_back(std::move(argument));
    return errorOfCall(kernel, arguments, outputs);
  };
  int64_t four[1] = {4};
  EXPECT_EQ(
      with({"offset", 3}),
      "'offset' is not for the recurrent order: the state knows where its "
      "sequence stands, and key_lengths say how many tokens come");
  EXPECT_NE(with({"query_lengths", {four, Type::i64, {1}}})
                .find("'query_lengths' is not for the recurrent order"),
            std::string::npos);
  EXPECT_EQ(
      with({"state", 0}),
      "'state' is an array that an earlier call gave, not a number; leave "
      "it out to begin a sequence");
  EXPECT_EQ(with({"state", {state.data(), {17, 16}}}),
            "'state' has shape [17, 16]; here a state is [1, 1, 18, 16]");
  EXPECT_EQ(with({"state", {state.data(), Type::f16, {18, 16}}}),
            "'state' has type f16; it must be f32");
  EXPECT_EQ(with({"state", {state.data(), {18, 16}, {32, 1}}}),
            "'state' has strides [0, 0, 32, 1]; the 18 x 16 numbers of a head "
            "stand one behind the other");
  // What no call gave.
  std::vector<float> odd(18 * 16, 0);
  auto withCount = [&](float low, float high) {
    odd[17 * 16] = low, odd[17 * 16 + 1] = high;
    return with({"state", {odd.data(), {18, 16}}});
  };
  EXPECT_EQ(withCount(100, 3), "no error");
  for (auto [low, high] : {std::pair<float, float>{NAN, 0},
                           {0.5f, 0},
                           {-5, 0},
                           {1 << 20, 0},
                           {0, 1 << 10},
                           {0, INFINITY}})
    EXPECT_NE(withCount(low, high).find("it is no state that a call gave"),
              std::string::npos)
        << withCount(low, high);
  EXPECT_EQ(
      withCount((1 << 20) - 3, 1023),
      "'state'[0, 0] holds 1073741821 tokens, and with those of this call "
      "there are more than 1073741824");
  // In place, or apart.
  EXPECT_EQ(with({"state", {state.data(), {18, 16}}}), "no error");
  EXPECT_EQ(with({"state", {state.data() + 18 * 16, {18, 16}}}), "no error");
  EXPECT_EQ(with({"state", {state.data() + 16, {18, 16}}}),
            "output 'state' shares memory with 'state'");
  Tensor longer(x, {5, 16});
  EXPECT_EQ(
      errorOfCall(kernel, {{"q", rows}, {"k", longer}, {"v", longer}}, outputs),
      "a call that continues a sequence has a query and a key for every "
      "token, not 4 queries and 5 keys");
  outputs.pop_back();
  EXPECT_EQ(errorOfCall(kernel, tokens, outputs),
            "output 'state' is missing; t returns o, mass, state");
}

} // namespace
