//===- IssueLicence.cpp - prove what kappa is and record it ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"

#include "lowering/analysis/Defined.h"
#include "lowering/analysis/ExpressionText.h"
#include "lowering/analysis/Gauge.h"
#include "lowering/analysis/LinearLicence.h"
#include "lowering/analysis/Sign.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

namespace attn {
#define GEN_PASS_DEF_ISSUELICENCEPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

LogicalResult attn::verifyDomains(AttentionOp attention,
                                  ValueRangeAnalysis &ranges) {
  WalkResult result = attention.walk([&](Operation *op) {
    if (auto power = dyn_cast<math::PowFOp>(op)) {
      Value base = power.getLhs();
      if (ranges.scalar(base).isNonNegative())
        return WalkResult::advance();
      power.emitError() << "the base of ^" << describe(power.getRhs())
                        << " is not proven non-negative: " << describe(base)
                        << " can be negative; square it, take `abs`, declare a "
                           "bound, or use a constant integer power";
      return WalkResult::interrupt();
    }
    if (auto log = dyn_cast<math::LogOp>(op))
      if (ranges.scalar(log.getOperand()).isNonPositive()) {
        log.emitError() << "the logarithm of " << describe(log.getOperand())
                        << " is undefined: it is never positive";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// S7, and the results that are made of log kappa.
static LogicalResult verifySign(AttentionOp op, const SignVerdict &verdict) {
  if (verdict.nonnegative == Verdict::Yes)
    return success();
  StringRef needs, remedy;
  if (op.getNormalize() == Normalize::Mass && !op.getAllowSigned()) {
    needs = "";
    remedy = "write `allow signed`, square it, or use `normalize = none`";
  } else if (op.wants(Result::Lse)) {
    needs = "`lse` is the logarithm of the mass: ";
    remedy = "do not return `lse`, or square it";
  } else if (op.wants(Result::Entropy)) {
    needs = "`entropy` is of weights that are a distribution: ";
    remedy = "do not return `entropy`, or square it";
  } else {
    return success();
  }
  InFlightDiagnostic error = emitError(verdict.culprit.getLoc())
                             << needs << "kappa is not proven non-negative: "
                             << describe(verdict.culprit)
                             << " can be negative; " << remedy;
  if (verdict.nonnegative == Verdict::No)
    error.attachNote(op.getLoc()) << "a counterexample: " << verdict.reason;
  return failure();
}

namespace {
class IssueLicence : public attn::impl::IssueLicencePassBase<IssueLicence> {
  void runOnOperation() override {
    // Equal expressions are one value afterwards: `s * s` is seen as a square
    // even where the spec writes `dot(q, k)` twice.
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());

    WalkResult result = getOperation().walk([&](AttentionOp op) {
      ValueRangeAnalysis ranges;
      if (failed(verifyDomains(op, ranges)))
        return WalkResult::interrupt();
      SignVerdict sign = decideSign(op, ranges);
      if (failed(verifySign(op, sign)))
        return WalkResult::interrupt();
      Value kappa = op.getKappa().front().getTerminator()->getOperand(0);
      GaugeVerdict gauge = decideGauge(kappa);
      // Before row lengths are known nothing is scheduled, and ranks are not
      // numbers.
      bool sized = op.getMappedRow(0).hasStaticLength() &&
                   op.getMappedRow(1).hasStaticLength() &&
                   op.getMappedRow(2).hasStaticLength();
      LinearLicence linear = sized ? licenseLinear(op) : LinearLicence();
      auto text = [&](const std::string &reason) {
        return reason.empty() ? StringAttr() : rewriter.getStringAttr(reason);
      };
      op.setLicenceAttr(LicenceAttr::get(
          &getContext(), sign.nonnegative, rewriter.getStringAttr(sign.reason),
          gauge.gauge, rewriter.getStringAttr(gauge.reason), linear.scan,
          linear.rank, text(linear.reason)));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
