//===- ScaleProducts.cpp - scaling after a product ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/ScaleProducts.h"
#include "dialect/tile/Tile.h"
#include "lowering/loops/ArithmeticAttributes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// c x of one tile, element by element.
static tile::MapOp scaleTile(OpBuilder &b, Location loc, Value tile,
                             Value factor) {
  OpBuilder::InsertionGuard guard(b);
  auto scaled = tile::MapOp::create(b, loc, tile.getType(), tile);
  Block *body = b.createBlock(&scaled.getBody(), {}, b.getF32Type(), loc);
  Value y = arith::MulFOp::create(b, loc, body->getArgument(0), factor);
  tile::YieldOp::create(b, loc, y);
  return scaled;
}

/// max(m, max_k c x) becomes max(m, c max_k x): rounding keeps the order.
static void scaleMaximum(tile::ReduceOp op, Value unscaled, Value factor) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto type = cast<tile::TileType>(op.getResult().getType());
  Value least = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(-INFINITY));
  Value start = tile::SplatOp::create(b, loc, type, least);
  auto fold =
      tile::ReduceOp::create(b, loc, type, tile::Combine::Max, unscaled, start);
  auto larger = tile::MapOp::create(b, loc, type,
                                    ValueRange{op.getInit(), fold.getResult()});
  Block *body = b.createBlock(&larger.getBody(), {},
                              {b.getF32Type(), b.getF32Type()}, {loc, loc});
  Value y = arith::MulFOp::create(b, loc, body->getArgument(1), factor);
  Value isLarger = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, y,
                                         body->getArgument(0));
  tile::YieldOp::create(b, loc,
                        Value(arith::SelectOp::create(b, loc, isLarger, y,
                                                      body->getArgument(0))));
  op.getResult().replaceAllUsesWith(larger.getResult());
  op.erase();
}

/// A map of c x as one of x. c x is rounded before anything is subtracted from
/// it, as the maximum was: their difference must not be positive.
static void scaleInside(tile::MapOp map, Value scaled, Value unscaled,
                        Value factor) {
  Block &body = map.getBody().front();
  OpBuilder b = OpBuilder::atBlockBegin(&body);
  for (auto [n, input] : llvm::enumerate(map.getInputs())) {
    if (input != scaled)
      continue;
    map->setOperand(n, unscaled);
    Value x = body.getArgument(n);
    auto y = arith::MulFOp::create(b, map.getLoc(), x, factor);
    y->setAttr(kRoundedAttrName, b.getUnitAttr());
    x.replaceAllUsesExcept(y, y);
  }
}

/// Scores under a mask stay as they are, and whoever reads them scales: by a
/// number that is greater than 0 the maximum is scaled once a query, and what
/// is raised to a power in the operation that subtracts the maximum.
static void scaleReaders(tile::MapOp scaled, Value factor) {
  FloatAttr number;
  if (!matchPattern(factor, m_Constant(&number)) ||
      !(number.getValueAsDouble() > 0))
    return;
  auto isFill = [](Value fill) {
    FloatAttr value;
    return matchPattern(fill, m_Constant(&value)) &&
           value.getValue().isInfinity() && value.getValue().isNegative();
  };
  Value scores = scaled.getInputs()[0];
  for (Operation *user :
       llvm::make_early_inc_range(scaled.getResult().getUsers())) {
    auto mask = dyn_cast<tile::MaskOp>(user);
    if (!mask || mask.getTile() != scaled.getResult() ||
        !isFill(mask.getFill()))
      continue;
    OpBuilder b(mask);
    auto unscaled = cast<tile::MaskOp>(b.clone(*mask));
    unscaled.getTileMutable().assign(scores);
    Value old = mask.getResult();
    for (Operation *reader : llvm::make_early_inc_range(old.getUsers())) {
      if (auto fold = dyn_cast<tile::ReduceOp>(reader);
          fold && fold.getCombine() == tile::Combine::Max)
        scaleMaximum(fold, unscaled.getResult(), factor);
      else if (auto map = dyn_cast<tile::MapOp>(reader))
        scaleInside(map, old, unscaled.getResult(), factor);
    }
    if (!mask.use_empty())
      mask.replaceAllUsesWith(
          scaleTile(b, mask.getLoc(), unscaled.getResult(), factor)
              .getResult());
    mask.erase();
  }
  if (scaled.use_empty())
    scaled.erase();
}

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
    auto scaled = scaleTile(b, op.getLoc(), op.getResult(), factor);
    op.getResult().replaceAllUsesExcept(scaled.getResult(), scaled);
    op.getAMutable().assign(map.getInputs()[0]);
    if (map.use_empty())
      map.erase();
    scaleReaders(scaled, factor);
  }
}
