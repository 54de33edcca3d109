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

namespace {
struct Split {
  Value n; ///< i32
  Value f;
};
} // namespace

/// The same for every finite normal x > 0; rubbish elsewhere.
static Split split(Emitter &e, Value x) {
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

/// `result` where x is finite and above `pole`; -inf at the pole (and up to it
/// from `below`), NaN further down, +inf and NaN as they are.
static Value withPole(Emitter &e, Value x, float below, float pole,
                      Value result) {
  result = e.select(e.less(x, kInfinity), result, x);
  Value atPole = e.select(e.greater(x, below), e.f32(-kInfinity), e.f32(kNaN));
  return e.select(e.less(x, pole), atPole, result);
}

Value attn::vectormath::expandLog(Emitter &e, Value x) {
  Split s = split(e, x);
  return withPole(e, x, -kSmallestNormal, kSmallestNormal,
                  combine(e, s.n, s.f));
}
