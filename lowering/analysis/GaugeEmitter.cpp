//===- GaugeEmitter.cpp - arithmetic on 2^e * r ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/GaugeEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace attn;

/// How far a constant is looked for in an exponent.
static constexpr int kDepth = 24;
/// m^n of an m in [1, 2) is moderate up to here.
static constexpr double kModeratePower = 24;

Value GaugeEmitter::constant(double value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(static_cast<float>(value)));
}

bool GaugeEmitter::isZero(GaugeTerm term) {
  return !term.exponent && term.factor &&
         ranges.constant(term.factor).value_or(1) == 0;
}

//===----------------------------------------------------------------------===//
// Exponents
//===----------------------------------------------------------------------===//

Value GaugeEmitter::add(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AddFOp::create(builder, loc, a, b);
}

Value GaugeEmitter::sub(Value a, Value b) {
  if (!b)
    return a;
  return a ? Value(arith::SubFOp::create(builder, loc, a, b)) : neg(b);
}

Value GaugeEmitter::scale(Value exponent, double by) {
  if (!exponent || by == 1)
    return exponent;
  return arith::MulFOp::create(builder, loc, exponent, constant(by));
}

Value GaugeEmitter::scale(Value exponent, Value by) {
  return exponent ? Value(arith::MulFOp::create(builder, loc, exponent, by))
                  : Value();
}

Value GaugeEmitter::exponent(Value x, double by) {
  return scaled(x, by, kDepth);
}

/// Depends on parameters, head and batch only: loops hoist what is made of it.
bool GaugeEmitter::isInvariant(Value x, int depth) {
  Operation *op = x.getDefiningOp();
  if (!op)
    return isa<MemRefType>(x.getType());
  if (ranges.constant(x))
    return true;
  if (auto index = dyn_cast<IndexOp>(op))
    return index.getPosition() != Position::I &&
           index.getPosition() != Position::J;
  // A length is an invariant of its row, whichever row it is.
  if (isa<DimOp>(op))
    return true;
  if (op->getNumRegions() != 0)
    return false;
  return depth > 0 && llvm::all_of(op->getOperands(), [&](Value operand) {
           return isInvariant(operand, depth - 4);
         });
}

/// Whether x times a constant costs no more than x.
bool GaugeEmitter::absorbs(Value x, int depth) {
  if (depth <= 0)
    return false;
  if (isInvariant(x, depth))
    return true;
  Operation *op = x.getDefiningOp();
  if (isa_and_nonnull<arith::NegFOp>(op))
    return absorbs(op->getOperand(0), depth - 1);
  if (isa_and_nonnull<arith::MulFOp>(op))
    return absorbs(op->getOperand(0), depth - 4) ||
           absorbs(op->getOperand(1), depth - 4);
  if (isa_and_nonnull<arith::DivFOp>(op))
    return isInvariant(op->getOperand(1), depth - 1) ||
           absorbs(op->getOperand(0), depth - 1);
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
    return absorbs(op->getOperand(0), depth - 4) &&
           absorbs(op->getOperand(1), depth - 4);
  return false;
}

