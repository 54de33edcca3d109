//===- CpuConvert.cpp - storage types to f32 and back ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic is in f32 (S4). bf16 is the upper half of an f32, so a shift does;
// f16 takes the machine's conversion where it has one. Both round to nearest,
// ties to even, and keep NaN and infinity.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

using namespace mlir;
using namespace attn;

namespace {
/// Integer arithmetic on a scalar or on a vector of i32, whichever `like` is.
class Bits {
public:
  Bits(OpBuilder &b, Location loc, Type like) : b(b), loc(loc), like(like) {}

  Type of(Type element) const {
    auto vector = dyn_cast<VectorType>(like);
    return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
  }
  Value constant(TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(of(value.getType())))
      return make<arith::ConstantOp>(DenseElementsAttr::get(vector, value));
    return make<arith::ConstantOp>(value);
  }
  Value i32(uint32_t v) {
    return constant(
        b.getIntegerAttr(b.getI32Type(), APInt(32, v).getSExtValue()));
  }
  Value f32(float v) { return constant(b.getF32FloatAttr(v)); }

  Value both(Value x, uint32_t mask) {
    return make<arith::AndIOp>(x, i32(mask));
  }
  Value either(Value x, Value y) { return make<arith::OrIOp>(x, y); }
  Value left(Value x, uint32_t n) { return make<arith::ShLIOp>(x, i32(n)); }
  Value right(Value x, uint32_t n) { return make<arith::ShRUIOp>(x, i32(n)); }
  Value add(Value x, Value y) { return make<arith::AddIOp>(x, y); }
  Value less(Value x, uint32_t bound) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::ult, x, i32(bound));
  }
  Value select(Value c, Value x, Value y) {
    return make<arith::SelectOp>(c, x, y);
  }
  /// The 16 bits of a stored number, in an i32.
  Value load(Value stored) {
    Value bits = make<arith::BitcastOp>(of(b.getI16Type()), stored);
    return make<arith::ExtUIOp>(of(b.getI32Type()), bits);
  }
  Value store(Value bits, Type storage) {
    Value low = make<arith::TruncIOp>(of(b.getI16Type()), bits);
    return make<arith::BitcastOp>(of(storage), low);
  }
  Value asFloat(Value bits) {
    return make<arith::BitcastOp>(of(b.getF32Type()), bits);
  }
  Value asInt(Value x) { return make<arith::BitcastOp>(of(b.getI32Type()), x); }
  Value toFloat(Value integer) {
    return make<arith::SIToFPOp>(of(b.getF32Type()), integer);
  }
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...);
  }

private:
  OpBuilder &b;
  Location loc;
  Type like;
};
} // namespace

/// f16 without the machine's help. 2^(15 - 127) moves the exponent of a normal
/// number; a denormal one counts units of 2^-24 (as an f32 it would be flushed
/// on its way).
static Value widenHalf(Bits &e, Value stored) {
  Value bits = e.load(stored), sign = e.left(e.both(bits, 0x8000), 16);
  Value magnitude = e.both(bits, 0x7fff);
  Value normal = e.add(e.left(magnitude, 13), e.i32((127 - 15) << 23));
  Value special = e.add(normal, e.i32((127 - 15) << 23)); // exponent 255
  Value denormal =
      e.asInt(e.make<arith::MulFOp>(e.toFloat(magnitude), e.f32(0x1p-24f)));
  Value finite = e.select(e.less(magnitude, 0x400), denormal, normal);
  Value value = e.select(e.less(magnitude, 0x7c00), finite, special);
  return e.asFloat(e.either(value, sign));
}

/// Adding 2^13 times the unit of a denormal f16 rounds there; a normal number
/// is rounded by adding half of its last unit, less one where that is even.
static Value narrowHalf(Bits &e, Value x, Type storage) {
  Value bits = e.asInt(x), sign = e.right(e.both(bits, 0x80000000u), 16);
  Value magnitude = e.both(bits, 0x7fffffff);
  Value odd = e.both(e.right(magnitude, 13), 1);
  Value rounded = e.right(
      e.add(e.add(magnitude, odd), e.i32(0xfffu - ((127u - 15u) << 23))), 13);
  Value shifted = e.make<arith::AddFOp>(e.asFloat(magnitude), e.f32(0.5f));
  Value denormal =
      e.make<arith::SubIOp>(e.asInt(shifted), e.asInt(e.f32(0.5f)));
  Value value = e.select(e.less(magnitude, 113u << 23), denormal, rounded);
  Value finite = e.less(magnitude, (143u << 23) - 0x1000); // rounds below 2^16
  value = e.select(finite, value, e.i32(0x7c00));
  Value number = e.less(magnitude, 0x7f800001);
  value = e.select(number, value, e.i32(0x7e00));
  return e.store(e.either(value, sign), storage);
}

/// Widens a stored number, or a vector of them; f32 is left as it is.
Value CpuEmitter::widen(Value stored) {
  Type element = getElementTypeOrSelf(stored.getType());
  if (!isa<BFloat16Type, Float16Type>(element))
    return stored;
  Bits e(b, loc, stored.getType());
  if (element.isBF16())
    return e.asFloat(e.left(e.load(stored), 16));
  if (!level.hasHalfConversion)
    return widenHalf(e, stored);
  return make<arith::ExtFOp>(e.of(b.getF32Type()), stored);
}

/// Rounds f32, a number or a vector, to a storage type.
Value CpuEmitter::narrow(Value x, Type storage) {
  if (!isa<BFloat16Type, Float16Type>(storage))
    return x;
  Bits e(b, loc, x.getType());
  if (storage.isBF16() && !level.hasPairProducts) {
    // Half of the last unit, less one where the last bit is even.
    Value bits = e.asInt(x), odd = e.both(e.right(bits, 16), 1);
    Value rounded = e.right(e.add(e.add(bits, odd), e.i32(0x7fff)), 16);
    Value quiet = e.either(e.right(bits, 16), e.i32(0x40));
    Value number = e.less(e.both(bits, 0x7fffffff), 0x7f800001);
    return e.store(e.select(number, rounded, quiet), storage);
  }
  if (storage.isF16() && !level.hasHalfConversion)
    return narrowHalf(e, x, storage);
  return make<arith::TruncFOp>(e.of(storage), x);
}
