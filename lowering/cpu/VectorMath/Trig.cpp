//===- Trig.cpp - sine and cosine -----------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// x = k pi / 2 + r with |r| <= pi / 4. Near a multiple of pi the result is as
// small as 2^-30 for x up to 2^24, so r needs 80 bits of pi / 2: three or four
// steps in f32 with a fused multiply-add, many more without one, but two in f64
// everywhere. These functions stand in row maps, not in the loop over pairs.
//
// Coefficients: see Exp.cpp.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/VectorMath/Emitter.h"

using namespace mlir;
using namespace attn::vectormath;

/// 1.5 * 2^52 has the integers as its neighbours.
static constexpr double kRound = 6755399441055744.0;
static constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
/// pi / 2 in two parts; the first has 27 bits, so its product with k <= 2^24 is
/// exact.
static constexpr double kHalfPiHigh = 0x1.921fb54p+0;
static constexpr double kHalfPiLow = 0x1.10b4611a62633p-30;

/// (sin r / r - 1) / r^2 in r^2, relative error 4.0e-9 of sin r.
static constexpr float kSin[] = {-0.166666552f, 0.00833218917f,
                                 -0.000195182918f};
/// (cos r - 1 + r^2 / 2) / r^4 in r^2, 1.2e-10 of cos r.
static constexpr float kCos[] = {0.0416666456f, -0.00138873095f,
                                 2.44323273e-05f};

/// sin(x + quarters * pi / 2).
static Value expandSinShifted(Emitter &e, Value x, int32_t quarters) {
  Value wide = e.widen(x);
  Value biased = e.fma(wide, e.f64(kTwoOverPi), e.f64(kRound));
  Value k = e.sub(biased, e.f64(kRound));
  wide = e.fma(k, e.f64(-kHalfPiHigh), wide);
  wide = e.fma(k, e.f64(-kHalfPiLow), wide);
  // Past 2^50 k is no longer exact: the bounds keep the result in [-1, 1].
  Value r = e.atMost(0.7854f, e.atLeast(-0.7854f, e.narrow(wide)));

  Value square = e.mul(r, r);
  Value sine = e.mul(r, e.fma(square, e.polynomial(square, kSin), e.f32(1)));
  Value cosine = e.fma(e.mul(square, square), e.polynomial(square, kCos),
                       e.fma(square, e.f32(-0.5f), e.f32(1)));
  Value quadrant = e.lowBits(biased);
  if (quarters)
    quadrant = e.addInt(quadrant, e.i32(quarters));
  Value result = e.select(e.bitSet(quadrant, 1), cosine, sine);
  // Bit 1 of the quadrant becomes the sign.
  Value sign = e.shiftLeft(e.andInt(quadrant, e.i32(2)), 30);
  return e.asFloat(e.xorInt(e.asInt(result), sign));
}

Value attn::vectormath::expandSin(Emitter &e, Value x) {
  return expandSinShifted(e, x, 0);
}
Value attn::vectormath::expandCos(Emitter &e, Value x) {
  return expandSinShifted(e, x, 1);
}
