//===- Log.cpp - logarithms -----------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), so that n = 0 around 1
// and nothing cancels there. The coefficients were found as in Exp.cpp.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/VectorMath/Emitter.h"

#include <limits>

using namespace mlir;
using namespace attn::vectormath;

static constexpr int32_t kSqrtHalfBits = 0x3f3504f3;
static constexpr float kInfinity = std::numeric_limits<float>::infinity();
static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
static constexpr float kSmallestNormal = std::numeric_limits<float>::min();

/// ln 2 in two parts; the first has 9 bits, so its product with n is exact.
static constexpr float kLn2High = 0.693359375f;
static constexpr float kLn2Low = -2.12194440e-4f;

/// (log(1 + f) - f + f^2 / 2) / f^3; error 6e-9 of log(1 + f).
static constexpr float kLog[] = {0.333333313f,  -0.250008196f, 0.200012416f,
                                 -0.166234091f, 0.142015815f,  -0.131596133f,
                                 0.127621993f,  -0.0763639957f};

/// log2 e, and (log2(1 + f) - f log2 e) / f^2; error 5e-9 of log2(1 + f).
static constexpr float kLog2E = 1.44269504f;
static constexpr float kLog2[] = {-0.721347332f, 0.480898201f,  -0.36069867f,
                                  0.288571417f,  -0.239567354f, 0.204486579f,
                                  -0.191390827f, 0.187088192f,  -0.110255919f};

LogSplit attn::vectormath::splitForLog(Emitter &e, Value x) {
  Value bits = e.asInt(x);
  Value n = e.shiftRight(e.subInt(bits, e.i32(kSqrtHalfBits)), 23);
  Value m = e.asFloat(e.subInt(bits, e.shiftLeft(n, 23)));
  return {n, e.sub(m, e.f32(1))};
}

/// n ln 2 + log(1 + f), the small terms first.
static Value combine(Emitter &e, Value n, Value f) {
  n = e.toFloat(n);
  Value square = e.mul(f, f);
  Value rest = e.mul(e.mul(f, square), e.polynomial(f, kLog));
  rest = e.fma(n, e.f32(kLn2Low), rest);
  rest = e.fma(square, e.f32(-0.5f), rest);
  return e.fma(n, e.f32(kLn2High), e.add(f, rest));
}

/// -inf in (below, above), NaN up to there, +inf and NaN as they are.
static Value withPole(Emitter &e, Value x, float below, float above,
                      Value result) {
  result = e.select(e.less(x, kInfinity), result, x);
  Value atPole = e.select(e.greater(x, below), e.f32(-kInfinity), e.f32(kNaN));
  return e.select(e.less(x, above), atPole, result);
}

Value attn::vectormath::withLogPole(Emitter &e, Value x, Value result) {
  return withPole(e, x, -kSmallestNormal, kSmallestNormal, result);
}

Value attn::vectormath::expandLog(Emitter &e, Value x) {
  LogSplit s = splitForLog(e, x);
  return withLogPole(e, x, combine(e, s.n, s.f));
}

Value attn::vectormath::expandLog2(Emitter &e, Value x) {
  LogSplit s = splitForLog(e, x);
  Value rest = e.mul(e.mul(s.f, s.f), e.polynomial(s.f, kLog2));
  Value fraction = e.fma(s.f, e.f32(kLog2E), rest);
  return withLogPole(e, x, e.add(e.toFloat(s.n), fraction));
}

Value attn::vectormath::expandLog1p(Emitter &e, Value x) {
  // n is taken from the rounded 1 + x, but 1 + f = 2^-n (1 + x) from x itself:
  // f = 2^-n x + (2^-n - 1), which is x where n = 0. From 2^24 on the 1 is not
  // seen, and 2^-n would soon be denormal.
  constexpr float large = 0x1p24f;
  LogSplit s = splitForLog(e, e.add(x, e.f32(1)));
  Value scale = e.asFloat(e.subInt(e.asInt(e.f32(1)), e.shiftLeft(s.n, 23)));
  Value f = e.fma(x, scale, e.sub(scale, e.f32(1)));
  f = e.select(e.less(x, large), f, s.f);
  Value result = combine(e, s.n, f);
  // Keeps the sign of zero.
  result = e.select(e.less(e.abs(x), 0x1p-24f), x, result);
  constexpr float belowPole = -1.0f - 0x1p-23f;
  return withPole(e, x, belowPole, -1.0f + 0x1p-24f, result);
}
