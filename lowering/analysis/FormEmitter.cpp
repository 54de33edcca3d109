//===- FormEmitter.cpp - normal forms back into operations ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/FormEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

Value FormEmitter::number(double x) {
  return arith::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(static_cast<float>(x)));
}

Value FormEmitter::asReal(Value value) {
  Type f32 = builder.getF32Type();
  if (!value || value.getType() == f32)
    return value;
  if (value.getType().isIndex())
    value =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
  if (value.getType().isInteger(1))
    return arith::UIToFPOp::create(builder, loc, f32, value);
  return arith::SIToFPOp::create(builder, loc, f32, value);
}

Value FormEmitter::scalar(const Polynomial &p) {
  Value sum;
  for (const auto &[monomial, coefficient] : p.terms()) {
    Value product;
    double c = toDouble(coefficient);
    if (monomial.empty() || c != 1)
      product = number(c);
    for (auto [id, power] : monomial) {
      Value factor = atom(id);
      if (!factor)
        return {};
      if (power > 1) {
        Value n = arith::ConstantOp::create(
            builder, loc, builder.getI32IntegerAttr(int32_t(power)));
        factor = math::FPowIOp::create(builder, loc, factor, n);
      }
      product = product ? arith::MulFOp::create(builder, loc, product, factor)
                        : factor;
    }
    sum = sum ? arith::AddFOp::create(builder, loc, sum, product) : product;
  }
  return sum ? sum : number(0);
}

Value FormEmitter::atom(AtomId id) {
  if (auto found = known.find(id); found != known.end())
    return found->second;
  Value value = compute(id);
  // What depends on a coordinate is of one map only.
  if (!(form.atom(id).axes & kCoordinateAxis))
    known[id] = value;
  return value;
}

Value FormEmitter::compute(AtomId id) {
  const FormAtom atom = form.atom(id);
  auto argument = [&](size_t n) { return scalar(atom.args[n]); };
  auto unary = [&](auto op) -> Value {
    Value x = argument(0);
    using Op = decltype(op);
    return x ? Value(Op::create(builder, loc, x)) : Value();
  };
  switch (atom.kind) {
  case FormAtom::Dot: {
    Value a = row(atom.rows[0]), b = row(atom.rows[1]);
    return a && b ? Value(DotOp::create(builder, loc, a, b)) : Value();
  }
  case FormAtom::Norm: {
    Value a = row(atom.rows[0]);
    return a ? Value(SqNormOp::create(builder, loc, a)) : Value();
  }
  case FormAtom::Exp:
    return unary(math::ExpOp());
  case FormAtom::Log:
    return unary(math::LogOp());
  case FormAtom::Power: {
    Value base = argument(0);
    if (!base)
      return {};
    double exponent = toDouble(atom.exponent);
    if (exponent == 0.5)
      return math::SqrtOp::create(builder, loc, base);
    if (atom.exponent.denominator() == 1) {
      Value n = arith::ConstantOp::create(
          builder, loc, builder.getI32IntegerAttr(int32_t(exponent)));
      return math::FPowIOp::create(builder, loc, base, n);
    }
    return math::PowFOp::create(builder, loc, base, number(exponent));
  }
  case FormAtom::Leaf:
    if (atom.tag == "i" || atom.tag == "j")
      return asReal(IndexOp::create(
          builder, loc, atom.tag == "i" ? Position::I : Position::J));
    return asReal(atom.origin);
  case FormAtom::Function:
    break;
  }
  if (atom.tag == "relu") {
    Value x = argument(0);
    return x ? Value(arith::MaximumFOp::create(builder, loc, x, number(0)))
             : Value();
  }
  if (atom.tag == "tanh")
    return unary(math::TanhOp());
  if (atom.tag == "cos")
    return unary(math::CosOp());
  if (atom.tag == "sin")
    return unary(math::SinOp());
  return atom.axes & kCoordinateAxis ? Value() : asReal(atom.origin);
}

Value FormEmitter::row(RowId id) {
  if (auto found = knownRows.find(id); found != knownRows.end())
    return found->second;
  const FormRow row = form.row(id);
  Value value = row.origin;
  if (!value && (row.kind == FormRow::Map || row.kind == FormRow::Scaled))
    value = map(row);
  else if (!value && row.kind == FormRow::Unit)
    if (Value x = this->row(row.rows[0]))
      value = UnitOp::create(builder, loc, x);
  return knownRows[id] = value;
}

/// The body of a map, or a factor, over the coordinates of its rows.
Value FormEmitter::map(const FormRow &row) {
  SmallVector<Value> rows;
  for (RowId operand : row.rows)
    if (Value x = this->row(operand))
      rows.push_back(x);
    else
      return {};
  // A factor is of one side and computed outside.
  Value factor;
  if (row.kind == FormRow::Scaled && !(factor = scalar(row.args[0])))
    return {};
  auto map = MapOp::create(builder, loc, rows);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(
      &map.getBody(), {}, SmallVector<Type>(rows.size(), builder.getF32Type()),
      SmallVector<Location>(rows.size(), loc));
  Value result;
  if (row.kind == FormRow::Scaled) {
    result = arith::MulFOp::create(builder, loc, body->getArgument(0), factor);
  } else {
    std::map<AtomId, Value> outside = known; // what the body makes stays there
    for (AtomId id = 0; id < form.atomCount(); ++id) {
      const FormAtom &atom = form.atom(id);
      if (atom.kind == FormAtom::Leaf && atom.axes == kCoordinateAxis) {
        unsigned long n = std::stoul(atom.tag.substr(1));
        if (n < rows.size())
          known[id] = body->getArgument(static_cast<unsigned>(n));
      }
    }
    result = scalar(row.args[0]);
    known = std::move(outside);
  }
  if (!result) {
    map.erase();
    return {};
  }
  YieldOp::create(builder, loc, result);
  return map.getResult();
}
