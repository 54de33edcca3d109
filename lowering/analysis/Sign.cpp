//===- Sign.cpp - whether kappa is non-negative (S7) ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Sign.h"

#include "lowering/analysis/Declarations.h"
#include "lowering/analysis/ExpressionText.h"
#include "lowering/analysis/PointEvaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Yes: the rule and what it assumes
//===----------------------------------------------------------------------===//

static std::string ruleFor(Operation *op, ValueRangeAnalysis &ranges) {
  bool square =
      op->getNumOperands() == 2 && op->getOperand(0) == op->getOperand(1);
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<math::ExpOp, math::Exp2Op>([](auto) { return "exp is positive"; })
      .Case([](math::FPowIOp) {
        return "an even power, or a power of a non-negative base";
      })
      .Case([](math::PowFOp) { return "a power of a non-negative base"; })
      .Case([&](arith::MulFOp) {
        return square ? "a square" : "a product of factors of one sign";
      })
      .Case([](arith::DivFOp) {
        return "a quotient of a non-negative by a positive expression";
      })
      .Case([](arith::AddFOp) { return "a sum that is non-negative"; })
      .Case([](arith::SubFOp) { return "a difference that is non-negative"; })
      .Case([](DotOp) {
        return "a dot of non-negative rows, or of a row with itself";
      })
      .Case([](SqDistOp) { return "a squared distance"; })
      .Case([](SqNormOp) { return "a squared norm"; })
      .Case([&](arith::MaximumFOp) {
        return llvm::any_of(op->getOperands(),
                            [&](Value operand) {
                              return ranges.scalar(operand).isNonNegative();
                            })
                   ? "a maximum with a non-negative expression"
                   : "the larger of two expressions whose sum is non-negative";
      })
      .Case([](arith::SelectOp) { return "both choices are non-negative"; })
      .Case<math::SqrtOp, math::AbsFOp>(
          [](auto) { return "a root or an absolute value"; })
      .Case([](memref::LoadOp) { return "a parameter"; })
      .Case([](arith::ConstantOp) { return "a constant"; })
      .Default([](Operation *op) {
        return describe(op->getResult(0)) + " is non-negative here";
      });
}

