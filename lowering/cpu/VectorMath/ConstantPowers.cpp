//===- ConstantPowers.cpp - powers whose exponent is known ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/VectorMath/Emitter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn::vectormath;

/// Kernels are cloned from scalars to vectors: a constant may have a broadcast
/// on top.
static Value belowBroadcasts(Value v) {
  while (auto broadcast = v.getDefiningOp<vector::BroadcastOp>())
    v = broadcast.getSource();
  return v;
}

static Value constant(OpBuilder &builder, Location loc, Type type,
                      double number) {
  TypedAttr value = builder.getFloatAttr(getElementTypeOrSelf(type), number);
  if (auto shaped = dyn_cast<ShapedType>(type))
    value = DenseElementsAttr::get(shaped, Attribute(value));
  return arith::ConstantOp::create(builder, loc, value);
}

/// x^(halves / 2). Every partial product lies between 1 and the whole, so none
/// overflows or underflows alone; the inverse of a power below 2^-126 is
/// infinite.
static Value power(OpBuilder &builder, Location loc, Value x, int64_t halves) {
  Value result;
  uint64_t magnitude = halves < 0 ? -uint64_t(halves) : uint64_t(halves);
  if (magnitude & 1) {
    // -0 + 0 = 0: a power of zero that is no integer has no sign.
    x = arith::AddFOp::create(builder, loc, x,
                              constant(builder, loc, x.getType(), 0));
    result = math::SqrtOp::create(builder, loc, x);
  }
  Value square = x;
  for (uint64_t n = magnitude >> 1; n != 0; n >>= 1) {
    if (n & 1)
      result =
          result ? arith::MulFOp::create(builder, loc, result, square) : square;
    if (n > 1)
      square = arith::MulFOp::create(builder, loc, square, square);
  }
  if (!result)
    return constant(builder, loc, x.getType(), 1);
  if (halves < 0)
    result = arith::DivFOp::create(
        builder, loc, constant(builder, loc, x.getType(), 1), result);
  return result;
}

namespace {

/// x^n by repeated squaring: |n| roundings at most, and exact where x^n is.
class ExpandFPowI : public OpRewritePattern<math::FPowIOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    APInt exponent;
    if (!matchPattern(belowBroadcasts(op.getRhs()), m_ConstantInt(&exponent)) ||
        exponent.getSignificantBits() > 32)
      return rewriter.notifyMatchFailure(op, "exponent is not constant");
    rewriter.replaceOp(op, power(rewriter, op.getLoc(), op.getLhs(),
                                 2 * exponent.getSExtValue()));
    return success();
  }
};

/// x^(n/2) by products and one square root, a tenth of the general power.
class ExpandPowOfHalves : public OpRewritePattern<math::PowFOp> {
public:
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    APFloat exponent(0.0);
    if (!matchPattern(belowBroadcasts(op.getRhs()), m_ConstantFloat(&exponent)))
      return rewriter.notifyMatchFailure(op, "exponent is not constant");
    double halves = 2 * exponent.convertToDouble();
    // Up to 9/2, five roundings and 4 ulp.
    if (!(halves == std::floor(halves)) || std::abs(halves) > 9)
      return rewriter.notifyMatchFailure(op, "no small multiple of 1/2");
    rewriter.replaceOp(op, power(rewriter, op.getLoc(), op.getLhs(),
                                 static_cast<int64_t>(halves)));
    return success();
  }
};

} // namespace

void attn::vectormath::populateConstantPowerPatterns(
    RewritePatternSet &patterns) {
  // Before the general power.
  patterns.add<ExpandFPowI, ExpandPowOfHalves>(patterns.getContext(),
                                               PatternBenefit(2));
}
