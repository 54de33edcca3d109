//===- LinearOrderTest.cpp - the linear order, emulated -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every way in which features are made, under every mask that the linear order
// allows, against the float64 interpreter.
//
//===----------------------------------------------------------------------===//

#include "EmulatedCall.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::runtime;

namespace {

double boundOf(Type type) {
  return type == Type::bf16 ? 4e-3 : type == Type::f16 ? 1e-3 : 2e-5;
}

struct Kernel {
  const char *name, *parameters, *body;
  int64_t D, Dv;
};
const Kernel elu1 = {
    "elu1", "", "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k))", 64, 64};
const Kernel shortElu1 = {"shortElu1", "",
                          "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k))",
                          16, 20};
const Kernel square = {"square", "", "kappa = (1 + dot(q, k))^2", 16, 16};
const Kernel retnet = {"retnet", "g > 0",
                       "kappa = dot(q, k) * g^(i - j); normalize = none", 64,
                       64};
const Kernel slope = {"slope", "g > 0",
                      "kappa = (1 + dot(q, k))^2 * exp(-g * abs(i - j))", 16,
                      16};
const Kernel odd = {"odd", "",
                    "q = rope(q, i); k = rope(k, j); kappa = 2 + dot(q, k); "
                    "normalize = none",
                    6, 3};

void check(const Kernel &kernel, const char *mask, Type type,
           const std::vector<std::pair<int64_t, int64_t>> &lengths,
           const CallShape &given = {}) {
  for (auto [nq, nk] : lengths) {
    CallShape shape = given;
    shape.Nq = nq;
    shape.Nk = nk;
    shape.D = kernel.D;
    shape.Dv = kernel.Dv;
    shape.type = type;
    shape.schedule = "linear";
    std::string parameters = kernel.parameters;
    if (!parameters.empty())
      shape.numbers = {{"g", 0.9}};
    if (!shape.ids.empty())
      parameters += "doc[nk]: int";
    if (!parameters.empty())
      parameters = "; " + parameters;
    EmulatedCall call("attention t(q, k, v" + parameters + ") { " +
                          kernel.body + "; mask = " + mask + "; return o }",
                      shape);
    call.run(call.program());
    EXPECT_LE(call.error(), boundOf(type))
        << kernel.name << ' ' << mask << ' ' << nq << " x " << nk;
  }
}

const std::vector<std::pair<int64_t, int64_t>> squares = {
    {1, 1}, {17, 17}, {64, 64}, {129, 129}};
const std::vector<std::pair<int64_t, int64_t>> others = {
    {1, 700}, {70, 20}, {129, 129}};

} // namespace

TEST(LinearOrder, NoMask) {
  check(elu1, "none", Type::f32, others);
  check(elu1, "none", Type::bf16, others);
  check(square, "none", Type::f16, others);
  check(square, "none", Type::f32, others);
  check(odd, "none", Type::f32, others);
}

TEST(LinearOrder, Causal) {
  check(elu1, "causal", Type::f32, squares);
  check(elu1, "causal", Type::bf16, squares);
  check(shortElu1, "causal", Type::f16, squares);
  check(square, "causal", Type::bf16, others);
  check(odd, "causal", Type::bf16, squares);
}

TEST(LinearOrder, StrictCausal) {
  check(elu1, "strict_causal", Type::f16, squares);
  check(square, "strict_causal", Type::f32, others);
}

TEST(LinearOrder, Decay) {
  check(retnet, "causal", Type::f32, squares);
  check(retnet, "causal", Type::bf16, squares);
  check(retnet, "causal", Type::f16, others);
  check(slope, "causal", Type::f32, others);
  check(slope, "causal", Type::bf16, others);
}

TEST(LinearOrder, Documents) {
  CallShape shape;
  std::vector<int64_t> ids(150);
  for (size_t n = 0; n < ids.size(); ++n)
    ids[n] = n < 40 ? 0 : n < 41 ? 1 : n < 70 ? 2 : n < 140 ? 3 : 4;
  shape.ids = {{"doc", ids}};
  for (Type type : {Type::f32, Type::bf16})
    check(elu1, "causal and doc[i] == doc[j]", type, {{150, 150}, {20, 150}},
          shape);
  // Ids that decrease are for the quadratic order.
  shape.ids[0].second[100] = 0;
  check(elu1, "causal and doc[i] == doc[j]", Type::bf16, {{150, 150}}, shape);
}

TEST(LinearOrder, KeyLengths) {
  CallShape shape;
  shape.B = 2;
  shape.keyLengths = {150, 37};
  for (const char *mask : {"none", "causal"}) {
    check(elu1, mask, Type::f32, {{150, 150}}, shape);
    check(elu1, mask, Type::bf16, {{150, 150}}, shape);
  }
}

TEST(LinearOrder, HiddenNaNStaysHidden) {
  CallShape shape;
  shape.oddValuesFrom = 70;
  check(elu1, "causal", Type::f32, {{129, 129}}, shape);
  check(elu1, "causal", Type::bf16, {{129, 129}}, shape);
}

// By the lengths: few rows are for the quadratic order.
TEST(LinearOrder, BothOrdersInOneProgram) {
  for (int64_t n : {17, 300}) {
    CallShape shape;
    shape.Nq = shape.Nk = n;
    shape.type = Type::bf16;
    EmulatedCall call("attention t(q, k, v) { phi(x) = elu(x) + 1; kappa = "
                      "dot(phi(q), phi(k)); mask = causal }",
                      shape);
    CudaProgram program = call.program();
    // Features of keys; the quadratic order, whole and in parts; their merge;
    // the linear order.
    EXPECT_EQ(program.stages.size(), 5u);
    EXPECT_NE(program.source.find("absorb(state"), std::string::npos);
    call.run(program);
    EXPECT_LE(call.error(), boundOf(shape.type)) << n;
  }
}

TEST(LinearOrder, WhatDoesNotFitIsRefused) {
  CallShape shape;
  shape.schedule = "linear";
  EmulatedCall call("attention t(q, k, v) { kappa = (1 + dot(q, k))^2 }",
                    shape);
  try {
    call.program();
    FAIL() << "2145 features by 64 values do not fit";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("KiB of shared memory, sm_80 has"),
              std::string::npos)
        << error.what();
  }
  shape.schedule.clear(); // then the quadratic order does all
  EmulatedCall chosen("attention t(q, k, v) { kappa = (1 + dot(q, k))^2 }",
                      shape);
  EXPECT_EQ(chosen.program().source.find("absorb(state"), std::string::npos);
}