Value GaugeEmitter::scaled(Value x, double by, int depth) {
  // Signs and constants at the top.
  while (Operation *op = x.getDefiningOp()) {
    if (std::optional<double> c = ranges.constant(x))
      return constant(*c * by);
    if (isa<arith::NegFOp>(op)) {
      by = -by;
      x = op->getOperand(0);
      continue;
    }
    if (!isa<arith::MulFOp, arith::DivFOp>(op))
      break;
    bool divides = isa<arith::DivFOp>(op);
    std::optional<double> a = ranges.constant(op->getOperand(0));
    std::optional<double> b = ranges.constant(op->getOperand(1));
    if (b && (!divides || *b != 0)) {
      by = divides ? by / *b : by * *b;
      x = op->getOperand(0);
    } else if (a && !divides) {
      by *= *a;
      x = op->getOperand(1);
    } else {
      break;
    }
  }
  auto times = [&](Value a, Value b) -> Value {
    return arith::MulFOp::create(builder, loc, a, b);
  };
  Operation *op = x.getDefiningOp();
  if (by == 1)
    return x;
  if (!op || depth <= 0 || isInvariant(x, depth))
    return times(x, constant(by));
  Value a = op->getNumOperands() == 2 ? op->getOperand(0) : Value();
  Value b = op->getNumOperands() == 2 ? op->getOperand(1) : Value();
  if (isa<arith::DivFOp>(op)) {
    if (isInvariant(b, depth)) { // the reciprocal leaves the loop
      Value reciprocal = arith::DivFOp::create(builder, loc, constant(by), b);
      bool negative = false;
      while (auto negation = a.getDefiningOp<arith::NegFOp>()) {
        a = negation.getOperand();
        negative = !negative;
      }
      return times(a, negative ? neg(reciprocal) : reciprocal);
    }
    if (absorbs(a, depth - 1))
      return arith::DivFOp::create(builder, loc, scaled(a, by, depth - 1), b);
  }
  if (isa<arith::MulFOp>(op)) {
    if (absorbs(a, depth - 4))
      return times(scaled(a, by, depth - 4), b);
    if (absorbs(b, depth - 4))
      return times(a, scaled(b, by, depth - 4));
  }
  if (isa<arith::AddFOp, arith::SubFOp>(op) &&
      (absorbs(a, depth - 4) || absorbs(b, depth - 4))) {
    Value left = scaled(a, by, depth - 4), right = scaled(b, by, depth - 4);
    return isa<arith::AddFOp>(op) ? add(left, right) : sub(left, right);
  }
  return times(x, constant(by));
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

Value GaugeEmitter::mul(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::MulFOp::create(builder, loc, a, b);
}

Value GaugeEmitter::div(Value a, Value b) {
  if (!b)
    return a;
  return arith::DivFOp::create(builder, loc, a ? a : constant(1), b);
}

Value GaugeEmitter::neg(Value a) {
  return a ? Value(arith::NegFOp::create(builder, loc, a)) : constant(-1);
}
Value GaugeEmitter::abs(Value a) {
  return a ? Value(math::AbsFOp::create(builder, loc, a)) : Value();
}
Value GaugeEmitter::sqrt(Value a) {
  return a ? Value(math::SqrtOp::create(builder, loc, a)) : Value();
}
Value GaugeEmitter::log2(Value a) {
  return a ? Value(math::Log2Op::create(builder, loc, a)) : Value();
}

Value GaugeEmitter::extremum(Value a, Value b, bool isMax) {
  a = a ? a : constant(1);
  b = b ? b : constant(1);
  if (isMax)
    return arith::MaximumFOp::create(builder, loc, a, b);
  return arith::MinimumFOp::create(builder, loc, a, b);
}

Value GaugeEmitter::integerPower(Value a, int64_t n) {
  if (n == 1)
    return a;
  Value exponent = arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(n)));
  return math::FPowIOp::create(builder, loc, a, exponent);
}

Value GaugeEmitter::realPower(Value a, Value n) {
  return math::PowFOp::create(builder, loc, a, n);
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// Exponents may be -inf, all of them: -inf - -inf must not become NaN.
static Value finite(OpBuilder &builder, Location loc, Value exponent) {
  Value least = arith::ConstantOp::create(
      builder, loc,
      builder.getF32FloatAttr(std::numeric_limits<float>::lowest()));
  return arith::MaximumFOp::create(builder, loc, exponent, least);
}

Value GaugeEmitter::rescaled(GaugeTerm term, Value exponent) {
  Value power = math::Exp2Op::create(
      builder, loc, sub(term.exponent, finite(builder, loc, exponent)));
  return mul(term.factor, power);
}

GaugeTerm GaugeEmitter::sum(ArrayRef<GaugeTerm> terms) {
  if (terms.empty())
    return {Value(), zero()};
  if (terms.size() == 1)
    return terms.front();
  // Terms of one exponent are joined before they are scaled.
  llvm::MapVector<Value, Value> groups;
  for (GaugeTerm term : terms) {
    Value factor = term.factor ? term.factor : constant(1);
    auto [group, isNew] = groups.try_emplace(term.exponent, factor);
    if (!isNew)
      group->second =
          arith::AddFOp::create(builder, loc, group->second, factor);
  }
  if (groups.size() == 1)
    return {groups.front().first, groups.front().second};
  Value exponent;
  for (auto [e, factor] : groups)
    exponent = exponent ? extremum(exponent, orZero(e), true) : orZero(e);
  Value total;
  for (auto [e, factor] : groups) {
    bool isOne = ranges.constant(factor).value_or(0) == 1;
    Value part = rescaled({e, isOne ? Value() : factor}, exponent);
    total = add(total, part);
  }
  return {exponent, total};
}

GaugeTerm GaugeEmitter::select(Value condition, GaugeTerm a, GaugeTerm b) {
  // Zero has any exponent; -inf does not raise the maximum.
  auto exponentOf = [&](GaugeTerm term) {
    return isZero(term) ? constant(-std::numeric_limits<double>::infinity())
                        : orZero(term.exponent);
  };
  GaugeTerm result;
  if (a.exponent != b.exponent)
    result.exponent = arith::SelectOp::create(builder, loc, condition,
                                              exponentOf(a), exponentOf(b));
  else
    result.exponent = a.exponent;
  if (a.factor || b.factor)
    result.factor = arith::SelectOp::create(builder, loc, condition,
                                            a.factor ? a.factor : constant(1),
                                            b.factor ? b.factor : constant(1));
  return result;
}

Value GaugeEmitter::log(GaugeTerm term) {
  Value e = scale(term.exponent, M_LN2);
  Value r = term.factor ? Value(math::LogOp::create(builder, loc, term.factor))
                        : Value();
  return orZero(add(e, r));
}

GaugeTerm GaugeEmitter::expm1(Value x) {
  // exp(x) - 1 = exp(x) (1 - exp(-x)): no cancellation at either sign.
  Value positive =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, x, zero());
  Value t = math::ExpM1Op::create(builder, loc, neg(abs(x)));
  Value exponent = scale(extremum(x, zero(), true), M_LOG2E);
  return {exponent, arith::SelectOp::create(builder, loc, positive, neg(t), t)};
}