/// The declared bounds of all parameters that `root` depends on: `b >= 0`.
static std::string assumptionsOf(Value root) {
  llvm::SetVector<Value> seen;
  llvm::SetVector<ArgAttr> declared;
  auto visit = [&](Value value) {
    if (isa<MemRefType>(value.getType())) {
      ArgAttr declaration = declarationOf(value);
      if (declaration && declaration.getRelop())
        declared.insert(declaration);
    } else {
      seen.insert(value);
    }
  };
  visit(root);
  for (size_t n = 0; n < seen.size(); ++n) {
    if (auto argument = dyn_cast<BlockArgument>(seen[n])) {
      if (Value mapped = mappedRowOfArgument(argument))
        visit(mapped);
      continue;
    }
    Operation *op = seen[n].getDefiningOp();
    for (Value operand : op->getOperands())
      visit(operand);
    if (auto map = dyn_cast<MapOp>(op))
      visit(map.getBody().front().getTerminator()->getOperand(0));
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (ArgAttr declaration : declared)
    stream << "; " << declaration.getName().getValue() << " "
           << declaration.getRelop().getValue() << " "
           << llvm::format("%g", declaration.getBound().getValueAsDouble())
           << ", declared";
  return text;
}

//===----------------------------------------------------------------------===//
// No: a counterexample
//===----------------------------------------------------------------------===//

/// Evaluates kappa at opposite, random and equal rows; text if it is negative
/// by more than rounding.
static std::string findCounterexample(AttentionOp op, Value culprit) {
  auto rowLength = [](Value input) {
    auto type = cast<MemRefType>(input.getType());
    constexpr int64_t any = 2, longest = 4096;
    int64_t length = type.getDimSize(3);
    return length == ShapedType::kDynamic ? any : std::min(length, longest);
  };
  int64_t lengths[2] = {rowLength(op.getQuery()), rowLength(op.getKey())};
  int tries = affordableTries(op);
  const char *names[] = {"k = -q", "k = q", "k = -q/4", "random rows"};
  std::mt19937_64 random(1);
  for (int t = 0; t < tries; ++t) {
    int pattern = lengths[0] == lengths[1] ? t % 4 : 3;
    double scale = std::ldexp(1.0, t / 4 % 4 - 1);
    PointEvaluator::Row q(lengths[0]), k(lengths[1]);
    std::normal_distribution<> normal(0, scale);
    for (double &x : q)
      x = normal(random);
    for (size_t d = 0; d < k.size(); ++d)
      k[d] = pattern == 0   ? -q[d]
             : pattern == 1 ? q[d]
             : pattern == 2 ? -q[d] / 4
                            : normal(random);
    PointEvaluator point(random());
    double value = point.kappa(op, q, k);
    if (!(value < -1e-9 * std::max(1.0, point.largest())) || std::isinf(value))
      continue;
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "kappa = " << llvm::format("%.3g", value);
    Value kappa = op.getKappa().front().getTerminator()->getOperand(0);
    if (culprit && culprit != kappa && culprit.getType().isF32() &&
        culprit.getParentRegion() == &op.getKappa())
      stream << " at " << describe(culprit) << " = "
             << llvm::format("%.3g", point.scalar(culprit));
    stream << " (" << names[pattern] << ")";
    return text;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The culprit
//===----------------------------------------------------------------------===//

/// Descends from an expression that is not proven non-negative to the part
/// that spoils it.
static Value findCulprit(Value value, ValueRangeAnalysis &ranges) {
  for (;;) {
    Operation *op = value.getDefiningOp();
    Value next;
    auto firstSigned = [&](ValueRange operands) {
      for (Value operand : operands)
        if (!ranges.scalar(operand).isNonNegative())
          return operand;
      return Value();
    };
    if (auto power = dyn_cast_or_null<math::FPowIOp>(op))
      next = firstSigned(power.getLhs());
    else if (auto power = dyn_cast_or_null<math::PowFOp>(op))
      next = firstSigned(power.getLhs());
    else if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
      next = firstSigned({select.getTrueValue(), select.getFalseValue()});
    else if (isa_and_nonnull<arith::MulFOp, arith::DivFOp, arith::AddFOp,
                             arith::MinimumFOp, arith::MaximumFOp>(op))
      next = firstSigned(op->getOperands());
    // A difference or a negation is its own culprit: its parts may be fine.
    if (!next || next.getDefiningOp<arith::ConstantOp>())
      return value;
    value = next;
  }
}

SignVerdict attn::decideSign(AttentionOp op, ValueRangeAnalysis &ranges) {
  Value kappa = op.getKappa().front().getTerminator()->getOperand(0);
  Interval range = ranges.scalar(kappa);
  Operation *definition = kappa.getDefiningOp();
  if (range.isNonNegative())
    return {
        Verdict::Yes,
        (definition ? ruleFor(definition, ranges) : std::string("constant")) +
            ": kappa in " + range.str() + assumptionsOf(kappa),
        {}};
  // What a pass has made of kappa it may know a theorem about.
  if (FeaturesAttr features = op.getFeaturesAttr())
    if (features.getApplied() && features.getSignReason())
      return {Verdict::Yes,
              features.getSignReason().str() + assumptionsOf(kappa),
              {}};
  Value culprit = findCulprit(kappa, ranges);
  if (std::string found = findCounterexample(op, culprit); !found.empty())
    return {Verdict::No, found, culprit};
  return {Verdict::Unproven,
          describe(culprit) + " in " + ranges.scalar(culprit).str() +
              " is not proven non-negative",
          culprit};
}
