//===- CpuReduce.cpp - loops that evaluate and fold tiles -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

CpuEmitter::Tree CpuEmitter::treeOf(ValueRange roots) {
  Tree tree;
  SmallVector<Value> work(roots.begin(), roots.end());
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!isa<TileType>(v.getType()))
      continue;
    const TileForm &form = forms[v];
    if (form.kind != TileForm::Deferred) {
      tree.leaves.insert(v);
      if (form.rows && !tree.rows && typeOf(v).has('k'))
        tree.rows = form.rows;
      if (form.queryRows && !tree.queryRows)
        tree.queryRows = form.queryRows;
      continue;
    }
    Operation *op = v.getDefiningOp();
    if (!tree.ops.insert(op))
      continue;
    if (auto mask = dyn_cast<tile::MaskOp>(op))
      tree.edge = scalars.lookupOrDefault(mask.getEdge());
    work.append(op->operand_begin(), op->operand_end());
  }
  return tree;
}

void CpuEmitter::underMasks(const Tree &tree, function_ref<void()> body) {
  if (!tree.edge)
    return body();
  auto version = [&](bool withMask) {
    return [&, withMask] {
      masked = withMask;
      body();
      masked = false;
    };
  };
  auto with = version(true), without = version(false);
  ifThenElse(tree.edge, with, without);
}

/// Vectors of one value a query are loaded once a panel.
void CpuEmitter::preload(const Tree &tree, Value panel) {
  preloaded.clear();
  for (Value leaf : tree.leaves)
    if (hasLanes(typeOf(leaf)) && typeOf(leaf).rank() == 1)
      for (int64_t v = 0; v < level.panelVectors; ++v) {
        Value vector = at(leaf, {panel, v, {}});
        preloaded[{leaf, v}] = vector;
      }
}

Value CpuEmitter::materialize(Value t) {
  TileForm &form = forms[t];
  if (form.kind == TileForm::Buffer)
    return form.memory;
  Tree tree = treeOf(t);
  bool keeps = form.kind == TileForm::Deferred;
  Value memory = keeps ? targetOf(t, tree) : allocate(typeOf(t), t);
  materializeInto(t, memory, tree);
  if (keeps) { // others are made anew: their buffers may be written over
    forms[t] = {TileForm::Buffer, memory, {}, {}, tree.rows, tree.queryRows};
    done.insert(t.getDefiningOp());
  }
  return memory;
}

void CpuEmitter::materializeInto(Value t, Value memory, const Tree &tree) {
  TileType type = typeOf(t);
  if (hasRowLanes(type))
    return materializeRows(t, memory, tree);
  underMasks(tree, [&] {
    if (!hasLanes(type)) {
      loop(index(0), index(type.getShape()[0]), level.lanes, [&](Value x) {
        storeVector(at(t, {{}, 0, x}), memory, x);
      });
      return;
    }
    forPanels([&](Value panel) {
      preload(tree, panel);
      if (type.rank() == 1) {
        for (int64_t v = 0; v < level.panelVectors; ++v)
          storeVector(at(t, {panel, v, {}}), memory,
                      add(mul(panel, index(panelLanes())), v * level.lanes));
      } else {
        char x = other(type);
        Value limit = x == 'k' && tree.rows ? tree.rows : index(type.size(x));
        loop(index(0), limit, 1, [&](Value row) {
          for (int64_t v = 0; v < level.panelVectors; ++v)
            storeVector(at(t, {panel, v, row}), memory,
                        {panelIn(memory, panel), row, index(v * level.lanes)});
        });
      }
      preloaded.clear();
    });
  });
}

