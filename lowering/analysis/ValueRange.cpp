//===- ValueRange.cpp - the values a kernel's expressions can take --------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/ValueRange.h"

#include "lowering/analysis/Declarations.h"
#include "lowering/analysis/PolynomialRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Where values come from
//===----------------------------------------------------------------------===//

/// The row of a map that an argument of its body ranges over.
static Value mappedOperand(BlockArgument argument) {
  auto map = dyn_cast_or_null<MapOp>(argument.getOwner()->getParentOp());
  return map ? map.getRows()[argument.getArgNumber()] : Value();
}

static void appendDependencies(Value value, SmallVectorImpl<Value> &list) {
  auto append = [&](Value v) {
    if (v && !isa<MemRefType>(v.getType()))
      list.push_back(v);
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    append(mappedRowOfArgument(argument));
    append(mappedOperand(argument));
    return;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    append(operand);
  if (auto map = dyn_cast<MapOp>(op))
    append(yieldedRow(map.getBody()));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    if (Operation *condition = select.getCondition().getDefiningOp())
      for (Value operand : condition->getOperands())
        append(operand);
}

static bool isExtremum(Operation *op) {
  return isa_and_nonnull<arith::MaximumFOp, arith::MaxSIOp, arith::MinimumFOp,
                         arith::MinSIOp>(op);
}

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

void ValueRangeAnalysis::evaluate(Value root) {
  SmallVector<std::pair<Value, bool>> stack = {{root, false}};
  SmallVector<Value> dependencies;
  while (!stack.empty()) {
    auto [value, ready] = stack.pop_back_val();
    if (facts.contains(value))
      continue;
    if (ready) {
      if (isa<RowType>(value.getType())) {
        facts[value] = computeRow(value);
        continue;
      }
      Interval range = computeScalar(value);
      facts[value] = {range, {}};
      bool signKnown = range.isNonNegative() || range.isNonPositive();
      if (!signKnown && polynomialBudget > 0) {
        if (isWholePolynomial(value))
          range =
              intersect(range, polynomialSign(value, *this, polynomialBudget));
        else if (isExtremum(value.getDefiningOp()))
          range = intersect(range, extremumSign(value.getDefiningOp()));
        facts[value] = {range, {}};
      }
      continue;
    }
    stack.push_back({value, true});
    dependencies.clear();
    appendDependencies(value, dependencies);
    for (Value dependency : dependencies)
      if (!facts.contains(dependency))
        stack.push_back({dependency, false});
  }
}

/// The larger of a and b is at least, the smaller one at most their mean: that
/// of x and -x is 0.
Interval ValueRangeAnalysis::extremumSign(Operation *op) {
  Interval sum = polynomialSign(op->getOperands(), *this, polynomialBudget);
  if (isa<arith::MaximumFOp, arith::MaxSIOp>(op))
    return sum.isPositive()      ? Interval::above(0)
           : sum.isNonNegative() ? Interval::atLeast(0)
                                 : Interval::all();
  return -(sum.isNegative()      ? Interval::above(0)
           : sum.isNonPositive() ? Interval::atLeast(0)
                                 : Interval::all());
}

Interval ValueRangeAnalysis::scalar(Value value) {
  auto known = facts.find(value);
  if (known == facts.end()) {
    evaluate(value);
    known = facts.find(value);
  }
  return known->second.coordinate;
}

RowRange ValueRangeAnalysis::row(Value value) {
  auto known = facts.find(value);
  if (known == facts.end()) {
    evaluate(value);
    known = facts.find(value);
  }
  return known->second;
}

std::optional<double> ValueRangeAnalysis::constant(Value value) {
  Interval range = scalar(value);
  double middle = range.lo / 2 + range.hi / 2;
  // Outward rounding makes an interval of sqrt(2); far inside f32's precision
  // that is a number.
  if (range.isFinite() && range.hi - range.lo <= 1e-12 * std::fabs(middle))
    return range.isPoint() ? range.lo : middle;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static Interval constantRange(arith::ConstantOp op) {
  if (auto real = dyn_cast<FloatAttr>(op.getValue())) {
    double value = real.getValueAsDouble();
    return std::isfinite(value) ? Interval::point(value) : Interval::all();
  }
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) {
    if (integer.getType().isInteger(1))
      return Interval::point(integer.getValue().isZero() ? 0 : 1);
    if (integer.getValue().getSignificantBits() > 53)
      return Interval::all(); // not a double
    return Interval::point(
        static_cast<double>(integer.getValue().getSExtValue()));
  }
  return Interval::all();
}

static Interval positionRange(Position position) {
  switch (position) {
  case Position::I:
    return Interval::all(); // an offset may be negative
  case Position::Nq:
  case Position::Nk: // where a pair is, a query and a key are
    return Interval::atLeast(1);
  case Position::J:
  case Position::Head:
  case Position::KvHead:
  case Position::Batch:
    return Interval::atLeast(0);
  }
  return Interval::all();
}

/// The values of `x` for which `x relop bound` holds.
static Interval satisfying(arith::CmpFPredicate predicate, Interval bound) {
  switch (predicate) {
  case arith::CmpFPredicate::OGE:
    return {bound.lo, Interval::kInfinity, bound.loOpen, true};
  case arith::CmpFPredicate::OGT:
    return Interval::above(bound.lo);
  case arith::CmpFPredicate::OLE:
    return {-Interval::kInfinity, bound.hi, true, bound.hiOpen};
  case arith::CmpFPredicate::OLT:
    return Interval::below(bound.hi);
  case arith::CmpFPredicate::OEQ:
    return bound;
  default:
    return Interval::all();
  }
}

static arith::CmpFPredicate swapped(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OGE:
    return arith::CmpFPredicate::OLE;
  case arith::CmpFPredicate::OGT:
    return arith::CmpFPredicate::OLT;
  case arith::CmpFPredicate::OLE:
    return arith::CmpFPredicate::OGE;
  case arith::CmpFPredicate::OLT:
    return arith::CmpFPredicate::OGT;
  default:
    return predicate;
  }
}

