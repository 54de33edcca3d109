//===- CpuRowProducts.cpp - products of f32, or of pairs of bf16 ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuRowProducts.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace attn;

static Type elementOf(Value memory) {
  return cast<MemRefType>(memory.getType()).getElementType();
}

RowProducts::RowProducts(CpuEmitter &e, Value a, Value b)
    : RowProducts(e, e.level.hasPairProducts && elementOf(a).isBF16() &&
                         elementOf(b).isBF16()) {}

RowProducts::RowProducts(CpuEmitter &e, bool isPairs)
    : isPairs(isPairs),
      element(isPairs ? Type(e.b.getBF16Type()) : Type(e.b.getF32Type())),
      width(isPairs ? 2 * e.level.lanes : e.level.lanes), e(e) {}

bool RowProducts::takes(Value memory) const {
  return elementOf(memory) == element;
}

Value RowProducts::load(Value memory, Value at, int64_t count) const {
  VectorType type = VectorType::get({width}, elementOf(memory));
  Value stored;
  if (count >= width) {
    stored = e.make<vector::LoadOp>(type, memory, at);
  } else {
    SmallVector<bool> flags(width, false);
    std::fill_n(flags.begin(), count, true);
    Value mask = e.make<arith::ConstantOp>(DenseElementsAttr::get(
        VectorType::get({width}, e.b.getI1Type()), flags));
    Value zeros =
        e.make<arith::ConstantOp>(cast<TypedAttr>(e.b.getZeroAttr(type)));
    stored = e.make<vector::MaskedLoadOp>(type, memory, at, mask, zeros);
  }
  return isPairs ? stored : e.widen(stored);
}

Value RowProducts::add(Value sum, Value x, Value y) const {
  if (!isPairs)
    return e.fma(x, y, sum);
  if (e.level.hasPairProducts) {
    std::string name =
        "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(32 * e.level.lanes);
    return e
        .make<LLVM::CallIntrinsicOp>(sum.getType(), e.b.getStringAttr(name),
                                     ValueRange{sum, x, y})
        .getResult(0);
  }
  // As that, for a test of tiles on a machine without it.
  for (int64_t odd : {0, 1}) {
    SmallVector<int64_t> own;
    for (int64_t l = 0; l < e.level.lanes; ++l)
      own.push_back(2 * l + odd);
    sum = e.fma(e.widen(e.make<vector::ShuffleOp>(x, x, own)),
                e.widen(e.make<vector::ShuffleOp>(y, y, own)), sum);
  }
  return sum;
}

Value RowProducts::broadcast(Value memory, ValueRange at, int64_t count) const {
  if (!isPairs)
    return e.broadcast(e.widen(e.make<memref::LoadOp>(memory, at)));
  Type word = e.b.getI32Type();
  Value both;
  if (count == 2) {
    Value two =
        e.make<vector::LoadOp>(VectorType::get({2}, element), memory, at);
    both = e.make<vector::ExtractOp>(
        e.make<vector::BitCastOp>(VectorType::get({1}, word), two), int64_t(0));
  } else {
    Value one = e.make<arith::BitcastOp>(e.b.getI16Type(),
                                         e.make<memref::LoadOp>(memory, at));
    both = e.make<arith::ExtUIOp>(word, one);
  }
  Value all =
      e.make<vector::BroadcastOp>(VectorType::get({e.level.lanes}, word), both);
  return e.make<vector::BitCastOp>(VectorType::get({width}, element), all);
}

/// Halves of quarters of 16 bytes side by side: instructions that interleave
/// move nothing between quarters.
RowProducts::Values RowProducts::columns(ValueRange rows) const {
  if (!isPairs)
    return {rows[0]};
  Value second = rows.size() == 2 ? rows[1]
                                  : e.make<arith::ConstantOp>(cast<TypedAttr>(
                                        e.b.getZeroAttr(rows[0].getType())));
  Values made;
  for (int64_t half : {0, 4}) {
    SmallVector<int64_t> order;
    for (int64_t quarter = 0; quarter < width; quarter += 8)
      for (int64_t c = quarter + half; c < quarter + half + 4; ++c)
        order.append({c, width + c});
    made.push_back(e.make<vector::ShuffleOp>(rows[0], second, order));
  }
  return made;
}

RowProducts::Values RowProducts::inOrder(ValueRange sums) const {
  Values made(sums);
  if (!isPairs)
    return made;
  int64_t lanes = e.level.lanes;
  SmallVector<int64_t> order; // four of the one, four of the other
  for (int64_t quarter = 0; quarter < lanes; quarter += 4)
    for (int64_t side : {int64_t(0), lanes})
      for (int64_t c = quarter; c < quarter + 4; ++c)
        order.push_back(side + c);
  for (size_t n = 0; n < made.size(); n += 2) {
    Value low = made[n], high = made[n + 1];
    for (int64_t half : {0, 1})
      made[n + half] = e.make<vector::ShuffleOp>(
          low, high, ArrayRef(order).slice(half * lanes, lanes));
  }
  return made;
}
