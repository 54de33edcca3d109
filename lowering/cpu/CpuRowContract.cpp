//===- CpuRowContract.cpp - contractions of few rows ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which of them it is; rows of keys and values are read where they lie.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

/// result(x) = acc(x) + sum_r a(x, r) b(r).
void CpuEmitter::emitRowProducts(tile::ContractOp op) {
  TileType type = typeOf(op.getA()), result = op.getResult().getType();
  Value memory = materialize(op.getA()), initial = materialize(op.getAcc());
  const TileForm a = forms[op.getA()], factors = asView(op.getB());
  Value target = allocate(result), stride = strideOf(type, a);
  loop(index(0), rowsOf(type, {}, a.queryRows), 1, [&](Value x) {
    Value row = mul(x, stride);
    Value sum = loop(index(0), index(type.getShape()[1]), level.lanes, dense(0),
                     [&](Value r, ValueRange carried) -> Values {
                       return {fma(loadVector(memory, add(row, r)),
                                   loadVector(factors.memory, r), carried[0])};
                     })[0];
    auto fast = arith::FastMathFlagsAttr::get(b.getContext(),
                                              arith::FastMathFlags::reassoc);
    Value folded = make<vector::ReductionOp>(vector::CombiningKind::ADD, sum,
                                             fast.getValue());
    Value before = make<memref::LoadOp>(initial, x);
    make<memref::StoreOp>(make<arith::AddFOp>(before, folded), target, x);
  });
  forms[op.getResult()] = {TileForm::Buffer, target, {}, {}, {}, a.queryRows};
}

/// The rows of a tile, wherever they lie.
TileForm CpuEmitter::asView(Value tile) {
  if (forms[tile].kind != TileForm::View)
    materialize(tile);
  TileType type = typeOf(tile);
  TileForm view = forms[tile];
  view.stride = strideOf(type, view);
  if (!view.rows || !type.has('k'))
    view.rows = index(type.getShape()[0]);
  return view;
}

LogicalResult CpuEmitter::emitRowContract(tile::ContractOp op) {
  TileType a = typeOf(op.getA()), k = typeOf(op.getB()),
           result = op.getResult().getType();
  bool isRank2 = a.rank() == 2 && k.rank() == 2 && result.rank() == 2;
  const TileForm &acc = forms[op.getAcc()];
  bool fromZero =
      acc.kind == TileForm::Splat && matchPattern(acc.scalar, m_AnyZeroFloat());
  if (isRank2 && a.getAxes()[0] == result.getAxes()[0]) {
    if (a.getAxes()[1] == k.getAxes()[1] && fromZero && !op.getEdge())
      return emitRowDots(op), success();
    if (a.getAxes()[1] == k.getAxes()[0])
      return emitRowSums(op), success();
  }
  // Features are whole vectors.
  if (a.rank() == 2 && k.getAxes() == "r" && a.getAxes()[1] == 'r' &&
      a.getAxes()[0] == result.getAxes()[0] && !op.getEdge())
    return emitRowProducts(op), success();
  return op.emitOpError("contracts something else than rows with rows");
}
