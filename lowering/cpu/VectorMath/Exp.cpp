//===- Exp.cpp - exponentials ---------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All write the exponent as n + f with n an integer, take a polynomial of f and
// multiply by 2^n, whose bits are (n + 127) << 23. Adding 1.5 * 2^23 + 127 to n
// puts n + 127 into the low bits of a float, so there is no conversion; 9 bits
// survive the shift, and n is bounded so that n + 127 is in [0, 255]: 0 gives
// the factor 0 (all that is below 2^-126 is flushed) and 255 gives infinity.
// The factor is multiplied, not added to the exponent, so that NaN stays NaN
// whatever its payload.
//
// n is rounded down where x may be anything: n = 127 must cover everything up
// to the overflow, where rounding to nearest would need a factor 2^128. Where x
// is at most 0 the same addition also rounds to nearest, which is cheaper.
// AVX-512 has both steps of 2^x as instructions, for any x, rounded down.
//
// Coefficients: minimax in the relative error of the result, by Lawson's
// iterated weighted least squares on 1200 Chebyshev nodes against 160-bit
// values; they are rounded to f32 one after the other, the lowest first, the
// rest refitted.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/VectorMath/Emitter.h"

using namespace mlir;
using namespace attn::vectormath;

/// 1.5 * 2^23 has the integers as its neighbours; 127 is the bias of an
/// exponent.
static constexpr float kRound = 12582912.0f;
static constexpr float kRoundBiased = kRound + 127;

static constexpr float kLog2E = 1.44269504f;
/// ln 2 in two parts; the first has 9 bits, so its product with n is exact.
static constexpr float kLn2High = 0.693359375f;
static constexpr float kLn2Low = -2.12194440e-4f;

/// 2^f on [-1/2, 1/2], relative error 9.3e-8; the first is exact at f = 0.
static constexpr float kExp2Nearest[] = {1.0f,           0.693147004f,
                                         0.240222469f,   0.0555071086f,
                                         0.00967129227f, 0.00132695353f};
/// The same with an error of 2.9e-6, for fast math.
static constexpr float kExp2Fast[] = {1.0f, 0.6931242f, 0.24024095f,
                                      0.05590651f, 0.009583037f};
/// 2^f on [0, 1], 9.2e-8; also exact at f = 1, so that there is no step there
/// and no x < 0 has a power above 1.
static constexpr float kExp2Down[] = {1.0f,           0.693151712f,
                                      0.240159273f,   0.0558186769f,
                                      0.00899099465f, 0.00187931862f};
/// The same with an error of 2.9e-6, for fast math; below 2 at f = 1.
static constexpr float kExp2FastDown[] = {1.0f, 0.693044845f, 0.241280205f,
                                          0.0522424742f, 0.0134266843f};
/// e^f on [-ln 2 / 2, ln 2 / 2], 9.2e-8.
static constexpr float kExpNearest[] = {1.0f,          0.999999702f,
                                        0.499991447f,  0.166676536f,
                                        0.0418985672f, 0.00828931015f};
/// The same with an error of 2.9e-6, for fast math.
static constexpr float kExpFast[] = {1.0f, 0.99996686f, 0.50003016f, 0.1678745f,
                                     0.041513603f};
/// e^f on [0, ln 2], 9.2e-8, likewise.
static constexpr float kExpDown[] = {1.0f,          1.00000656f,
                                     0.499860048f,  0.167611241f,
                                     0.0389498621f, 0.0117455432f};
/// (e^f - 1 - f) / f^2 on [-ln 2 / 2, ln 2 / 2]; error 1.4e-8 of e^f - 1.
static constexpr float kExpm1[] = {0.49999997f, 0.166665465f, 0.0416674353f,
                                   0.00836627744f, 0.00138707191f};

/// 2^n from the sum of n and kRoundBiased.
static Value powerOfTwo(Emitter &e, Value biased) {
  return e.asFloat(e.shiftLeft(e.asInt(biased), 23));
}

/// n * ln 2 taken off x.
static Value reduceByLn2(Emitter &e, Value x, Value n) {
  return e.fma(n, e.f32(-kLn2Low), e.fma(n, e.f32(-kLn2High), x));
}

