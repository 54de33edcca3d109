//===- Gauge.cpp - kappa as 2^e times a moderate factor (S6) --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Gauge.h"

#include "lowering/analysis/Degree.h"
#include "lowering/analysis/GaugeEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

/// A value as a sum of terms 2^exponent * factor; one term unless it is a sum
/// that nothing has used yet as a whole.
struct Split {
  SmallVector<GaugeTerm, 1> terms;
  double degree = 0; ///< of the factor in the rows
  bool rows = false; ///< depends on q or k
  /// At least a positive constant plus exponentials: 1 / it is bounded.
  bool boundedBelow = false;

  bool isAlgebraic() const { return terms.size() == 1 && !terms[0].exponent; }
};

/// Sums longer than this are joined pairwise.
constexpr size_t kMaxTerms = 16;

class Splitter {
public:
  explicit Splitter(OpBuilder &builder, Value kappa)
      : emit(builder, kappa.getLoc(), ranges), block(kappa.getParentBlock()) {}

  GaugeTerm run(Value kappa);
  bool sawHighPower() const { return highPower; }

private:
  Split compute(Operation *op);
  Split leaf(Value value, double degree, bool rows) {
    return {{{Value(), value}}, degree, rows, false};
  }
  const Split &of(Value value) { return splits.find(value)->second; }
  bool allAlgebraic(Operation *op);
  Split algebraic(Operation *op);
  GaugeTerm whole(const Split &split) { return emit.sum(split.terms); }
  /// The factor divided by a running power of two, which joins the exponent.
  GaugeTerm normalized(GaugeTerm term);

  Split product(Operation *op);
  Split quotient(Operation *op);
  Split sum(Operation *op, bool negateRight);
  Split power(Operation *op, Value base, std::optional<double> exponent,
              Value exponentValue);
  Split extremum(Operation *op, bool isMax);
  Split select(arith::SelectOp op);

  ValueRangeAnalysis ranges;
  GaugeEmitter emit;
  Block *block;
  llvm::DenseMap<Value, Split> splits;
  bool highPower = false;
};

} // namespace

/// f32 operands: what a split looks through.
static bool isReal(Value value) { return value.getType().isF32(); }

GaugeTerm Splitter::run(Value kappa) {
  // An explicit stack: kernels made by programs are deep.
  SmallVector<std::pair<Value, bool>> stack = {{kappa, false}};
  while (!stack.empty()) {
    auto [value, ready] = stack.pop_back_val();
    if (splits.contains(value))
      continue;
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block) {
      splits.try_emplace(value, leaf(value, 0, false));
    } else if (ready) {
      Split split = compute(op);
      splits.try_emplace(value, std::move(split));
    } else {
      stack.push_back({value, true});
      for (Value operand : op->getOperands())
        if (isReal(operand))
          stack.push_back({operand, false});
    }
  }
  return whole(of(kappa));
}

bool Splitter::allAlgebraic(Operation *op) {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return !isReal(operand) || of(operand).isAlgebraic();
  });
}

/// The operation as it stands; the degree of a sum or of a monotone function.
Split Splitter::algebraic(Operation *op) {
  Split split = leaf(op->getResult(0), 0, false);
  for (Value operand : op->getOperands())
    if (isReal(operand)) {
      split.degree = std::max(split.degree, of(operand).degree);
      split.rows |= of(operand).rows;
    }
  return split;
}

GaugeTerm Splitter::normalized(GaugeTerm term) {
  highPower = true;
  GaugeTerm split = emit.runningPower(term.factor);
  return {emit.add(term.exponent, split.exponent), split.factor};
}

Split Splitter::product(Operation *op) {
  const Split &a = of(op->getOperand(0)), &b = of(op->getOperand(1));
  Split result;
  result.degree = a.degree + b.degree;
  result.rows = a.rows || b.rows;
  bool high = result.degree > kHighDegree;
  if (allAlgebraic(op) && !high) {
    result.terms = {{Value(), op->getResult(0)}};
    return result;
  }
  GaugeTerm x = whole(a), y = whole(b);
  if (high) {
    if (a.degree > 0 && x.factor)
      x = normalized(x);
    if (b.degree > 0 && y.factor)
      y = normalized(y);
    result.degree = 0;
  }
  result.terms = {
      {emit.add(x.exponent, y.exponent), emit.mul(x.factor, y.factor)}};
  return result;
}

Split Splitter::quotient(Operation *op) {
  const Split &a = of(op->getOperand(0)), &b = of(op->getOperand(1));
  // 1 / (1 + exp(-x)) and its like are bounded and need no gauge.
  if (allAlgebraic(op) || (a.isAlgebraic() && b.boundedBelow))
    return algebraic(op);
  GaugeTerm x = whole(a), y = whole(b);
  Split result;
  result.degree = std::max(a.degree, b.degree);
  result.rows = a.rows || b.rows;
  result.terms = {
      {emit.sub(x.exponent, y.exponent), emit.div(x.factor, y.factor)}};
  return result;
}

