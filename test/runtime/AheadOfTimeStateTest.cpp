//===- AheadOfTimeStateTest.cpp - C kernels that continue sequences -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In C the state is one array that is read and written in place. Each call
// gives the bits that the JIT gives; that those are right is tested in
// test/run/linear.
//
//===----------------------------------------------------------------------===//

#include "CKernel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace attn;
using namespace attn::runtime;

namespace {

class AheadOfTimeState : public ::testing::Test {
protected:
  AheadOfTimeState() : x(2 * 4 * 9 * 16) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (float &element : x)
      element = normal(random);
    Options options;
    options.schedule = "recurrent";
    kernel = std::make_unique<Kernel>(Compiler(options).compile(
        "attention t(q, k, v; g[head] > 0) { kappa = (1 + dot(q, k))^2 * "
        "g^(i - j); mask = causal; return o, mass }"));
  }

  Tensor rows(int64_t tokens, int64_t heads, int64_t first = 0) {
    return {x.data() + first, {2, heads, tokens, 4}, {}};
  }
  std::vector<Argument> arguments(int64_t tokens) {
    return {{"q", rows(tokens, 4)},
            {"k", rows(tokens, 2, 7)},
            {"v", rows(tokens, 2, 11)},
            {"g", {decay, {4}}}};
  }
  std::vector<Output> outputs(int64_t tokens) {
    o.assign(2 * 4 * 9 * 4, -7), mass.assign(2 * 4 * 9, -7);
    return {{"o", {o.data(), {2, 4, tokens, 4}}},
            {"mass", {mass.data(), {2, 4, tokens}}},
            {"state", {state.data(), shape}}};
  }

  std::unique_ptr<Kernel> kernel;
  std::vector<float> x, o, mass, state;
  std::vector<int64_t> shape;
  float decay[4] = {0.9f, 0.8f, 1.0f, 0.5f};
};

TEST_F(AheadOfTimeState, CallsGiveTheBitsOfTheJit) {
  shape = kernel->shapeOf("state", arguments(9));
  ASSERT_EQ(shape.size(), 4u);
  EXPECT_EQ(shape[1], 4); // g differs by query head
  state.assign(static_cast<size_t>(2 * 4 * shape[2] * shape[3]), 0);
  std::vector<float> inC = state;
  StaticSizes sizes =
      kernel->getImpl().prepare(arguments(9), outputs(9)).binding.sizes;
  sizes.fewestQueries = 0; // an object is called with any number of tokens
  CKernel c(kernel->getImpl(), sizes);
  for (int64_t tokens : {9, 1, 1, 3}) {
    std::vector<float> oInC(o.size(), -7), massInC(mass.size(), -7);
    for (const Argument &argument : arguments(tokens))
      c.set(argument.name, argument.tensor);
    c.set("state", {inC.data(), shape});
    c.set("o", {oInC.data(), {2, 4, tokens, 4}});
    c.set("mass", {massInC.data(), {2, 4, tokens}});
    ASSERT_EQ(c.run(), 0);

    std::vector<Argument> given = arguments(tokens);
    given.push_back({"state", {state.data(), shape}});
    (*kernel)(given, outputs(tokens));
    EXPECT_EQ(oInC, o);
    EXPECT_EQ(massInC, mass);
    EXPECT_EQ(inC, state);
  }
}

TEST_F(AheadOfTimeState, WhatAProgramCanGetWrong) {
  shape = kernel->shapeOf("state", arguments(3));
  state.assign(static_cast<size_t>(2 * 4 * shape[2] * shape[3]), 0);
  CKernel c(kernel->getImpl(),
            kernel->getImpl().prepare(arguments(3), outputs(3)).binding.sizes);
  for (const Argument &argument : arguments(3))
    c.set(argument.name, argument.tensor);
  for (const Output &output : outputs(3))
    c.set(output.name, output.tensor);
  ASSERT_EQ(c.run(), 0);
  auto error = [&] {
    return std::string(c.invoke<const char *, int>("_error", c.run()));
  };
  c.set("state", {state.data(), {2, 2, shape[2], shape[3]}});
  EXPECT_EQ(error(), "t: state: its shape must be [B, Hq, 6, " +
                         std::to_string(shape[3]) +
                         "]; B as in q, k, v; Hq as in q, g");
  c.set("state", {state.data(),
                  shape,
                  {4 * shape[2] * shape[3], shape[2] * shape[3], shape[3], 2}});
  EXPECT_EQ(error(),
            "t: state: the numbers of a head must stand one behind the other: "
            "strides[2] is not " +
                std::to_string(shape[3]) + ", or strides[3] not 1");
  c.set("state", {state.data(), shape});
  size_t last = state.size() - static_cast<size_t>(shape[3]);
  for (float count : {-1.0f, 1048576.0f, NAN}) {
    state[last] = count;
    EXPECT_EQ(error(), "t: state: a value breaks 0 <= tokens < 2^30");
  }
  state[last] = 0, state[last + 1] = 1024;
  EXPECT_EQ(error(), "t: state: a value breaks 0 <= tokens < 2^30");
  state[last + 1] = 0;
  ASSERT_EQ(c.run(), 0);
  c.set("k", rows(2, 2, 7));
  EXPECT_EQ(error(), "t: k: its shape must be [B, Hk, N, 4]; B as in q; N as "
                     "in q");
  c.set("k", rows(3, 2, 7));
  c.set("o", {state.data(), {2, 4, 3, 4}});
  EXPECT_NE(error().find("shares memory"), std::string::npos) << error();
}

} // namespace
