//===- Emitter.h - arithmetic on one vector type ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expansions are written in terms of this class. It emits only what every
// vector unit has: no operation here becomes a call or is taken apart by lane
// on SSE4.1, AVX2, AVX-512 or NEON; but for `aboveFloor` and `scale`, which are
// AVX-512's. In particular `fma` is `vector.fma`, which
// LLVM fuses where the machine has the instruction and splits elsewhere
// (`math.fma` would call fmaf there), so an expansion must be accurate both
// ways.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CPU_VECTORMATH_EMITTER_H
#define ATTN_LOWERING_CPU_VECTORMATH_EMITTER_H

#include "lowering/cpu/VectorMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace attn::vectormath {

/// Emits operations on vectors of one shape: f32, and i32 and f64 beside it.
class Emitter {
public:
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, mlir::VectorType type,
          VectorMathOptions options = {})
      : options(options), builder(builder), loc(loc), type(type) {
    int64_t bits = 32 * type.getNumElements(); // of a vector register
    this->options.hasScale &= bits == 128 || bits == 256 || bits == 512;
  }

  VectorMathOptions options;

  /// Splats.
  mlir::Value f32(float value);
  mlir::Value i32(int32_t value);
  mlir::Value f64(double value);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  /// a * b + c, in one or two roundings.
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  mlir::Value floor(mlir::Value a);
  mlir::Value abs(mlir::Value a);
  /// x - floor(x), and 0 of infinities; where options.hasScale.
  mlir::Value aboveFloor(mlir::Value x);
  /// a * 2^floor(x), whatever floor(x) is; where options.hasScale.
  mlir::Value scale(mlir::Value a, mlir::Value x);
  mlir::Value copySign(mlir::Value magnitude, mlir::Value sign);

  /// Bounds that let a NaN in `x` through: with the bound as first operand each
  /// is exactly one maxps or minps, which return the second operand then.
  mlir::Value atLeast(double bound, mlir::Value x);
  mlir::Value atMost(double bound, mlir::Value x);

  /// Lanes where an ordered comparison with a number holds.
  mlir::Value less(mlir::Value a, float bound);
  mlir::Value greater(mlir::Value a, float bound);
  mlir::Value equal(mlir::Value a, float bound);
  /// Lanes where that bit of an integer is set.
  mlir::Value bitSet(mlir::Value a, int32_t bit);
  mlir::Value either(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value mask, mlir::Value yes, mlir::Value no);

  mlir::Value asInt(mlir::Value a);
  mlir::Value asFloat(mlir::Value a);
  mlir::Value toFloat(mlir::Value a);
  mlir::Value addInt(mlir::Value a, mlir::Value b);
  mlir::Value subInt(mlir::Value a, mlir::Value b);
  mlir::Value andInt(mlir::Value a, mlir::Value b);
  mlir::Value orInt(mlir::Value a, mlir::Value b);
  mlir::Value xorInt(mlir::Value a, mlir::Value b);
  mlir::Value shiftLeft(mlir::Value a, int32_t bits);
  mlir::Value shiftRight(mlir::Value a, int32_t bits); ///< arithmetic

  /// f32 to f64 and back.
  mlir::Value widen(mlir::Value a);
  mlir::Value narrow(mlir::Value a);
  /// The low 32 bits of each f64.
  mlir::Value lowBits(mlir::Value a);

  /// c[0] + x * (c[1] + x * (c[2] + ...)) in Horner's order: the loops around
  /// the expansions work on several independent vectors, so the number of
  /// operations counts and the length of the chain does not.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<float> coefficients);
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients);

private:
  mlir::Value splat(mlir::TypedAttr value);
  /// An AVX-512 intrinsic of two operands under a mask, of all lanes.
  mlir::Value masked(llvm::StringRef name, mlir::Value a, mlir::Value b);
  mlir::Value splatLike(double value, mlir::Value x);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                      mlir::Value b);
  mlir::VectorType withElement(mlir::Type element);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::VectorType type;
};

/// f32 functions. Denormal operands count as 0; results below 2^-126 are 0, or
/// some denormal where the machine does not flush.
mlir::Value expandExp(Emitter &e, mlir::Value x, bool nonPositive);
mlir::Value expandExp2(Emitter &e, mlir::Value x, bool nonPositive);
/// 2^(whole + fraction): an integer in [-127, 128] and a number in [0, 1].
mlir::Value expandExp2(Emitter &e, mlir::Value whole, mlir::Value fraction);
mlir::Value expandExpm1(Emitter &e, mlir::Value x);
mlir::Value expandTanh(Emitter &e, mlir::Value x);

/// x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)) for finite normal x > 0,
/// and some finite f for any other.
struct LogSplit {
  mlir::Value n; ///< i32
  mlir::Value f;
};
LogSplit splitForLog(Emitter &e, mlir::Value x);
/// `result` for finite normal x > 0, and what a logarithm is elsewhere: -inf at
/// 0, NaN below, +inf and NaN as they are.
mlir::Value withLogPole(Emitter &e, mlir::Value x, mlir::Value result);

mlir::Value expandLog(Emitter &e, mlir::Value x);
mlir::Value expandLog2(Emitter &e, mlir::Value x);
mlir::Value expandLog1p(Emitter &e, mlir::Value x);
/// Accurate for |x| <= 2^24; beyond it still in [-1, 1], NaN for infinities.
mlir::Value expandSin(Emitter &e, mlir::Value x);
mlir::Value expandCos(Emitter &e, mlir::Value x);
/// `base` >= 0; NaN below 0.
mlir::Value expandPow(Emitter &e, mlir::Value base, mlir::Value exponent);

/// math.fpowi by a constant and math.powf by a multiple of 1/2, of any type.
void populateConstantPowerPatterns(mlir::RewritePatternSet &patterns);

} // namespace attn::vectormath

#endif // ATTN_LOWERING_CPU_VECTORMATH_EMITTER_H