Split Splitter::sum(Operation *op, bool negateRight) {
  const Split &a = of(op->getOperand(0)), &b = of(op->getOperand(1));
  Split result = algebraic(op);
  auto positive = [&](Value value) { // by more than nothing, and no exponential
    return of(value).isAlgebraic() && ranges.scalar(value).lo > 0;
  };
  auto exponential = [&](Value value) {
    return ranges.scalar(value).isNonNegative() && !of(value).isAlgebraic();
  };
  Value x = op->getOperand(0), y = op->getOperand(1);
  result.boundedBelow =
      !negateRight &&
      ((positive(x) && exponential(y)) || (positive(y) && exponential(x)) ||
       (a.boundedBelow && ranges.scalar(y).isNonNegative()) ||
       (b.boundedBelow && ranges.scalar(x).isNonNegative()));
  if (allAlgebraic(op))
    return result;
  auto terms = [&](const Split &split) {
    return split.terms.size() < kMaxTerms
               ? split.terms
               : SmallVector<GaugeTerm, 1>{whole(split)};
  };
  result.terms.clear();
  for (GaugeTerm term : terms(a))
    if (!emit.isZero(term))
      result.terms.push_back(term);
  for (GaugeTerm term : terms(b))
    if (!emit.isZero(term))
      result.terms.push_back(
          {term.exponent, negateRight ? emit.neg(term.factor) : term.factor});
  return result;
}

Split Splitter::power(Operation *op, Value baseValue, std::optional<double> n,
                      Value exponentValue) {
  const Split &base = of(baseValue);
  bool integer = isa<math::FPowIOp>(op);
  Split result;
  result.rows = base.rows || (!integer && of(exponentValue).rows);
  if (base.isAlgebraic() && n && base.degree * std::fabs(*n) <= kHighDegree) {
    result.terms = {{Value(), op->getResult(0)}};
    result.degree = base.degree * std::fabs(*n);
    return result;
  }
  GaugeTerm x = whole(base);
  if (!n) {
    // g^(i - j): the exponent may be anything, so all of the power goes there.
    Value factor = emit.scale(emit.log2(x.factor), exponentValue);
    result.terms = {
        {emit.add(emit.scale(x.exponent, exponentValue), factor), Value()}};
    return result;
  }
  bool high = base.degree * std::fabs(*n) > kHighDegree;
  GaugeTerm y = {Value(), x.factor};
  if (x.factor && high) {
    highPower = true;
    y = emit.highPower(x.factor, *n, integer);
  } else if (x.factor) {
    y.factor = integer ? emit.integerPower(x.factor, static_cast<int64_t>(*n))
                       : emit.realPower(x.factor, exponentValue);
    result.degree = base.degree * std::fabs(*n);
  }
  result.terms = {{emit.add(emit.scale(x.exponent, *n), y.exponent), y.factor}};
  return result;
}

Split Splitter::extremum(Operation *op, bool isMax) {
  if (allAlgebraic(op))
    return algebraic(op);
  Split result = algebraic(op);
  GaugeTerm x = whole(of(op->getOperand(0))), y = whole(of(op->getOperand(1)));
  for (auto [one, other] : {std::pair{x, y}, std::pair{y, x}})
    if (emit.isZero(other)) { // no exponent to share with a zero
      result.terms = {
          {one.exponent, emit.extremum(one.factor, emit.zero(), isMax)}};
      return result;
    }
  if (!x.factor && !y.factor) { // monotone in the exponent alone
    result.terms = {
        {emit.extremum(emit.orZero(x.exponent), emit.orZero(y.exponent), isMax),
         Value()}};
    return result;
  }
  bool smaller = !isMax && ranges.scalar(op->getOperand(0)).isNonNegative() &&
                 ranges.scalar(op->getOperand(1)).isNonNegative();
  Value exponent =
      emit.extremum(emit.orZero(x.exponent), emit.orZero(y.exponent), !smaller);
  result.terms = {{exponent, emit.extremum(emit.rescaled(x, exponent),
                                           emit.rescaled(y, exponent), isMax)}};
  return result;
}

Split Splitter::select(arith::SelectOp op) {
  Split result = algebraic(op);
  if (allAlgebraic(op))
    return result;
  GaugeTerm x = whole(of(op.getTrueValue())), y = whole(of(op.getFalseValue()));
  result.terms = {emit.select(op.getCondition(), x, y)};
  return result;
}

