//===- TileBuilder.h - a few words of sugar over tile ops -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_LOOPS_TILEBUILDER_H
#define ATTN_LOWERING_LOOPS_TILEBUILDER_H

#include "lowering/Passes.h"
#include "lowering/loops/ArithmeticAttributes.h"

namespace attn {

/// An OpBuilder at one location that speaks tiles.
class TileBuilder : public mlir::OpBuilder {
public:
  using Body = llvm::function_ref<mlir::Value(mlir::ValueRange)>;

  TileBuilder(mlir::OpBuilder builder, mlir::Location loc)
      : OpBuilder(builder), loc(loc) {}

  mlir::Location loc;

  template <typename Op, typename... Args> Op make(Args &&...args) {
    return Op::create(*this, loc, std::forward<Args>(args)...);
  }

  // Scalars.
  mlir::Value index(int64_t v) { return make<mlir::arith::ConstantIndexOp>(v); }
  mlir::Value real(double v) {
    return make<mlir::arith::ConstantOp>(getF32FloatAttr(v));
  }
  mlir::Value boolean(bool v) {
    return make<mlir::arith::ConstantOp>(getBoolAttr(v));
  }
  mlir::Value dim(mlir::Value memory, int64_t d) {
    return make<mlir::memref::DimOp>(memory, d);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return a.getType().isIntOrIndex()
               ? make<mlir::arith::AddIOp>(a, b).getResult()
               : make<mlir::arith::AddFOp>(a, b).getResult();
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return a.getType().isIntOrIndex()
               ? make<mlir::arith::SubIOp>(a, b).getResult()
               : make<mlir::arith::SubFOp>(a, b).getResult();
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return a.getType().isIntOrIndex()
               ? make<mlir::arith::MulIOp>(a, b).getResult()
               : make<mlir::arith::MulFOp>(a, b).getResult();
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::DivFOp>(a, b);
  }
  mlir::Value min(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::MinSIOp>(a, b);
  }
  mlir::Value max(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::MaxSIOp>(a, b);
  }
  mlir::Value cmp(mlir::arith::CmpIPredicate p, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::CmpIOp>(p, a, b);
  }
  mlir::Value cmp(mlir::arith::CmpFPredicate p, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::CmpFOp>(p, a, b);
  }
  mlir::Value both(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::AndIOp>(a, b);
  }
  mlir::Value either(mlir::Value a, mlir::Value b) {
    return make<mlir::arith::OrIOp>(a, b);
  }
  mlir::Value negate(mlir::Value a) {
    return make<mlir::arith::XOrIOp>(a, boolean(true));
  }
  mlir::Value select(mlir::Value c, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SelectOp>(c, a, b);
  }
  mlir::Value exp2(mlir::Value x) { return make<mlir::math::Exp2Op>(x); }
  /// 2^(x - maximum), where `maximum` is one of x and others.
  mlir::Value exp2Below(mlir::Value x, mlir::Value maximum) {
    auto power = make<mlir::math::Exp2Op>(sub(x, maximum));
    power->setAttr(kNonPositiveAttrName, getUnitAttr());
    return power;
  }
  mlir::Value log(mlir::Value x) { return make<mlir::math::LogOp>(x); }

  // Tiles.
  tile::TileType type(llvm::StringRef axes, llvm::ArrayRef<int64_t> shape,
                      mlir::Type element = {}) {
    return tile::TileType::get(getContext(), axes, shape,
                               element ? element : getF32Type());
  }
  mlir::Value splat(mlir::Value scalar, tile::TileType t) {
    return make<tile::SplatOp>(t, scalar);
  }
  mlir::Value splat(double v, tile::TileType t) { return splat(real(v), t); }
  mlir::Value iota(mlir::Value origin, tile::TileType t) {
    return make<tile::IotaOp>(t, origin);
  }
  mlir::Value map(tile::TileType t, mlir::ValueRange inputs, Body body) {
    auto op = make<tile::MapOp>(t, inputs);
    InsertionGuard guard(*this);
    mlir::Block *block = createBlock(&op.getBody());
    for (mlir::Value v : inputs)
      block->addArgument(
          mlir::cast<tile::TileType>(v.getType()).getElementType(), loc);
    setInsertionPointToStart(block);
    make<tile::YieldOp>(mlir::ValueRange{body(block->getArguments())});
    return op.getResult();
  }
  mlir::Value reduce(tile::Combine combine, mlir::Value x, mlir::Value init) {
    return make<tile::ReduceOp>(init.getType(), combine, x, init);
  }
  mlir::Value contract(mlir::Value a, mlir::Value b, mlir::Value acc,
                       mlir::Value edge = {}, mlir::Value keep = {}) {
    return make<tile::ContractOp>(acc.getType(), a, b, acc, edge, keep);
  }
};

} // namespace attn

#endif // ATTN_LOWERING_LOOPS_TILEBUILDER_H
