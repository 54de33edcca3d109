//===- ExpandVectorMath.cpp - math functions to polynomials ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM turns llvm.exp and its like into calls of the math library, one a lane.
// Here they become vector code in place. Scalars take the same road, four lanes
// wide, so that scalar and vector results have the same bits.
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"
#include "lowering/cpu/TargetLevel.h"
#include "lowering/cpu/VectorMath.h"
#include "lowering/cpu/VectorMath/Emitter.h"
#include "lowering/loops/ArithmeticAttributes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_EXPANDVECTORMATHPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::vectormath;

/// The vectors that the expansion of an operation on `type` works on, or null.
static VectorType workingType(Type type) {
  if (type.isF32())
    return VectorType::get({4}, type);
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.isScalable() || vector.getRank() == 0 ||
      !vector.getElementType().isF32())
    return {};
  return vector;
}

/// What is left of the math dialect and is not a few instructions on every
/// target.
static bool callsLibrary(Operation *op) {
  return isa_and_present<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
              math::CountLeadingZerosOp, math::CountTrailingZerosOp,
              math::CtPopOp, math::FloorOp, math::IsFiniteOp, math::IsInfOp,
              math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp, math::RsqrtOp,
              math::SqrtOp, math::TruncOp>(op);
}

/// Whether a value is computed from an exponential, which may be infinite where
/// nothing else is, as in 1 / (1 + exp(-x)).
static bool hasExponential(Value v) {
  SmallVector<Value> work{v};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<math::ExpOp, math::Exp2Op, math::ExpM1Op, math::PowFOp>(op))
      return true;
    // A broadcast is a parameter.
    if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
      work.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Lets a division be one by an estimated reciprocal; LLVM takes estimates only
/// where nothing is said to be infinite.
static void relax(arith::DivFOp division) {
  if (!hasExponential(division.getRhs()))
    division.setFastmath(division.getFastmath() | arith::FastMathFlags::arcp |
                         arith::FastMathFlags::ninf);
}

/// Whether what `op` is given is at most 0, or NaN: it was said, or is min(x,
/// c).
static bool isNonPositive(Operation *op) {
  if (op->hasAttr(kNonPositiveAttrName))
    return true;
  auto minimum = op->getOperand(0).getDefiningOp<arith::MinimumFOp>();
  if (!minimum)
    return false;
  return llvm::any_of(minimum->getOperands(), [](Value v) {
    APFloat bound(0.0f);
    return matchPattern(v, m_ConstantFloat(&bound)) &&
           (bound.isZero() || bound.isNegative());
  });
}

namespace {

/// Replaces an operation of one result by what `expand` emits for it.
template <typename Op> class ExpandPattern : public OpRewritePattern<Op> {
public:
  using Expand = Value (*)(Emitter &, Op, ValueRange);

  ExpandPattern(MLIRContext *context, Expand expand, VectorMathOptions options)
      : OpRewritePattern<Op>(context), expand(expand), options(options) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    VectorType working = workingType(type);
    if (!working)
      return rewriter.notifyMatchFailure(op, "not f32 or a fixed vector of it");
    Location loc = op.getLoc();
    Emitter emitter(rewriter, loc, working, options);
    if (type == working) {
      rewriter.replaceOp(op, expand(emitter, op, op->getOperands()));
      return success();
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          vector::BroadcastOp::create(rewriter, loc, working, operand));
    Value result = expand(emitter, op, operands);
    rewriter.replaceOpWithNewOp<vector::ExtractOp>(op, result, int64_t(0));
    return success();
  }

private:
  Expand expand;
  VectorMathOptions options;
};

class ExpandVectorMathPass
    : public attn::impl::ExpandVectorMathPassBase<ExpandVectorMathPass> {
  void runOnOperation() override {
    auto target = getOperation()->getAttrOfType<TargetAttr>(kTargetAttrName);
    VectorMathOptions options;
    options.fast = target && target.getFastMath();
    if (std::optional<CpuLevel> level = targetLevel(getOperation()))
      options.hasScale = level->hasScale;
    if (options.fast)
      getOperation().walk([](arith::DivFOp division) { relax(division); });
    RewritePatternSet patterns(&getContext());
    populateVectorMathPatterns(patterns, options);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    WalkResult result = getOperation().walk([](Operation *op) {
      if (!callsLibrary(op))
        return WalkResult::advance();
      op->emitError() << "no expansion without the math library: only f32 and "
                         "fixed vectors of it are supported, and only constant "
                         "exponents of math.fpowi";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

namespace {

/// Adds a pattern an operation, all with the same options.
class Patterns {
public:
  Patterns(RewritePatternSet &set, VectorMathOptions options)
      : set(set), options(options) {}

  template <typename Op> void add(typename ExpandPattern<Op>::Expand expand) {
    set.add<ExpandPattern<Op>>(set.getContext(), expand, options);
  }
  template <typename Op, Value (*expand)(Emitter &, Value)> void addUnary() {
    add<Op>([](Emitter &e, Op, ValueRange x) { return expand(e, x[0]); });
  }

private:
  RewritePatternSet &set;
  VectorMathOptions options;
};

} // namespace

void attn::populateVectorMathPatterns(RewritePatternSet &set,
                                      VectorMathOptions options) {
  populateConstantPowerPatterns(set);
  Patterns patterns(set, options);
  patterns.add<math::ExpOp>([](Emitter &e, math::ExpOp op, ValueRange x) {
    return expandExp(e, x[0], isNonPositive(op));
  });
  patterns.add<math::Exp2Op>([](Emitter &e, math::Exp2Op op, ValueRange x) {
    return expandExp2(e, x[0], isNonPositive(op));
  });
  patterns.add<math::PowFOp>([](Emitter &e, math::PowFOp, ValueRange x) {
    return expandPow(e, x[0], x[1]);
  });
  patterns.add<math::FmaOp>([](Emitter &e, math::FmaOp, ValueRange x) {
    return e.fma(x[0], x[1], x[2]);
  });
  patterns.addUnary<math::ExpM1Op, expandExpm1>();
  patterns.addUnary<math::TanhOp, expandTanh>();
  patterns.addUnary<math::LogOp, expandLog>();
  patterns.addUnary<math::Log2Op, expandLog2>();
  patterns.addUnary<math::Log1pOp, expandLog1p>();
  patterns.addUnary<math::SinOp, expandSin>();
  patterns.addUnary<math::CosOp, expandCos>();
}
