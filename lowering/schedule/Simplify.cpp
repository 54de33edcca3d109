//===- Simplify.cpp - kernels in the form that keeps digits ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_SIMPLIFYPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;

namespace {

/// expm1(y) + 1 -> exp(y), also where another term stands in between:
/// (x + expm1(y)) + 1 -> x + exp(y), which is elu(x) + 1.
struct FoldExpm1PlusOne : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::AddFOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getLhs(), one = op.getRhs();
    if (!matchPattern(one, m_OneFloat()))
      std::swap(x, one);
    if (!matchPattern(one, m_OneFloat()))
      return failure();
    Value other;
    auto expm1 = x.getDefiningOp<math::ExpM1Op>();
    if (auto sum = x.getDefiningOp<arith::AddFOp>()) {
      expm1 = sum.getRhs().getDefiningOp<math::ExpM1Op>();
      other = sum.getLhs();
      if (!expm1) {
        expm1 = sum.getLhs().getDefiningOp<math::ExpM1Op>();
        other = sum.getRhs();
      }
    }
    if (!expm1)
      return failure();
    Value exp =
        math::ExpOp::create(rewriter, expm1.getLoc(), expm1.getOperand());
    if (other)
      rewriter.replaceOpWithNewOp<arith::AddFOp>(op, other, exp);
    else
      rewriter.replaceOp(op, exp);
    return success();
  }
};

/// log(1 + exp(x)) -> max(x, 0) + log1p(exp(-|x|)), the softplus function,
/// which neither overflows above 88 nor loses its digits below -16.
struct FoldSoftplus : OpRewritePattern<math::LogOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::LogOp op,
                                PatternRewriter &rewriter) const override {
    auto sum = op.getOperand().getDefiningOp<arith::AddFOp>();
    if (!sum)
      return failure();
    Value other = sum.getLhs(), one = sum.getRhs();
    if (!matchPattern(one, m_OneFloat()))
      std::swap(other, one);
    auto exp = other.getDefiningOp<math::ExpOp>();
    if (!exp || !matchPattern(one, m_OneFloat()))
      return failure();
    Location loc = op.getLoc();
    Value x = exp.getOperand();
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getFloatAttr(x.getType(), 0));
    Value above = arith::MaximumFOp::create(rewriter, loc, x, zero);
    Value size = math::AbsFOp::create(rewriter, loc, x);
    Value below = arith::NegFOp::create(rewriter, loc, size);
    Value tail = math::ExpOp::create(rewriter, loc, below);
    tail = math::Log1pOp::create(rewriter, loc, tail);
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, above, tail);
    return success();
  }
};

/// A whole number made of a real and used as a real need not be an integer, nor
/// fit into one.
struct FoldFloorToReal : OpRewritePattern<arith::SIToFPOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SIToFPOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getIn();
    while (auto cast = x.getDefiningOp<arith::IndexCastOp>())
      x = cast.getIn();
    auto whole = x.getDefiningOp<arith::FPToSIOp>();
    if (!whole || !whole.getIn().getDefiningOp<math::FloorOp>() ||
        whole.getIn().getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, whole.getIn());
    return success();
  }
};

struct Simplify : attn::impl::SimplifyPassBase<Simplify> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldExpm1PlusOne, FoldFloorToReal, FoldSoftplus>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
