//===- FormExpansion.cpp - the normal forms of scalars in the IR ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/NormalForm.h"

#include "lowering/analysis/Declarations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace attn;

void NormalForm::expand(Block &block) {
  // Program order: operands come first, whatever the depth.
  for (Operation &op : block.without_terminator()) {
    if (op.getNumResults() != 1)
      continue;
    Value result = op.getResult(0);
    if (isa<RowType>(result.getType()))
      (void)rowOf(result);
    else if (!isa<MemRefType>(result.getType()))
      (void)scalar(result);
  }
}

Polynomial NormalForm::position(Position which) {
  FormAtom atom;
  atom.tag = stringifyPosition(which).str();
  atom.axes = which == Position::I   ? QueryAxis
              : which == Position::J ? KeyAxis
                                     : Uniform;
  bool length = which == Position::Nq || which == Position::Nk;
  bool anywhere = which == Position::I || which == Position::J;
  atom.range = anywhere ? Interval::all() : Interval::atLeast(length ? 1 : 0);
  return intern(std::move(atom));
}

Polynomial NormalForm::symbol(const std::string &name) {
  FormAtom atom;
  atom.tag = name;
  atom.range = Interval::atLeast(0);
  return intern(std::move(atom));
}

/// The value as an atom, whatever it is made of.
Polynomial NormalForm::leafOf(Value value) {
  FormAtom atom;
  atom.tag =
      "value" +
      std::to_string(reinterpret_cast<uintptr_t>(value.getAsOpaquePointer()));
  atom.origin = value;
  constexpr unsigned unknown = PairAxes | kCoordinateAxis;
  if (Operation *op = value.getDefiningOp()) {
    for (Value operand : op->getOperands()) {
      if (isa<MemRefType>(operand.getType()))
        continue;
      if (auto known = scalars.find(operand); known != scalars.end())
        atom.axes |= axesOf(known->second);
      else if (auto row = rowForms.find(operand); row != rowForms.end())
        atom.axes |= rows[row->second.row].axes |
                     (axesOf(row->second.factor) & PairAxes);
      else
        atom.axes |= unknown;
    }
  } else {
    atom.axes = unknown;
  }
  if (!isa<RowType>(value.getType()))
    atom.range = ranges.scalar(value);
  return intern(std::move(atom));
}