/// e^f - 1 for |f| <= ln 2 / 2, accurate at 0.
static Value polynomialM1(Emitter &e, Value f) {
  return e.fma(e.mul(f, f), e.polynomial(f, kExpm1), f);
}

Value attn::vectormath::expandExp2(Emitter &e, Value x, bool nonPositive) {
  if (e.options.hasScale) { // of infinities and NaN, too
    Value f = e.aboveFloor(x);
    Value power = e.options.fast && nonPositive ? e.polynomial(f, kExp2FastDown)
                                                : e.polynomial(f, kExp2Down);
    return e.scale(power, x);
  }
  x = e.atLeast(-127, x);
  if (nonPositive) {
    Value biased = e.add(x, e.f32(kRoundBiased));
    Value f = e.sub(x, e.sub(biased, e.f32(kRoundBiased)));
    Value power = e.options.fast ? e.polynomial(f, kExp2Fast)
                                 : e.polynomial(f, kExp2Nearest);
    return e.mul(power, powerOfTwo(e, biased));
  }
  x = e.atMost(128, x);
  Value n = e.floor(x);
  Value f = e.sub(x, n);
  return e.mul(e.polynomial(f, kExp2Down),
               powerOfTwo(e, e.add(n, e.f32(kRoundBiased))));
}

Value attn::vectormath::expandExp(Emitter &e, Value x, bool nonPositive) {
  x = e.atLeast(-88, x); // n = -127
  if (nonPositive) {
    Value biased = e.fma(x, e.f32(kLog2E), e.f32(kRoundBiased));
    Value f = reduceByLn2(e, x, e.sub(biased, e.f32(kRoundBiased)));
    Value power = e.options.fast ? e.polynomial(f, kExpFast)
                                 : e.polynomial(f, kExpNearest);
    return e.mul(power, powerOfTwo(e, biased));
  }
  x = e.atMost(89, x); // n = 128
  // Four units below log2 e: at the largest x with a finite result the rounded
  // product must not reach 128. f leaves [0, ln 2] by at most 4e-5.
  Value n = e.floor(e.mul(x, e.f32(kLog2E - 0x1p-21f)));
  Value f = reduceByLn2(e, x, n);
  return e.mul(e.polynomial(f, kExpDown),
               powerOfTwo(e, e.add(n, e.f32(kRoundBiased))));
}

Value attn::vectormath::expandExpm1(Emitter &e, Value input) {
  // 2^n (e^f - 1) + (2^n - 1): around 0, n = 0 and nothing cancels. All with
  // half of 2^n, which stays finite up to n = 128; below -18 the result is -1.
  constexpr float round = kRound + 126;
  Value x = e.atMost(89, e.atLeast(-18, input));
  Value biased = e.fma(x, e.f32(kLog2E), e.f32(round));
  Value f = reduceByLn2(e, x, e.sub(biased, e.f32(round)));
  Value half = powerOfTwo(e, biased);
  Value sum = e.fma(half, polynomialM1(e, f), e.sub(half, e.f32(0.5f)));
  // The sum loses the sign of zero, and its half the smallest numbers.
  Value tiny = e.less(e.abs(input), 0x1p-24f);
  return e.select(tiny, input, e.add(sum, sum));
}

Value attn::vectormath::expandTanh(Emitter &e, Value x) {
  // With t = e^(-2|x|) - 1 in [-1, 0], tanh |x| = -t / (2 + t). From 10 on it
  // is 1.
  Value magnitude = e.atMost(10, e.abs(x));
  Value y = e.mul(magnitude, e.f32(-2));
  Value biased = e.fma(y, e.f32(kLog2E), e.f32(kRoundBiased));
  Value f = reduceByLn2(e, y, e.sub(biased, e.f32(kRoundBiased)));
  Value power = powerOfTwo(e, biased);
  Value t = e.fma(power, polynomialM1(e, f), e.sub(power, e.f32(1)));
  return e.copySign(e.div(t, e.add(t, e.f32(2))), x);
}

Value attn::vectormath::expandExp2(Emitter &e, Value whole, Value fraction) {
  return e.mul(e.polynomial(fraction, kExp2Down),
               powerOfTwo(e, e.add(whole, e.f32(kRoundBiased))));
}
