//===- Emitter.cpp - arithmetic on one vector type ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/VectorMath/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn::vectormath;

static constexpr int32_t kSignBit = INT32_MIN;

VectorType Emitter::withElement(Type element) {
  return VectorType::get(type.getShape(), element);
}

Value Emitter::splat(TypedAttr value) {
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(withElement(value.getType()), Attribute(value)));
}
Value Emitter::f32(float value) {
  return splat(builder.getF32FloatAttr(value));
}
Value Emitter::i32(int32_t value) {
  return splat(builder.getI32IntegerAttr(value));
}
Value Emitter::f64(double value) {
  return splat(builder.getF64FloatAttr(value));
}

Value Emitter::add(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}
Value Emitter::sub(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}
Value Emitter::mul(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value Emitter::div(Value a, Value b) {
  return arith::DivFOp::create(builder, loc, a, b);
}
Value Emitter::fma(Value a, Value b, Value c) {
  return vector::FMAOp::create(builder, loc, a, b, c);
}
Value Emitter::floor(Value a) { return math::FloorOp::create(builder, loc, a); }
Value Emitter::masked(StringRef name, Value a, Value b) {
  int64_t lanes = type.getNumElements();
  Value mask = arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(
          builder.getIntegerType(std::max<int64_t>(lanes, 8)), -1));
  SmallVector<Value> operands = {
      a, b, LLVM::PoisonOp::create(builder, loc, type), mask};
  if (lanes * 32 == 512) { // as the register says that rounding is set in
    constexpr int32_t currentDirection = 4;
    operands.push_back(arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(currentDirection)));
  }
  auto call = LLVM::CallIntrinsicOp::create(
      builder, loc, type,
      builder.getStringAttr("llvm.x86.avx512.mask." + name + ".ps." +
                            Twine(lanes * 32)),
      operands);
  return call.getResult(0);
}
Value Emitter::aboveFloor(Value x) {
  // Down, to whole numbers, and no exception (Intel's manual, volume 2).
  constexpr int32_t down = 1 | 1 << 3;
  return masked(
      "reduce", x,
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(down)));
}
Value Emitter::scale(Value a, Value x) { return masked("scalef", a, x); }
Value Emitter::abs(Value a) {
  return asFloat(andInt(asInt(a), i32(~kSignBit)));
}
Value Emitter::copySign(Value magnitude, Value sign) {
  return asFloat(orInt(andInt(asInt(magnitude), i32(~kSignBit)),
                       andInt(asInt(sign), i32(kSignBit))));
}

Value Emitter::splatLike(double value, Value x) {
  return splat(builder.getFloatAttr(getElementTypeOrSelf(x.getType()), value));
}
Value Emitter::atLeast(double bound, Value x) {
  Value limit = splatLike(bound, x);
  return select(compare(arith::CmpFPredicate::OGT, limit, x), limit, x);
}
Value Emitter::atMost(double bound, Value x) {
  Value limit = splatLike(bound, x);
  return select(compare(arith::CmpFPredicate::OLT, limit, x), limit, x);
}

Value Emitter::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}
Value Emitter::less(Value a, float bound) {
  return compare(arith::CmpFPredicate::OLT, a, f32(bound));
}
Value Emitter::greater(Value a, float bound) {
  return compare(arith::CmpFPredicate::OGT, a, f32(bound));
}
Value Emitter::equal(Value a, float bound) {
  return compare(arith::CmpFPredicate::OEQ, a, f32(bound));
}
Value Emitter::bitSet(Value a, int32_t bit) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                               andInt(a, i32(bit)), i32(0));
}
Value Emitter::either(Value a, Value b) { return orInt(a, b); }
Value Emitter::select(Value mask, Value yes, Value no) {
  return arith::SelectOp::create(builder, loc, mask, yes, no);
}

Value Emitter::asInt(Value a) {
  return arith::BitcastOp::create(builder, loc,
                                  withElement(builder.getI32Type()), a);
}
Value Emitter::asFloat(Value a) {
  return arith::BitcastOp::create(builder, loc, type, a);
}
Value Emitter::toFloat(Value a) {
  return arith::SIToFPOp::create(builder, loc, type, a);
}
Value Emitter::addInt(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}
Value Emitter::subInt(Value a, Value b) {
  return arith::SubIOp::create(builder, loc, a, b);
}
Value Emitter::andInt(Value a, Value b) {
  return arith::AndIOp::create(builder, loc, a, b);
}
Value Emitter::orInt(Value a, Value b) {
  return arith::OrIOp::create(builder, loc, a, b);
}
Value Emitter::xorInt(Value a, Value b) {
  return arith::XOrIOp::create(builder, loc, a, b);
}
Value Emitter::shiftLeft(Value a, int32_t bits) {
  return arith::ShLIOp::create(builder, loc, a, i32(bits));
}
Value Emitter::shiftRight(Value a, int32_t bits) {
  return arith::ShRSIOp::create(builder, loc, a, i32(bits));
}

Value Emitter::widen(Value a) {
  return arith::ExtFOp::create(builder, loc, withElement(builder.getF64Type()),
                               a);
}
Value Emitter::narrow(Value a) {
  return arith::TruncFOp::create(builder, loc, type, a);
}
Value Emitter::lowBits(Value a) {
  Value bits = arith::BitcastOp::create(builder, loc,
                                        withElement(builder.getI64Type()), a);
  return arith::TruncIOp::create(builder, loc,
                                 withElement(builder.getI32Type()), bits);
}

Value Emitter::polynomial(Value x, ArrayRef<float> coefficients) {
  Value sum = f32(coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, f32(coefficient));
  return sum;
}
Value Emitter::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = f64(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, f64(coefficient));
  return sum;
}
