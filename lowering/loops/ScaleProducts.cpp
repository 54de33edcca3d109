//===- ScaleProducts.cpp - scaling after a product ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/ScaleProducts.h"
#include "dialect/tile/Tile.h"

using namespace mlir;
using namespace attn;

void attn::scaleProducts(func::FuncOp stage) {
  SmallVector<tile::ContractOp> contractions;
  stage.walk([&](tile::ContractOp op) { contractions.push_back(op); });
  for (tile::ContractOp op : contractions) {
    auto map = op.getA().getDefiningOp<tile::MapOp>();
    if (!map || !map.getResult().getType().has('d') ||
        map.getInputs().size() != 1)
      continue;
    Block &block = map.getBody().front();
    auto product =
        block.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
    if (!product || product->getPrevNode())
      continue;
    Value x = block.getArgument(0);
    Value factor = product.getLhs() == x ? product.getRhs() : product.getLhs();
    if (factor == x || (product.getLhs() != x && product.getRhs() != x))
      continue;
    OpBuilder b(op);
    b.setInsertionPointAfter(op);
    auto scaled = tile::MapOp::create(b, op.getLoc(), op.getResult().getType(),
                                      op.getResult());
    Block *body =
        b.createBlock(&scaled.getBody(), {}, b.getF32Type(), op.getLoc());
    Value y =
        arith::MulFOp::create(b, op.getLoc(), body->getArgument(0), factor);
    tile::YieldOp::create(b, op.getLoc(), y);
    op.getResult().replaceAllUsesExcept(scaled.getResult(), scaled);
    op.getAMutable().assign(map.getInputs()[0]);
    if (map.use_empty())
      map.erase();
  }
}