static arith::CmpFPredicate negated(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::OGE:
    return arith::CmpFPredicate::OLT;
  case arith::CmpFPredicate::OGT:
    return arith::CmpFPredicate::OLE;
  case arith::CmpFPredicate::OLE:
    return arith::CmpFPredicate::OGT;
  case arith::CmpFPredicate::OLT:
    return arith::CmpFPredicate::OGE;
  case arith::CmpFPredicate::UNE:
    return arith::CmpFPredicate::OEQ;
  default:
    return arith::CmpFPredicate::UNE;
  }
}

/// The range of one arm of a select, given that the condition chose it: in
/// `where(s < 0, -s, s)` both arms are >= 0.
static Interval armRange(ValueRangeAnalysis &ranges, Value arm,
                         arith::CmpFOp condition,
                         arith::CmpFPredicate predicate) {
  Interval range = ranges.scalar(arm);
  for (bool left : {true, false}) {
    Value tested = left ? condition.getLhs() : condition.getRhs();
    Value bound = left ? condition.getRhs() : condition.getLhs();
    Interval allowed =
        satisfying(left ? predicate : swapped(predicate), ranges.scalar(bound));
    auto negation = arm.getDefiningOp<arith::NegFOp>();
    if (tested == arm)
      range = intersect(range, allowed);
    else if (negation && negation.getOperand() == tested)
      range = intersect(range, -allowed);
  }
  return range;
}

static Interval selectRange(ValueRangeAnalysis &ranges, arith::SelectOp op) {
  Interval condition = ranges.scalar(op.getCondition());
  if (condition.isPoint())
    return ranges.scalar(condition.lo != 0 ? op.getTrueValue()
                                           : op.getFalseValue());
  if (auto compare = op.getCondition().getDefiningOp<arith::CmpFOp>())
    return hull(
        armRange(ranges, op.getTrueValue(), compare, compare.getPredicate()),
        armRange(ranges, op.getFalseValue(), compare,
                 negated(compare.getPredicate())));
  return hull(ranges.scalar(op.getTrueValue()),
              ranges.scalar(op.getFalseValue()));
}

/// a - (a floordiv b) * b, the language's `%`: its sign is the divisor's.
static bool matchRemainder(arith::SubIOp op, Value &divisor) {
  auto product = op.getRhs().getDefiningOp<arith::MulIOp>();
  if (!product)
    return false;
  for (bool left : {true, false}) {
    auto quotient = (left ? product.getLhs() : product.getRhs())
                        .getDefiningOp<arith::FloorDivSIOp>();
    divisor = left ? product.getRhs() : product.getLhs();
    if (quotient && quotient.getLhs() == op.getLhs() &&
        quotient.getRhs() == divisor)
      return true;
  }
  return false;
}

/// A size variable of a parameter is at least 1, a length may be 0.
static Interval extentRange(memref::DimOp op) {
  ArgAttr argument = declarationOf(op.getSource());
  std::optional<int64_t> axis = op.getConstantIndex();
  if (!argument || argument.getKind() != ArgKind::Param ||
      !argument.getAxes() || !axis ||
      *axis >= static_cast<int64_t>(argument.getAxes().size()))
    return Interval::atLeast(0);
  StringRef name = cast<StringAttr>(argument.getAxes()[*axis]).getValue();
  return Interval::atLeast(name == "nq" || name == "nk" ? 0 : 1);
}

