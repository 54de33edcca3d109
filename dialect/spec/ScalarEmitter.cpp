//===- ScalarEmitter.cpp - scalar operations as arith and math ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Analyses and code generation know these forms and no others.
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/RegionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

/// ToReal and Floor: ints are `index`, which arith converts through i64 only.
static Value convert(OpBuilder &builder, Location loc, const Node &node,
                     Value x) {
  Type i64 = builder.getI64Type(), f32 = builder.getF32Type();
  if (node.op == NodeOp::ToReal) {
    Value wide = arith::IndexCastOp::create(builder, loc, i64, x);
    return arith::SIToFPOp::create(builder, loc, f32, wide);
  }
  Value below = math::FloorOp::create(builder, loc, x);
  Value wide = arith::FPToSIOp::create(builder, loc, i64, below);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), wide);
}

template <typename IntOp, typename RealOp>
static Value choose(OpBuilder &builder, Location loc, bool ints,
                    ArrayRef<Value> x) {
  if (ints)
    return IntOp::create(builder, loc, x[0], x[1]);
  return RealOp::create(builder, loc, x[0], x[1]);
}

static Value compare(OpBuilder &builder, Location loc, bool ints,
                     arith::CmpIPredicate forInts,
                     arith::CmpFPredicate forReals, ArrayRef<Value> x) {
  if (ints)
    return arith::CmpIOp::create(builder, loc, forInts, x[0], x[1]);
  return arith::CmpFOp::create(builder, loc, forReals, x[0], x[1]);
}

Value RegionEmitter::emitScalar(const Node &node, ArrayRef<Value> x) {
  Location loc = locOf(node);
  OpBuilder &b = builder;
  bool ints = x[0].getType().isIndex();
  switch (node.op) {
  case NodeOp::ToReal:
  case NodeOp::Floor:
    return convert(b, loc, node, x[0]);
  case NodeOp::Negate:
    if (ints) {
      Value zero = arith::ConstantIndexOp::create(b, loc, 0);
      return arith::SubIOp::create(b, loc, zero, x[0]);
    }
    return arith::NegFOp::create(b, loc, x[0]);
  case NodeOp::Add:
    return choose<arith::AddIOp, arith::AddFOp>(b, loc, ints, x);
  case NodeOp::Subtract:
    return choose<arith::SubIOp, arith::SubFOp>(b, loc, ints, x);
  case NodeOp::Multiply:
    return choose<arith::MulIOp, arith::MulFOp>(b, loc, ints, x);
  case NodeOp::Divide:
    return arith::DivFOp::create(b, loc, x[0], x[1]);
  case NodeOp::FloorDivide:
    return arith::FloorDivSIOp::create(b, loc, x[0], x[1]);
  case NodeOp::IntPower: {
    Value n = arith::ConstantIntOp::create(b, loc, node.integer, 32);
    return math::FPowIOp::create(b, loc, x[0], n);
  }
  case NodeOp::Power:
    return math::PowFOp::create(b, loc, x[0], x[1]);
  case NodeOp::Min:
    return choose<arith::MinSIOp, arith::MinimumFOp>(b, loc, ints, x);
  case NodeOp::Max:
    return choose<arith::MaxSIOp, arith::MaximumFOp>(b, loc, ints, x);
  case NodeOp::Abs:
    if (ints)
      return math::AbsIOp::create(b, loc, x[0]);
    return math::AbsFOp::create(b, loc, x[0]);
  case NodeOp::Exp:
    return math::ExpOp::create(b, loc, x[0]);
  case NodeOp::Expm1:
    return math::ExpM1Op::create(b, loc, x[0]);
  case NodeOp::Log:
    return math::LogOp::create(b, loc, x[0]);
  case NodeOp::Log1p:
    return math::Log1pOp::create(b, loc, x[0]);
  case NodeOp::Sqrt:
    return math::SqrtOp::create(b, loc, x[0]);
  case NodeOp::Tanh:
    return math::TanhOp::create(b, loc, x[0]);
  case NodeOp::Cos:
    return math::CosOp::create(b, loc, x[0]);
  case NodeOp::Sin:
    return math::SinOp::create(b, loc, x[0]);
  case NodeOp::Select:
    return arith::SelectOp::create(b, loc, x[0], x[1], x[2]);
  case NodeOp::Less:
    return compare(b, loc, ints, arith::CmpIPredicate::slt,
                   arith::CmpFPredicate::OLT, x);
  case NodeOp::LessEqual:
    return compare(b, loc, ints, arith::CmpIPredicate::sle,
                   arith::CmpFPredicate::OLE, x);
  case NodeOp::Equal:
    return compare(b, loc, ints, arith::CmpIPredicate::eq,
                   arith::CmpFPredicate::OEQ, x);
  case NodeOp::NotEqual:
    return compare(b, loc, ints, arith::CmpIPredicate::ne,
                   arith::CmpFPredicate::UNE, x);
  case NodeOp::And:
    return arith::AndIOp::create(b, loc, x[0], x[1]);
  case NodeOp::Or:
    return arith::OrIOp::create(b, loc, x[0], x[1]);
  case NodeOp::Not: {
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    return arith::XOrIOp::create(b, loc, x[0], yes);
  }
  default:
    llvm_unreachable("not a scalar operation");
  }
}