LogicalResult CpuEmitter::emitReduce(tile::ReduceOp op) {
  Value root = op.getTile();
  TileType type = typeOf(root), result = op.getResult().getType();
  if (panels == 0 && type.rank() == 2 &&
      result.getAxes() != type.getAxes().drop_front())
    return emitRowReduce(op);
  if (hasRowLanes(result) && type.rank() == 2)
    return emitFeatureReduce(op), success();
  if (type.rank() != 2 || !hasLanes(type) || result.rank() != 1 ||
      !hasLanes(result))
    return op.emitOpError("folds something else than the rows of a panel");
  Tree tree = treeOf(root), initTree = treeOf(op.getInit());
  // Evaluated once: kept if anything else still reads it.
  Value kept;
  if (forms[root].kind == TileForm::Deferred &&
      llvm::any_of(root.getUsers(), [&](Operation *user) {
        return !isFinished(user, op, tree.ops);
      }))
    kept = targetOf(root, tree);
  Value target = targetOf(op.getResult(), initTree);

  bool isFloat = result.getElementType().isF32();
  auto combine = [&](Value x, Value y) -> Value {
    switch (op.getCombine()) {
    case tile::Combine::Add:
      return isFloat ? make<arith::AddFOp>(x, y).getResult()
                     : make<arith::AddIOp>(x, y).getResult();
    case tile::Combine::Max:
      if (!isFloat)
        return make<arith::MaxSIOp>(x, y);
      break;
    case tile::Combine::Min:
      if (!isFloat)
        return make<arith::MinSIOp>(x, y);
      break;
    }
    // One machine instruction; a NaN shows in the weights, not here.
    auto predicate = op.getCombine() == tile::Combine::Max
                         ? arith::CmpFPredicate::OGT
                         : arith::CmpFPredicate::OLT;
    return make<arith::SelectOp>(make<arith::CmpFOp>(predicate, y, x), y, x);
  };

  char x = other(type);
  Value limit = x == 'k' && tree.rows ? tree.rows : index(type.size(x));
  Tree both = tree;
  both.leaves.insert(initTree.leaves.begin(), initTree.leaves.end());
  both.edge = tree.edge ? tree.edge : initTree.edge;
  underMasks(both, [&] {
    // Without the mask, the value may be the one that lies there.
    auto mask = root.getDefiningOp<tile::MaskOp>();
    bool unchanged =
        kept && mask && !masked && forms.lookup(mask.getTile()).memory == kept;
    forPanels([&](Value panel) {
      preload(both, panel);
      // A sum starts afresh, and joins what came before it at the end: rounding
      // grows with the number of tiles, not of keys.
      bool fresh = isFloat && op.getCombine() == tile::Combine::Add;
      auto initial = [&](int64_t v) {
        return at(op.getInit(), {panel, v, {}});
      };
      Values start;
      for (int64_t v = 0; v < level.panelVectors; ++v)
        start.push_back(fresh ? dense(0) : initial(v));
      Values folded =
          loop(index(0), limit, 1, start, [&](Value row, ValueRange carried) {
            Values next;
            for (int64_t v = 0; v < level.panelVectors; ++v) {
              Value y = at(root, {panel, v, row});
              if (kept && !unchanged)
                storeVector(
                    y, kept,
                    {panelIn(kept, panel), row, index(v * level.lanes)});
              next.push_back(combine(carried[v], y));
            }
            return next;
          });
      for (int64_t v = 0; v < level.panelVectors; ++v)
        storeVector(fresh ? combine(initial(v), folded[v]) : folded[v], target,
                    add(mul(panel, index(panelLanes())), v * level.lanes));
      preloaded.clear();
    });
  });
  if (kept) {
    forms[root] = {TileForm::Buffer, kept, {}, {}, tree.rows};
    done.insert(root.getDefiningOp());
  }
  forms[op.getResult()] = {TileForm::Buffer, target, {}, {}, {}};
  return success();
}

void CpuEmitter::emitSqNorm(tile::SqNormOp op) {
  TileType type = typeOf(op.getTile());
  Value result = allocate(op.getResult().getType());
  const TileForm form = forms[op.getTile()];
  int64_t depth = type.getShape()[1];
  forms[op.getResult()] = {TileForm::Buffer, result,        {}, {},
                           form.rows,        form.queryRows};
  if (hasLanes(type)) {
    forPanels([&](Value panel) {
      Values sums =
          loop(index(0), index(depth), 1, Values(level.panelVectors, dense(0)),
               [&](Value d, ValueRange carried) {
                 Values next;
                 for (int64_t v = 0; v < level.panelVectors; ++v) {
                   Value x = at(op.getTile(), {panel, v, d});
                   next.push_back(fma(x, x, carried[v]));
                 }
                 return next;
               });
      for (int64_t v = 0; v < level.panelVectors; ++v)
        storeVector(sums[v], result,
                    add(mul(panel, index(panelLanes())), v * level.lanes));
    });
    return;
  }
  // A key's row lies along memory: lanes are coordinates, folded once at its
  // end.
  int64_t whole = depth / level.lanes * level.lanes;
  Type element = cast<MemRefType>(form.memory.getType()).getElementType();
  auto fast = arith::FastMathFlagsAttr::get(b.getContext(),
                                            arith::FastMathFlags::reassoc);
  loop(index(0), form.rows, 1, [&](Value row) {
    Value start = mul(row, form.stride);
    Value sum = make<arith::ConstantOp>(b.getF32FloatAttr(0));
    if (whole) {
      Values sums = loop(index(0), index(whole), level.lanes, dense(0),
                         [&](Value d, ValueRange carried) -> Values {
                           Value x = widen(
                               loadVector(form.memory, add(start, d), element));
                           return {fma(x, x, carried[0])};
                         });
      sum = make<vector::ReductionOp>(vector::CombiningKind::ADD, sums[0],
                                      fast.getValue());
    }
    for (int64_t d = whole; d < depth; ++d) {
      Value x = widen(make<memref::LoadOp>(form.memory, add(start, d)));
      sum = make<math::FmaOp>(x, x, sum);
    }
    make<memref::StoreOp>(sum, result, row);
  });
}