Interval ValueRangeAnalysis::computeScalar(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value row = mappedOperand(argument);
    return row ? this->row(row).coordinate : Interval::all();
  }
  Operation *op = value.getDefiningOp();
  auto in = [&](unsigned n) { return scalar(op->getOperand(n)); };
  bool square =
      op->getNumOperands() == 2 && op->getOperand(0) == op->getOperand(1);
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case([&](arith::ConstantOp c) { return constantRange(c); })
      .Case([&](memref::LoadOp load) {
        Interval declared = declaredRange(declarationOf(load.getMemRef()));
        auto given = assumed.parameters.find(load.getMemRef());
        return given == assumed.parameters.end()
                   ? declared
                   : intersect(declared, given->second);
      })
      .Case([&](IndexOp index) {
        return assumed.oneSet && index.getPosition() == Position::J
                   ? Interval::all()
                   : positionRange(index.getPosition());
      })
      .Case([&](DimOp dim) { return lengthOf(dim.getRow().getType()); })
      .Case([&](memref::DimOp extent) { return extentRange(extent); })
      .Case([&](DotOp dot) { return dotRange(*this, dot); })
      .Case([&](SqDistOp sqdist) { return sqdistRange(*this, sqdist); })
      .Case([&](SqNormOp norm) { return row(norm.getRow()).sqnorm; })
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) {
        return square ? Interval::point(2) * in(0) : in(0) + in(1);
      })
      .Case([&](arith::SubIOp sub) {
        Value divisor;
        if (matchRemainder(sub, divisor)) {
          Interval b = scalar(divisor);
          if (b.isPositive())
            return Interval::closed(0, b.hi - 1);
        }
        return square ? Interval::point(0) : in(0) - in(1);
      })
      .Case([&](arith::SubFOp) {
        return square ? Interval::point(0) : in(0) - in(1);
      })
      .Case<arith::MulFOp, arith::MulIOp>(
          [&](auto) { return square ? power(in(0), 2) : in(0) * in(1); })
      .Case([&](arith::DivFOp) {
        return square ? Interval::point(1) : in(0) / in(1);
      })
      .Case([&](arith::FloorDivSIOp) { return floor(in(0) / in(1)); })
      .Case([&](arith::NegFOp) { return -in(0); })
      .Case<math::AbsFOp, math::AbsIOp>([&](auto) { return abs(in(0)); })
      .Case<arith::MinimumFOp, arith::MinSIOp>(
          [&](auto) { return min(in(0), in(1)); })
      .Case<arith::MaximumFOp, arith::MaxSIOp>(
          [&](auto) { return max(in(0), in(1)); })
      .Case<arith::IndexCastOp, arith::SIToFPOp, arith::FPToSIOp,
            arith::UIToFPOp, arith::ExtUIOp, arith::ExtSIOp>([&](auto cast) {
        // Of the casts only those of i1 may see a value as unsigned, and the
        // range of an i1 is [0, 1] already.
        bool flag = cast.getOperand().getType().isInteger(1);
        if (isa<arith::ExtSIOp, arith::SIToFPOp>(op) && flag)
          return -in(0);
        if (isa<arith::ExtUIOp, arith::UIToFPOp>(op) && !flag &&
            !in(0).isNonNegative())
          return Interval::atLeast(0);
        return isa<arith::FPToSIOp>(op) ? hull(floor(in(0)), -floor(-in(0)))
                                        : in(0);
      })
      .Case([&](arith::SelectOp select) { return selectRange(*this, select); })
      .Case([&](math::FPowIOp) {
        Interval n = in(1);
        return n.isPoint() ? power(in(0), static_cast<int64_t>(n.lo))
                           : Interval::all();
      })
      .Case([&](math::PowFOp) { return realPower(in(0), in(1)); })
      .Case([&](math::ExpOp) { return exp(in(0)); })
      .Case([&](math::Exp2Op) { return realPower(Interval::point(2), in(0)); })
      .Case([&](math::ExpM1Op) { return expm1(in(0)); })
      .Case([&](math::LogOp) { return log(in(0)); })
      .Case([&](math::Log1pOp) { return log1p(in(0)); })
      .Case([&](math::SqrtOp) { return sqrt(in(0)); })
      .Case([&](math::TanhOp) { return tanh(in(0)); })
      .Case([&](math::CosOp) { return cos(in(0)); })
      .Case([&](math::SinOp) { return sin(in(0)); })
      .Case([&](math::FloorOp) { return floor(in(0)); })
      .Default([&](Operation *) {
        return value.getType().isInteger(1) ? Interval::closed(0, 1)
                                            : Interval::all();
      });
}
