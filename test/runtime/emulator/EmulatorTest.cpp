//===- EmulatorTest.cpp - emulated kernels against float64 ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Relative L2 errors of o against the float64 interpreter on the rounded
// inputs, under the bounds of the design.
//
//===----------------------------------------------------------------------===//

#include "EmulatedCall.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::runtime;

namespace {

struct Sample {
  const char *spec;
  CallShape shape;
};

double boundOf(Type type) {
  return type == Type::bf16 ? 4e-3 : type == Type::f16 ? 1e-3 : 2e-5;
}

const char *softmax = "attention s(q, k, v) { kappa = exp(dot(q, k) / "
                      "sqrt(dim))\n mask = causal\n return o, lse }";
const char *yat =
    "attention y(q, k, v; b >= 0, eps > 0) { kappa = (dot(q, k) + "
    "b)^2 / (sqdist(q, k) + eps)\n mask = causal\n return o, mass }";
const char *windowed =
    "attention w(q, k, v) { kappa = exp(dot(q, k) / sqrt(dim))\n"
    "mask = window(20, 3) }";
const char *gauss = "attention g(q, k, v; h > 0) { kappa = exp(-sqdist(q, k) "
                    "/ (2*h^2)) }";
const char *feature = "attention e(q, k, v) { phi(x) = elu(x) + 1\n kappa = "
                      "dot(phi(q), phi(k))\n mask = causal\n return o, mass }";

CallShape shapeOf(int64_t nq, int64_t nk, int64_t d, int64_t dv, Type type) {
  CallShape shape;
  shape.B = 2;
  shape.Hq = 4;
  shape.Hk = 2;
  shape.Nq = nq;
  shape.Nk = nk;
  shape.D = d;
  shape.Dv = dv;
  shape.type = type;
  return shape;
}

void check(const char *spec, CallShape shape) {
  if (spec == yat)
    shape.numbers = {{"b", 0.5}, {"eps", 0.1}};
  if (spec == gauss)
    shape.numbers = {{"h", 2.0}};
  EmulatedCall call(spec, shape);
  call.run(call.program());
  EXPECT_LE(call.error(), boundOf(shape.type))
      << spec << " Nq " << shape.Nq << " Nk " << shape.Nk << " D " << shape.D;
}

} // namespace

TEST(EmulatorTest, Softmax) {
  check(softmax, shapeOf(129, 129, 64, 64, Type::f32));
  check(softmax, shapeOf(129, 129, 64, 64, Type::bf16));
  check(softmax, shapeOf(65, 140, 80, 72, Type::f16));
}

TEST(EmulatorTest, Yat) {
  check(yat, shapeOf(129, 129, 64, 64, Type::f32));
  check(yat, shapeOf(70, 129, 128, 16, Type::bf16));
  check(yat, shapeOf(70, 70, 16, 128, Type::f16));
}

// f32 rows, products to 10 bits: as exact as f16, in the range of f32.
TEST(EmulatorTest, Tf32) {
  for (const char *spec : {softmax, yat}) {
    CallShape shape = shapeOf(129, 129, 64, 64, Type::f32);
    shape.numbers = {{"b", 0.5}, {"eps", 0.1}};
    if (spec == softmax)
      shape.numbers.clear();
    shape.tf32 = true;
    EmulatedCall call(spec, shape);
    call.run(call.program());
    EXPECT_LE(call.error(), 1e-3);
    EXPECT_GE(call.error(), 1e-5); // asked for, and got
  }
}

TEST(EmulatorTest, NearKeys) {
  CallShape shape = shapeOf(70, 70, 64, 64, Type::f32);
  shape.nearKeys = true;
  check(yat, shape);
}

TEST(EmulatorTest, Windows) {
  check(windowed, shapeOf(200, 200, 31, 33, Type::f32));
  check(windowed, shapeOf(200, 200, 32, 40, Type::bf16));
}

TEST(EmulatorTest, Gaussian) {
  check(gauss, shapeOf(33, 100, 72, 64, Type::f32));
  check(gauss, shapeOf(33, 100, 72, 64, Type::bf16));
}

TEST(EmulatorTest, RowMaps) {
  check(feature, shapeOf(100, 100, 64, 64, Type::f32));
  check(feature, shapeOf(100, 100, 48, 64, Type::bf16));
}

TEST(EmulatorTest, KeyLengths) {
  CallShape shape = shapeOf(40, 150, 64, 64, Type::f32);
  shape.keyLengths = {150, 37};
  check(gauss, shape);
  shape.type = Type::bf16;
  check(gauss, shape);
}

TEST(EmulatorTest, HiddenNaNStaysHidden) {
  for (Type type : {Type::f32, Type::bf16}) {
    CallShape shape = shapeOf(100, 100, 64, 64, type);
    shape.oddValuesFrom = 70; // rows 0 to 69 do not see them
    check(softmax, shape);
  }
}

TEST(EmulatorTest, NoKeysAndNoQueries) {
  check(softmax, shapeOf(0, 5, 16, 16, Type::f32));
  CallShape none = shapeOf(5, 0, 16, 16, Type::f32);
  EmulatedCall call(softmax, none);
  call.run(call.program());
  EXPECT_EQ(call.error(), 0);
}