Split Splitter::compute(Operation *op) {
  Value value = op->getResult(0);
  auto one = [&](Value exponent, Value factor, const Split &like) {
    Split split = like;
    split.terms = {{exponent, factor}};
    split.boundedBelow = false;
    return split;
  };
  if (ranges.constant(value))
    return leaf(value, 0, false);
  return llvm::TypeSwitch<Operation *, Split>(op)
      .Case<DotOp, SqDistOp, SqNormOp>(
          [&](auto) { return leaf(value, pairDegree(op), true); })
      .Case([&](arith::MulFOp) { return product(op); })
      .Case([&](arith::DivFOp) { return quotient(op); })
      .Case([&](arith::AddFOp) { return sum(op, false); })
      .Case([&](arith::SubFOp) { return sum(op, true); })
      .Case([&](arith::MaximumFOp) { return extremum(op, true); })
      .Case([&](arith::MinimumFOp) { return extremum(op, false); })
      .Case([&](arith::SelectOp op) { return select(op); })
      .Case([&](math::FPowIOp power) {
        return this->power(op, power.getLhs(), ranges.constant(power.getRhs()),
                           power.getRhs());
      })
      .Case([&](math::PowFOp power) {
        return this->power(op, power.getLhs(), ranges.constant(power.getRhs()),
                           power.getRhs());
      })
      .Case([&](math::ExpOp exp) {
        Split split = leaf(value, 0, of(exp.getOperand()).rows);
        split.terms = {{emit.exponent(exp.getOperand(), M_LOG2E), Value()}};
        return split;
      })
      .Case([&](math::Exp2Op exp) {
        Split split = leaf(value, 0, of(exp.getOperand()).rows);
        split.terms = {{exp.getOperand(), Value()}};
        return split;
      })
      .Case([&](math::ExpM1Op expm1) {
        Split split = leaf(value, 0, of(expm1.getOperand()).rows);
        if (ranges.scalar(expm1.getOperand()).hi > kGaugeFreeExponent)
          split.terms = {emit.expm1(expm1.getOperand())};
        return split;
      })
      .Case<math::LogOp, math::Log1pOp, math::TanhOp, math::SinOp, math::CosOp>(
          [&](auto) {
            const Split &x = of(op->getOperand(0));
            Split split = leaf(value, 0, x.rows);
            if (isa<math::LogOp>(op) && !x.isAlgebraic())
              split.terms = {{Value(), emit.log(whole(x))}};
            return split;
          })
      .Case<arith::NegFOp, math::AbsFOp, math::SqrtOp>([&](auto) {
        const Split &x = of(op->getOperand(0));
        if (x.isAlgebraic()) {
          Split split = algebraic(op);
          if (isa<math::SqrtOp>(op))
            split.degree /= 2;
          return split;
        }
        GaugeTerm term = whole(x);
        if (isa<arith::NegFOp>(op))
          return one(term.exponent, emit.neg(term.factor), x);
        if (isa<math::AbsFOp>(op))
          return one(term.exponent, emit.abs(term.factor), x);
        return one(emit.scale(term.exponent, 0.5), emit.sqrt(term.factor), x);
      })
      .Default([&](Operation *) {
        Split split = algebraic(op);
        if (!isa<math::FloorOp>(op))
          split.degree = 0;
        return split;
      });
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

FailureOr<GaugeSplit> attn::splitGauge(Value kappa, OpBuilder &builder) {
  if (!isReal(kappa) || !kappa.getParentBlock()->mightHaveTerminator())
    return failure();
  builder.setInsertionPoint(kappa.getParentBlock()->getTerminator());
  GaugeTerm term = Splitter(builder, kappa).run(kappa);
  return GaugeSplit{term.exponent, term.factor};
}

GaugeVerdict attn::decideGauge(Value kappa) {
  if (!isReal(kappa) || !kappa.getParentBlock()->mightHaveTerminator())
    return {Gauge::None, "kappa is constant"};
  Operation *terminator = kappa.getParentBlock()->getTerminator();
  Operation *last = terminator->getPrevNode();
  OpBuilder builder(terminator);
  Splitter splitter(builder, kappa);
  GaugeTerm term = splitter.run(kappa);

  GaugeVerdict verdict = {Gauge::None, "algebraic: e = 0"};
  if (term.exponent) {
    Interval e =
        ValueRangeAnalysis().scalar(term.exponent) * Interval::point(M_LN2);
    bool bounded = e.lo >= -kGaugeFreeExponent && e.hi <= kGaugeFreeExponent;
    if (splitter.sawHighPower())
      verdict = {Gauge::Max, "a power of degree above 4 in the rows"};
    else if (bounded)
      verdict.reason = "e in " + e.str() + ", so |e| <= 60";
    else
      verdict = {Gauge::Max, "e in " + e.str() + ": |e| <= 60 is not proven"};
  }
  while (terminator->getPrevNode() != last)
    terminator->getPrevNode()->erase();
  return verdict;
}
