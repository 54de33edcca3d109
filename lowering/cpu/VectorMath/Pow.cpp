//===- Pow.cpp - real powers ----------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 2^(y log2 x). The product reaches 128 and its absolute error is the relative
// error of the result, so log2 x needs 8 bits more than f32 has: the tail of
// its polynomial is summed in f32, its first four terms and the product in f64.
//
// Coefficients: as in Exp.cpp; the first four are not rounded.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/VectorMath/Emitter.h"

using namespace mlir;
using namespace attn::vectormath;

/// log2(1 + f) / f for 1 + f in [sqrt(1/2), sqrt(2)], relative error 1.0e-10.
static constexpr double kHead[] = {1.4426950409393475, -0.7213475252133651,
                                   0.48089832072849203, -0.36067280052137884};
static constexpr float kTail[] = {0.288540632f,  -0.240504175f, 0.206096798f,
                                  -0.179047316f, 0.158993721f,  -0.156972706f,
                                  0.154893741f,  -0.0864057988f};

Value attn::vectormath::expandPow(Emitter &e, Value base, Value exponent) {
  LogSplit s = splitForLog(e, base);
  Value tail = e.widen(e.polynomial(s.f, kTail));
  Value f = e.widen(s.f);
  Value sum = tail;
  for (double coefficient : llvm::reverse(kHead))
    sum = e.fma(sum, f, e.f64(coefficient));
  // The special values of the logarithm, put into its integer part.
  Value n = e.widen(withLogPole(e, base, e.toFloat(s.n)));
  Value product = e.mul(e.widen(exponent), e.fma(f, sum, n));

  product = e.atMost(128, e.atLeast(-127, product));
  Value whole = e.floor(product);
  Value result =
      expandExp2(e, e.narrow(whole), e.narrow(e.sub(product, whole)));
  // 1 to any power and anything to the power 0, be it infinite or NaN.
  Value one = e.f32(1);
  return e.select(e.either(e.equal(base, 1), e.equal(exponent, 0)), one,
                  result);
}