//===----------------------------------------------------------------------===//
// Powers of two
//===----------------------------------------------------------------------===//

GaugeEmitter::Bits GaugeEmitter::decompose(Value x) {
  if (auto known = decomposed.find(x); known != decomposed.end())
    return known->second;
  Type i32 = builder.getI32Type(), f32 = builder.getF32Type();
  auto integer = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  Value bits = arith::BitcastOp::create(builder, loc, i32, x);
  Value field = arith::AndIOp::create(
      builder, loc, arith::ShRUIOp::create(builder, loc, bits, integer(23)),
      integer(255));
  Value mantissaBits = arith::OrIOp::create(
      builder, loc,
      arith::AndIOp::create(builder, loc, bits, integer(0x807fffff)),
      integer(0x3f800000));
  Bits result;
  result.mantissa = arith::BitcastOp::create(builder, loc, f32, mantissaBits);
  // Fields 0 and 255, zero and Inf or NaN, wrap to the two largest values.
  result.special = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::uge,
      arith::SubIOp::create(builder, loc, field, integer(1)), integer(254));
  Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       field, integer(0));
  Value power = arith::SIToFPOp::create(
      builder, loc, f32,
      arith::SubIOp::create(builder, loc, field, integer(127)));
  Value exponent = arith::SelectOp::create(
      builder, loc, isZero, constant(-std::numeric_limits<double>::infinity()),
      power);
  Value factor =
      arith::SelectOp::create(builder, loc, result.special, x, result.mantissa);
  result.term = {exponent, factor};
  decomposed[x] = result;
  return result;
}

GaugeTerm GaugeEmitter::runningPower(Value x) { return decompose(x).term; }

GaugeTerm GaugeEmitter::highPower(Value x, double n, bool integer) {
  Bits bits = decompose(x);
  Value exponent = scale(bits.term.exponent, n);
  if (integer && std::fabs(n) <= kModeratePower)
    return {exponent, integerPower(bits.term.factor, static_cast<int64_t>(n))};
  // m^n may be large itself: split n log2(m) again. The whole part of n times
  // the exponent is exact, which keeps the error that of a power function.
  Value t = scale(log2(abs(bits.mantissa)), n);
  if (double fraction = n - std::trunc(n); fraction != 0) {
    exponent =
        std::trunc(n) == 0 ? Value() : scale(bits.term.exponent, std::trunc(n));
    Value safe = finite(builder, loc, bits.term.exponent);
    t = add(t, scale(safe, fraction));
  }
  Value whole = math::FloorOp::create(builder, loc, t);
  Value factor = math::Exp2Op::create(builder, loc, sub(t, whole));
  if (integer && std::fmod(n, 2) != 0)
    factor = math::CopySignOp::create(builder, loc, factor, bits.mantissa);
  Value limit = n > 0 ? x : div(Value(), x); // 0, Inf and NaN to a power
  factor = arith::SelectOp::create(builder, loc, bits.special, limit, factor);
  return {add(exponent, whole), factor};
}
