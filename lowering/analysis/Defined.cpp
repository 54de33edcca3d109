//===- Defined.cpp - where kappa is not defined ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Defined.h"

#include "lowering/analysis/ExpressionText.h"
#include "lowering/analysis/PointEvaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {
/// An operand that must not be 0, not be negative, or neither.
struct Obligation {
  Value operand;
  bool zeroAllowed, negativeAllowed;
  const char *role;
};
} // namespace

static SmallVector<Obligation> obligationsOf(AttentionOp op,
                                             ValueRangeAnalysis &ranges) {
  SmallVector<Obligation> list;
  op.getKappa().walk([&](Operation *inner) {
    Obligation one = {{}, false, false, ""};
    if (auto quotient = dyn_cast<arith::DivFOp>(inner))
      one = {quotient.getRhs(), false, true, "a divisor"};
    else if (auto log = dyn_cast<math::LogOp>(inner))
      one = {log.getOperand(), false, false, "the argument of log"};
    else if (auto root = dyn_cast<math::SqrtOp>(inner))
      one = {root.getOperand(), true, false, "the argument of sqrt"};
    else if (auto power = dyn_cast<math::FPowIOp>(inner)) {
      if (ranges.scalar(power.getRhs()).hi < 0)
        one = {power.getLhs(), false, true, "the base of a negative power"};
    } else if (auto power = dyn_cast<math::PowFOp>(inner)) {
      bool zero = ranges.scalar(power.getRhs()).isNonNegative();
      one = {power.getLhs(), zero, false, "the base of a power"};
    }
    if (!one.operand)
      return;
    Interval range = ranges.scalar(one.operand);
    bool fine = one.zeroAllowed ? range.isNonNegative()
                : range.isPositive()
                    ? true
                    : one.negativeAllowed && range.isNegative();
    if (!fine)
      list.push_back(one);
  });
  return list;
}

static bool jumps(Operation *op) {
  return isa<arith::SelectOp, math::FloorOp, arith::CmpFOp, arith::CmpIOp,
             arith::DivFOp, math::LogOp, arith::FPToSIOp, math::PowFOp>(op);
}

/// Whether a value of kappa moves without jumps where the inputs do, rows of 0
/// apart: without those the rows of two coordinates or more are connected.
static bool isContinuous(AttentionOp op, Value root) {
  bool continuous = true;
  for (Region *map : {&op.getQueryMap(), &op.getKeyMap()})
    map->walk([&](Operation *inner) { continuous &= !jumps(inner); });
  SmallVector<Value> work = {root};
  DenseSet<Value> seen;
  while (continuous && !work.empty()) {
    Operation *inner = work.pop_back_val().getDefiningOp();
    if (!inner)
      continue;
    inner->walk([&](Operation *nested) { continuous &= !jumps(nested); });
    for (Value operand : inner->getOperands())
      if (seen.insert(operand).second)
        work.push_back(operand);
  }
  return continuous;
}

Undefined attn::findUndefined(AttentionOp op, ValueRangeAnalysis &ranges) {
  Undefined result;
  SmallVector<Obligation> obligations = obligationsOf(op, ranges);
  if (obligations.empty())
    return result;
  auto lengthOf = [](Value input) -> size_t {
    int64_t length = cast<MemRefType>(input.getType()).getDimSize(3);
    return length == ShapedType::kDynamic ? 2 : static_cast<size_t>(length);
  };
  size_t lengths[2] = {lengthOf(op.getQuery()), lengthOf(op.getKey())};
  bool equal = lengths[0] == lengths[1];
  constexpr int patterns = 5;
  const char *names[patterns] = {"q = k", "q = 0", "k = -q", "random rows",
                                 "q = k = 0"};
  int tries = affordableTries(op);
  std::mt19937_64 random(3);
  constexpr int draws = 4;
  for (int trial = 0; trial < tries; ++trial) {
    int pattern = trial % patterns;
    std::normal_distribution<> normal(0, std::ldexp(1.0, trial / 8 % 4 - 1));
    PointEvaluator::Row q(lengths[0]), k(lengths[1]);
    for (double &x : q)
      x = pattern == 1 || pattern == 4 ? 0 : normal(random);
    for (size_t d = 0; d < k.size(); ++d)
      k[d] = pattern == 4            ? 0
             : pattern == 0 && equal ? q[d]
             : pattern == 2 && equal ? -q[d]
                                     : normal(random);
    PointEvaluator point(static_cast<uint64_t>(trial / (patterns * 2) % draws));
    point.setAtBounds(trial / patterns % 2 == 0);
    double kappa = point.kappa(op, q, k);
    for (auto [n, one] : llvm::enumerate(obligations)) {
      if (one.operand.getParentRegion() != &op.getKappa())
        continue; // inside a map: many values, seen through kappa alone
      double x = point.scalar(one.operand);
      bool bad = (x == 0 && !one.zeroAllowed) ||
                 (x < -1e-9 * point.largest() && !one.negativeAllowed);
      // A choice may have discarded it.
      if (!bad || std::isfinite(kappa))
        continue;
      llvm::raw_string_ostream stream(result.reason);
      stream << describe(one.operand) << ", " << one.role << ", is "
             << llvm::format("%.3g", x) << " at " << names[pattern];
      if (point.usedBounds())
        stream << " with parameters at their bounds";
      result.culprit = one.operand;
      return result;
    }
  }
  // A divisor of both signs is 0 in between.
  for (Obligation &one : obligations) {
    if (one.zeroAllowed || !one.negativeAllowed ||
        one.operand.getParentRegion() != &op.getKappa() || lengths[0] < 2 ||
        lengths[1] < 2 || !isContinuous(op, one.operand))
      continue;
    bool selected = llvm::any_of(op.getKappa().front(), [](Operation &inner) {
      return isa<arith::SelectOp>(inner);
    });
    std::optional<double> low, high;
    PointEvaluator point(7);
    std::mt19937_64 rows(7);
    for (int trial = 0; trial < tries && !selected; ++trial) {
      std::normal_distribution<> normal(0, std::ldexp(1.0, trial % 6 - 1));
      PointEvaluator::Row q(lengths[0]), k(lengths[1]);
      for (double &x : q)
        x = normal(rows);
      for (size_t d = 0; d < k.size(); ++d)
        k[d] = trial % 3 == 1 && equal   ? q[d]
               : trial % 3 == 2 && equal ? -q[d]
                                         : normal(rows);
      point.kappa(op, q, k);
      double x = point.scalar(one.operand);
      double slack = 1e-9 * point.largest();
      if (x < -slack)
        low = x;
      if (x > slack)
        high = x;
    }
    if (!low || !high)
      continue;
    llvm::raw_string_ostream stream(result.reason);
    stream << describe(one.operand) << ", " << one.role << ", is "
           << llvm::format("%.3g", *low) << " at some rows and "
           << llvm::format("%.3g", *high) << " at others, so 0 in between";
    result.culprit = one.operand;
    return result;
  }
  for (Obligation &one : obligations)
    result.unproven.push_back(describe(one.operand) + ", " + one.role +
                              ", in " + ranges.scalar(one.operand).str());
  return result;
}
