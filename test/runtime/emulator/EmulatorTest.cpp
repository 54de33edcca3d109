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
  // Products of a warp, and of four.
  for (const char *architecture : {"sm_80", "sm_90a"}) {
    call.run(call.program(architecture));
    EXPECT_LE(call.error(), boundOf(shape.type))
        << architecture << " " << spec << " Nq " << shape.Nq << " Nk "
        << shape.Nk << " D " << shape.D;
  }
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
  shape.type = Type::bf16;
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

// Rows that a map makes of 16-bit rows keep digits and exponents that 16 bits
// have not: above 65504 in f16, and where weights are far apart.
TEST(EmulatorTest, MadeRowsAreMoreThan16Bits) {
  const char *large = "attention l(q, k, v) { q = 1e5*q\n k = 1e5*k\n"
                      "kappa = exp(1e-10*dot(q, k)/sqrt(dim)) }";
  check(large, shapeOf(100, 100, 64, 64, Type::f16));
  const char *turned =
      "attention t(q, k, v) { q = rope(q, i)\n k = rope(k, j)\n"
      "kappa = exp(dot(q, k))\n mask = causal }";
  check(turned, shapeOf(129, 129, 64, 64, Type::bf16));
  check(turned, shapeOf(70, 129, 128, 72, Type::f16));
}

// A made row meets one that was given, and may do so beside products of two
// given ones, whose rows lie as four warps want them.
TEST(EmulatorTest, MadeRowsMeetGivenOnes) {
  const char *query = "attention a(q, k, v) { q = rope(q, i)\n"
                      "kappa = exp(dot(q, k)) }";
  const char *key = "attention c(q, k, v; h > 0) { k = 3*unit(k)\n"
                    "kappa = exp(-sqdist(q, k)/(2*h^2)) }";
  const char *both = "attention b(q, k, v) { kappa = exp(dot(q, k) + dot(2*q, "
                     "tanh(k)) - sqdist(tanh(q), k)/9)\n mask = causal }";

  for (Type type : {Type::bf16, Type::f16}) {
    check(query, shapeOf(100, 100, 64, 64, type));
    CallShape shape = shapeOf(100, 100, 48, 64, type);
    shape.numbers = {{"h", 2.0}};
    check(key, shape);
    check(both, shapeOf(100, 100, 64, 64, type));
  }
}

