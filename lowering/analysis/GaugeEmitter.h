//===- GaugeEmitter.h - arithmetic on 2^e * r -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Gauge.cpp decides, emitted. Null stands for the neutral element, an
// exponent of 0 and a factor of 1, so that a Gaussian's split is one multiply.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_GAUGEEMITTER_H
#define ATTN_LOWERING_ANALYSIS_GAUGEEMITTER_H

#include "lowering/analysis/ValueRange.h"

namespace attn {

/// 2^exponent * factor.
struct GaugeTerm {
  mlir::Value exponent; ///< null: 0
  mlir::Value factor;   ///< null: 1
};

/// exp(e) is computed as it stands where |e| is at most this (S6).
inline constexpr double kGaugeFreeExponent = 60;

class GaugeEmitter {
public:
  GaugeEmitter(mlir::OpBuilder &builder, mlir::Location loc,
               ValueRangeAnalysis &ranges)
      : builder(builder), loc(loc), ranges(ranges) {}

  mlir::Value constant(double value);
  mlir::Value zero() { return constant(0); }
  mlir::Value orZero(mlir::Value exponent) {
    return exponent ? exponent : zero();
  }
  bool isZero(GaugeTerm term);

  // Exponents: null is 0.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value scale(mlir::Value exponent, double by);
  mlir::Value scale(mlir::Value exponent, mlir::Value by);
  /// x * by, `by` folded into the constant factors of x where that is cheaper.
  mlir::Value exponent(mlir::Value x, double by);

  // Factors: null is 1.
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value neg(mlir::Value a);
  mlir::Value abs(mlir::Value a);
  mlir::Value sqrt(mlir::Value a);
  mlir::Value log2(mlir::Value a);
  mlir::Value extremum(mlir::Value a, mlir::Value b, bool isMax);
  mlir::Value integerPower(mlir::Value a, int64_t n);
  mlir::Value realPower(mlir::Value a, mlir::Value n);

  // Terms.
  GaugeTerm sum(llvm::ArrayRef<GaugeTerm> terms);
  GaugeTerm select(mlir::Value condition, GaugeTerm a, GaugeTerm b);
  /// The factor of `term` under another exponent.
  mlir::Value rescaled(GaugeTerm term, mlir::Value exponent);
  /// ln(2^e * r), an algebraic value.
  mlir::Value log(GaugeTerm term);
  /// exp(x) - 1 for an x that may be large.
  GaugeTerm expm1(mlir::Value x);
  /// x = 2^floor(log2 |x|) * m; x = 0 has exponent -inf.
  GaugeTerm runningPower(mlir::Value x);
  /// x^n with the power of two of x taken out first.
  GaugeTerm highPower(mlir::Value x, double n, bool integer);

private:
  bool absorbs(mlir::Value x, int depth);
  bool isInvariant(mlir::Value x, int depth);
  mlir::Value scaled(mlir::Value x, double by, int depth);

  /// The pieces of a float's bits.
  struct Bits {
    GaugeTerm term;       ///< special values stay in the factor
    mlir::Value mantissa; ///< in [1, 2), whatever x is, with the sign of x
    mlir::Value special;  ///< i1: zero, infinite or NaN
  };
  Bits decompose(mlir::Value x);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  ValueRangeAnalysis &ranges;
  llvm::DenseMap<mlir::Value, Bits> decomposed;
};

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_GAUGEEMITTER_H