Polynomial NormalForm::scalar(Value value) {
  if (auto known = scalars.find(value); known != scalars.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  Polynomial result;
  constexpr int deepest = 100; // blocks are expanded in order: rarely nested
  ++depth;
  if (op && budget > 0 && depth < deepest)
    result = compute(op);
  else
    result = leafOf(value);
  if (result.isLarge())
    result = leafOf(value);
  --depth;
  // The user's expression for what became one atom.
  if (result.terms().size() == 1) {
    const auto &monomial = result.terms().begin()->first;
    if (monomial.size() == 1 && !atoms[monomial[0].first].origin)
      atoms[monomial[0].first].origin = value;
  }
  scalars[value] = result;
  return result;
}

/// A function that the form knows by name and arguments only.
Polynomial NormalForm::function(Operation *op) {
  FormAtom atom;
  atom.kind = FormAtom::Function;
  atom.tag = op->getName().stripDialect().str();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    atom.tag = arith::stringifyCmpFPredicate(compare.getPredicate()).str();
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    atom.tag = arith::stringifyCmpIPredicate(compare.getPredicate()).str();
  for (Value operand : op->getOperands()) {
    if (isa<RowType, MemRefType>(operand.getType()))
      return leafOf(op->getResult(0));
    atom.args.push_back(scalar(operand));
  }
  unsigned axes = Uniform;
  for (const Polynomial &argument : atom.args)
    axes |= axesOf(argument);
  // Coordinates are shared by maps of rows with different ranges.
  atom.range = axes & kCoordinateAxis ? Interval::all()
                                      : ranges.scalar(op->getResult(0));
  atom.origin = op->getResult(0);
  return intern(std::move(atom));
}

/// max(x, 0) + log1p(exp(-|x|)) is how the importer spells softplus(x).
static Value matchSoftplus(arith::AddFOp sum) {
  for (unsigned n : {0, 1}) {
    auto positive = sum->getOperand(n).getDefiningOp<arith::MaximumFOp>();
    auto rest = sum->getOperand(1 - n).getDefiningOp<math::Log1pOp>();
    auto e =
        rest ? rest.getOperand().getDefiningOp<math::ExpOp>() : math::ExpOp();
    auto minus =
        e ? e.getOperand().getDefiningOp<arith::NegFOp>() : arith::NegFOp();
    auto size = minus ? minus.getOperand().getDefiningOp<math::AbsFOp>()
                      : math::AbsFOp();
    if (positive && size && matchPattern(positive.getRhs(), m_AnyZeroFloat()) &&
        positive.getLhs() == size.getOperand())
      return size.getOperand();
  }
  return {};
}

Polynomial NormalForm::compute(Operation *op) {
  auto in = [&](unsigned n) { return scalar(op->getOperand(n)); };
  auto self = [&] { return leafOf(op->getResult(0)); };
  auto absolute = [&](const Polynomial &x) -> std::optional<Polynomial> {
    Interval range = rangeOf(x);
    if (range.isNonNegative() || range.isNonPositive())
      return range.isNonNegative() ? x : x.scaled(Rational(-1));
    Polynomial square = multiply(x, x); // |x| is the root of x^2
    if (square.isLarge())
      return std::nullopt;
    return power(square, Rational(1) / Rational(2));
  };
  auto maximum = [&](const Polynomial &a, const Polynomial &b) {
    if ((a + b).isZero())
      if (std::optional<Polynomial> size = absolute(a))
        return *size;
    return b + relu(a - b);
  };
  Polynomial one = number(1);
  return llvm::TypeSwitch<Operation *, Polynomial>(op)
      .Case([&](arith::ConstantOp constant) {
        Interval range = ranges.scalar(constant);
        std::optional<Rational> value =
            range.isPoint() ? Rational::fromDouble(range.lo) : std::nullopt;
        return value ? Polynomial::constant(*value) : self();
      })
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) {
        if (auto sum = dyn_cast<arith::AddFOp>(op))
          if (Value x = matchSoftplus(sum)) // log(1 + exp(x))
            return log(one + exp(scalar(x)));
        return in(0) + in(1);
      })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return in(0) - in(1); })
      .Case<arith::MulFOp, arith::MulIOp>(
          [&](auto) { return multiply(in(0), in(1)); })
      .Case([&](arith::NegFOp) { return in(0).scaled(Rational(-1)); })
      .Case([&](arith::DivFOp) {
        Polynomial divisor = in(1);
        if (divisor.isZero())
          return self();
        Polynomial inverse = power(divisor, -1);
        for (const auto &term : inverse.terms())
          for (auto [id, exponent] : term.first)
            if (atoms[id].kind == FormAtom::Power && !atoms[id].origin)
              atoms[id].origin = op->getOperand(1); // to point at
        return multiply(in(0), inverse);
      })
      .Case<math::FPowIOp, math::PowFOp>([&](auto) {
        Polynomial base = in(0), exponent = in(1);
        const auto &terms = exponent.terms();
        bool constant = terms.empty() ||
                        (terms.size() == 1 && terms.begin()->first.empty());
        if (base.isZero())
          return self();
        if (constant)
          return power(base,
                       terms.empty() ? Rational(0) : terms.begin()->second);
        if (rangeOf(base).isPositive())
          return exp(multiply(exponent, log(base)));
        return function(op);
      })
      .Case([&](math::ExpOp) { return exp(in(0)); })
      .Case([&](math::Exp2Op) { return exp(multiply(in(0), log(number(2)))); })
      .Case([&](math::ExpM1Op) { return exp(in(0)) - one; })
      .Case([&](math::LogOp) {
        Polynomial x = in(0);
        return x.isZero() ? self() : log(x);
      })
      .Case([&](math::Log1pOp) {
        Polynomial x = in(0) + one;
        return x.isZero() ? self() : log(x);
      })
      .Case([&](math::SqrtOp) {
        Polynomial x = in(0);
        return x.isZero() ? x : power(x, Rational(1) / Rational(2));
      })
      .Case<math::AbsFOp, math::AbsIOp>([&](auto) {
        std::optional<Polynomial> size = absolute(in(0));
        return size ? *size : function(op);
      })
      .Case([&](math::TanhOp) {
        Polynomial x = in(0);
        bool flip = !x.isZero() && x.terms().rbegin()->second.sign() < 0;
        if (flip)
          x = x.scaled(Rational(-1));
        Polynomial y =
            x.isZero() ? x : function("tanh", {x}, attn::tanh(rangeOf(x)));
        return flip ? y.scaled(Rational(-1)) : y;
      })
      .Case([&](math::CosOp) { return trig(true, in(0)); })
      .Case([&](math::SinOp) { return trig(false, in(0)); })
      .Case<arith::MaximumFOp, arith::MaxSIOp>(
          [&](auto) { return maximum(in(0), in(1)); })
      .Case<arith::MinimumFOp, arith::MinSIOp>([&](auto) {
        Rational minus(-1);
        return maximum(in(0).scaled(minus), in(1).scaled(minus)).scaled(minus);
      })
      .Case<arith::IndexCastOp, arith::SIToFPOp>([&](auto cast) {
        return cast.getOperand().getType().isInteger(1) ? function(op) : in(0);
      })
      .Case([&](IndexOp index) { return position(index.getPosition()); })
      .Case([&](memref::LoadOp load) {
        FormAtom atom;
        atom.tag = "load" + std::to_string(reinterpret_cast<uintptr_t>(
                                load.getMemRef().getAsOpaquePointer()));
        for (Value index : load.getIndices())
          atom.args.push_back(scalar(index));
        atom.range = ranges.scalar(load);
        atom.origin = load;
        return intern(std::move(atom));
      })
      .Case([&](DimOp dim) {
        int64_t length = dim.getRow().getType().getLength();
        if (!ShapedType::isDynamic(length))
          return number(length);
        FormAtom atom;
        atom.tag = "dim"; // q and k are of one length where they meet
        atom.origin = dim;
        atom.range = Interval::atLeast(1);
        return intern(std::move(atom));
      })
      .Case([&](memref::DimOp) {
        FormAtom atom;
        atom.tag = "extent" + std::to_string(reinterpret_cast<uintptr_t>(
                                  op->getOperand(0).getAsOpaquePointer()));
        atom.args = {scalar(op->getOperand(1))};
        atom.range = ranges.scalar(op->getResult(0));
        atom.origin = op->getResult(0);
        return intern(std::move(atom));
      })
      .Case([&](DotOp dot) {
        return this->dot(rowOf(dot.getLhs()), rowOf(dot.getRhs()));
      })
      .Case([&](SqNormOp norm) { return this->norm(rowOf(norm.getRow())); })
      .Case([&](SqDistOp distance) {
        ScaledRow a = rowOf(distance.getLhs()), b = rowOf(distance.getRhs());
        return this->norm(a) + this->norm(b) - dot(a, b).scaled(Rational(2));
      })
      .Default([&](Operation *op) {
        return op->getNumRegions() == 0 && op->getNumResults() == 1
                   ? function(op)
                   : self();
      });
}
