//===- CpuFeatures.cpp - tiles whose lanes are features -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of the linear order and the features of keys: nobody's queries, so
// their own axis fills the lanes. A row is a whole number of vectors.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

/// Sums over the rows of a tile, lane by lane.
void CpuEmitter::emitFeatureReduce(tile::ReduceOp op) {
  TileType type = typeOf(op.getTile()), result = op.getResult().getType();
  materialize(op.getTile());
  laneAxis = 'r';
  const TileForm form = forms[op.getTile()];
  Tree tree = treeOf(op.getInit());
  Value target;
  for (Value leaf : tree.leaves)
    if (!target && leaf.getType() == result)
      target = reusable(leaf, op.getResult(), tree.ops);
  if (!target)
    target = allocate(result);
  Value rows = form.rows && type.getAxes()[0] == 'k'
                   ? form.rows
                   : index(type.getShape()[0]);
  forRowVectors(type.size('r'), [&](Value r, int64_t vectors) {
    Values sums = loop(index(0), rows, 1, Values(vectors, dense(0)),
                       [&](Value x, ValueRange carried) {
                         Values next;
                         for (int64_t v = 0; v < vectors; ++v)
                           next.push_back(make<arith::AddFOp>(
                               carried[v], at(op.getTile(), {r, v, x})));
                         return next;
                       });
    for (int64_t v = 0; v < vectors; ++v) {
      Value before = at(op.getInit(), {r, v, {}});
      storeVector(make<arith::AddFOp>(before, sums[v]), target,
                  add(r, v * level.lanes));
    }
  });
  forms[op.getResult()] = {TileForm::Buffer, target, {}, {}, {}};
}

tile::StoreOp CpuEmitter::onlyStore(tile::ContractOp op) {
  TileType type = op.getResult().getType();
  if (!op->hasOneUse() || type.rank() != 2 || !hasRowLanes(type) ||
      type.getAxes()[1] != 'r')
    return {};
  auto store = dyn_cast<tile::StoreOp>(*op->user_begin());
  llvm::APInt first, limit;
  bool isWhole =
      store && store->getBlock() == op->getBlock() &&
      matchPattern(store.getIndices().back(), m_ConstantInt(&first)) &&
      matchPattern(store.getLimit(), m_ConstantInt(&limit)) &&
      limit.getSExtValue() - first.getSExtValue() == type.getShape()[0];
  return isWhole ? store : tile::StoreOp();
}

/// acc(x, r) + sum_k features(k, r) scalars(k, x).
/// Each number of `into` is written after the sum that it begins from was read,
/// so that both may be the same memory.
LogicalResult CpuEmitter::emitFeatureContract(tile::ContractOp op,
                                              TileForm into) {
  Value lanes = op.getA(), broadcasts = op.getB();
  if (!hasRowLanes(typeOf(lanes)))
    std::swap(lanes, broadcasts);
  TileType result = op.getResult().getType();
  TileType laneType = typeOf(lanes), scalarType = typeOf(broadcasts);
  const TileForm view = forms[broadcasts];
  if (result.rank() != 2 || laneType.getAxes() != "kr" ||
      scalarType.getAxes()[0] != 'k' || view.kind != TileForm::View ||
      op.getEdge())
    return op.emitOpError("contracts something else than features of keys with "
                          "rows in memory");
  Value memory = materialize(lanes);
  const TileForm form = {TileForm::Buffer, memory, {}, {}, {}};
  Tree tree = treeOf(op.getAcc());
  Value target = into.memory;
  for (Value leaf : tree.leaves)
    if (!target)
      target = reusable(leaf, op.getResult(), tree.ops);
  if (!target)
    target = allocate(result, op.getResult());
  const TileForm acc = forms[op.getAcc()];
  bool fromZero =
      acc.kind == TileForm::Splat && matchPattern(acc.scalar, m_AnyZeroFloat());
  const TileForm targetForm = {TileForm::Buffer, target, into.stride, {}, {}};
  AheadPlan plan = planAhead(op);
  int64_t width = std::min(featureBlock.first * level.lanes, result.size('r'));
  plan.outerCount = llvm::divideCeil(result.size('r'), width);
  laneAxis = 'r';
  auto nest = [&](Value rows, int64_t unroll) {
    forRowVectors(result.size('r'), [&](Value r, int64_t vectors) {
      plan.outer = make<arith::DivUIOp>(r, index(width));
      contractPanel(
          [&](Value k, int64_t v) {
            return loadVector(memory, alongRow(laneType, form, {r, v, k}));
          },
          vectors, r, rows, Value(), scalarType.getShape()[1],
          {view.memory, view.stride, /*xIsRow=*/false, Value()},
          [&](const Point &p) {
            return fromZero ? Value() : at(op.getAcc(), p);
          },
          [&](const Point &p, Value v) {
            storeVector(v, target, alongRow(result, targetForm, p));
          },
          [&](Value sum, Value l, Value scalar, Value, const Point &) {
            return fma(scalar, l, sum);
          },
          featureBlock.first * featureBlock.second / vectors, unroll, &plan,
          laneType.getShape()[0]);
    });
  };
  Value isWhole = make<arith::CmpIOp>(arith::CmpIPredicate::eq, view.rows,
                                      index(laneType.getShape()[0]));
  ifThenElse(
      isWhole, [&] { nest(index(laneType.getShape()[0]), level.unroll); },
      [&] { nest(view.rows, /*unroll=*/1); });
  forms[op.getResult()] = targetForm;
  return success();
}

/// acc(q) + sum_r features(q, r) scalars(r): as many sums as hide the latency.
LogicalResult CpuEmitter::emitMassContract(tile::ContractOp op) {
  Value lanes = op.getA(), broadcasts = op.getB();
  if (!hasLanes(typeOf(lanes)))
    std::swap(lanes, broadcasts);
  TileType laneType = typeOf(lanes), result = op.getResult().getType();
  if (laneType.rank() != 2 || other(laneType) != 'r' ||
      typeOf(broadcasts).getAxes() != "r")
    return op.emitOpError("contracts something else than features of queries "
                          "with one row of them");
  Value memory = materialize(lanes);
  if (forms[broadcasts].kind != TileForm::View)
    materialize(broadcasts);
  Value scalarMemory = forms[broadcasts].memory;
  Value target = allocate(result);
  constexpr int64_t ways = 4; // features are whole vectors of 4 or more
  int64_t vectors = level.panelVectors;
  forPanels([&](Value panel) {
    Values sums = loop(
        index(0), index(laneType.size('r')), ways,
        Values(ways * vectors, dense(0)), [&](Value r, ValueRange carried) {
          Values next;
          for (int64_t w = 0; w < ways; ++w) {
            Value at = add(r, w);
            Value scalar = broadcast(make<memref::LoadOp>(scalarMemory, at));
            for (int64_t v = 0; v < vectors; ++v)
              next.push_back(fma(loadVector(memory, {panelIn(memory, panel), at,
                                                     index(v * level.lanes)}),
                                 scalar, carried[w * vectors + v]));
          }
          return next;
        });
    for (int64_t v = 0; v < vectors; ++v) {
      Value sum = at(op.getAcc(), {panel, v, {}});
      for (int64_t w = 0; w < ways; ++w)
        sum = make<arith::AddFOp>(sum, sums[w * vectors + v]);
      storeVector(sum, target,
                  add(mul(panel, index(panelLanes())), v * level.lanes));
    }
  });
  forms[op.getResult()] = {TileForm::Buffer, target, {}, {}, {}};
  return success();
}