// Powers whose base is divided by a running power of two.
TEST(EmulatorTest, HighDegrees) {
  const char *power = "attention p(q, k, v) { kappa = (0.2 + dot(q, k))^8\n "
                      "mask = causal }";
  check(power, shapeOf(70, 70, 64, 64, Type::f32));
  check(power, shapeOf(70, 70, 64, 64, Type::bf16));
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

// S9: what a row cannot see changes none of its bits.
TEST(EmulatorTest, HiddenValuesChangeNoBit) {
  for (const char *architecture : {"sm_80", "sm_90a"}) {
    CallShape shape = shapeOf(100, 100, 64, 64, Type::bf16);
    EmulatedCall finite(softmax, shape);
    shape.oddValuesFrom = 70;
    EmulatedCall odd(softmax, shape);
    finite.run(finite.program(architecture));
    odd.run(odd.program(architecture));
    size_t row = 64 * 2, rows = 100;
    int same = 0, changed = 0;
    for (size_t at = 0; at < odd.bytes().size(); at += row) {
      bool equal =
          std::equal(odd.bytes().begin() + at, odd.bytes().begin() + at + row,
                     finite.bytes().begin() + at);
      ++(equal ? same : changed);
      EXPECT_EQ(equal, at / row % rows < 70);
    }
    EXPECT_EQ(same, 8 * 70);
    EXPECT_EQ(changed, 8 * 30);
  }
}

// Tiles of 128 queries: two groups of four warps, each with its own rows.
TEST(EmulatorTest, TwoGroupsOfWarps) {
  CallShape shape = shapeOf(150, 150, 64, 40, Type::bf16);
  shape.tiles = {128, 32};
  check(yat, shape);
}

// The architecture says which unit multiplies rows of 16 bits, and of which
// shape; there is no other change in a kernel, and none in f32.
TEST(EmulatorTest, ProductsOfFourWarps) {
  auto sourceOf = [](const char *spec, CallShape shape, const char *arch) {
    return EmulatedCall(spec, shape).program(arch).source;
  };
  auto has = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  };
  CallShape shape = shapeOf(64, 64, 64, 72, Type::bf16);
  std::string text = sourceOf(softmax, shape, "sm_90a");
  EXPECT_TRUE(has(text, "m64n64k16.f32.bf16.bf16")); // 64 keys
  EXPECT_TRUE(has(text, "m64n80k16.f32.bf16.bf16")); // 72 channels of v
  EXPECT_TRUE(has(text, "vRows = rowsAt<Rows<64, 72, Bf16, Cores>>(shared"));
  EXPECT_FALSE(has(sourceOf(softmax, shape, "sm_80"), "Cores"));
  EXPECT_FALSE(has(sourceOf(softmax, shape, "sm_80"), "wgmma"));
  EXPECT_FALSE(has(sourceOf(softmax, shape, "sm_100"), "wgmma"));
  shape.type = Type::f32;
  EXPECT_FALSE(has(sourceOf(softmax, shape, "sm_90a"), "wgmma"));
  // Results of more than 256 channels, and weights that f16 may not hold: their
  // products are those of a warp, dots are not.
  for (CallShape other : {shapeOf(64, 64, 64, 272, Type::bf16),
                          shapeOf(64, 64, 64, 64, Type::f16)}) {
    const char *spec = other.Dv == 272 ? softmax : windowed;
    if (other.Dv == 64)
      spec = "attention p(q, k, v) { kappa = (dot(q, k) + 1)^2 }";
    text = sourceOf(spec, other, "sm_90a");
    EXPECT_TRUE(has(text, "kRows = rowsAt<Rows<32, 64, Bf16, Cores>>") ||
                has(text, "kRows = rowsAt<Rows<64, 64, F16, Cores>>"));
    EXPECT_TRUE(has(text, "vRows = rowsAt<Rows<32, 272, Bf16>>") ||
                has(text, "vRows = rowsAt<Rows<64, 64, F16>>"));
    check(spec, other);
  }
}

// As on the device: (1 + 2^-12)^2 ends in 2^-24, which a product does not keep.
TEST(EmulatorTest, ProductsAndSumsFuse) {
  EmulatedCall call(softmax, shapeOf(5, 5, 16, 16, Type::f32));
  CudaProgram program = call.program();
  size_t kernel = program.source.find("\nATTN_KERNEL(");
  ASSERT_NE(kernel, std::string::npos);
  program.source.insert(program.source.find("{\n", kernel) + 2, R"(
#if defined(__FMA__) || defined(__aarch64__)
  {
    volatile float factor = 0x1.001p0f, addend = -0x1.002p0f;
    float x = factor, y = addend;
    if (x * x + y != 0x1p-24f)
      attn_host::fail("a product was rounded");
  }
#endif
)");
  call.run(program);
  EXPECT_LE(call.error(), boundOf(Type::f32));
}

TEST(EmulatorTest, NoKeysAndNoQueries) {
  check(softmax, shapeOf(0, 5, 16, 16, Type::f32));
  CallShape none = shapeOf(5, 0, 16, 16, Type::f32);
  // Indices of an array without elements clamp to one all the same.
  const char *documents = "attention d(q, k, v; ids[nk]: int) { kappa = "
                          "exp(dot(q, k))\n mask = ids[i] == ids[j] }";
  for (const char *spec : {softmax, documents}) {
    if (spec == documents)
      none.ids = {{"ids", {}}};
    EmulatedCall call(spec, none);
    call.run(call.program());
    EXPECT_EQ(call.error(), 0);
  }
}
