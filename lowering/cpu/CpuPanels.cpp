//===- CpuPanels.cpp - a tile of queries, panel by panel ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes do not mix: everything that touches lanes is done for one panel after
// the other, and a panel that sees none of a tile's keys is passed over. So a
// tile of many queries reads keys seldom and still computes little that a mask
// hides.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

void CpuEmitter::forPanels(function_ref<void(Value)> body) {
  if (currentPanel)
    return body(currentPanel);
  if (panels == 1)
    return body(index(0));
  // A kernel that never reads a query row has not counted its panels.
  loop(index(0), panelCount ? panelCount : index(panels), 1, body);
}

void CpuEmitter::copyPanel(TileType type, Value from, Value to, Value panel) {
  Type element = type.getElementType();
  auto move = [&](ValueRange at) {
    storeVector(loadVector(from, at, element), to, at);
  };
  if (type.rank() == 1) {
    Value first = mul(panel, index(panelLanes()));
    for (int64_t v = 0; v < level.panelVectors; ++v)
      move(add(first, v * level.lanes));
    return;
  }
  loop(index(0), index(type.size(other(type))), 1, [&](Value x) {
    for (int64_t v = 0; v < level.panelVectors; ++v)
      move({panel, x, index(v * level.lanes)});
  });
}

void CpuEmitter::copy(TileType type, Value from, Value to) {
  if (from == to)
    return;
  if (hasRowLanes(type))
    return copyRowMajor(type, from, to);
  forPanels([&](Value panel) { copyPanel(type, from, to, panel); });
}

static bool touchesLanes(Operation &op) {
  auto hasLanes = [](Type t) {
    auto type = dyn_cast<TileType>(t);
    return type && type.has('q');
  };
  return llvm::any_of(op.getOperandTypes(), hasLanes) ||
         llvm::any_of(op.getResultTypes(), hasLanes);
}

/// The first operation of a block that knows which pairs are visible, or null.
static tile::MaskOp firstMask(Block &block) {
  auto masks = block.getOps<tile::MaskOp>();
  return masks.empty() ? tile::MaskOp() : *masks.begin();
}

/// What of the block `keep` is computed from, itself included.
static llvm::SetVector<Operation *> sliceOf(Value keep, Block &block) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Value> work{keep};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == &block && slice.insert(op))
      work.append(op->operand_begin(), op->operand_end());
  }
  return slice;
}

/// Whether a query of the panel sees a key of the tile.
Value CpuEmitter::seesAny(tile::MaskOp mask, Value panel) {
  Value yes = make<arith::ConstantOp>(b.getBoolAttr(true));
  auto choice = make<scf::IfOp>(TypeRange{yes.getType()},
                                scalars.lookupOrDefault(mask.getEdge()),
                                /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.elseBlock());
  make<scf::YieldOp>(yes);
  b.setInsertionPointToStart(choice.thenBlock());
  TileType type = typeOf(mask.getKeep());
  VectorType flags = vectorOf(b.getI1Type());
  Value none = make<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(flags)));
  Value any = loop(
      index(0), index(type.size(other(type))), 1, none,
      [&](Value x, ValueRange carried) -> Values {
        Value seen = carried[0];
        for (int64_t v = 0; v < level.panelVectors; ++v)
          seen = make<arith::OrIOp>(seen, at(mask.getKeep(), {panel, v, x}));
        return {seen};
      })[0];
  make<scf::YieldOp>(
      make<vector::ReductionOp>(vector::CombiningKind::OR, any).getResult());
  return choice.getResult(0);
}

/// Moves what a panel carries to where its next values would stand. A next
/// value may stand in the buffer of another one's last: all are read before any
/// is written.
void CpuEmitter::copyState(ValueRange next, ValueRange before, Value panel) {
  Value first = mul(panel, index(panelLanes()));
  SmallVector<std::tuple<Value, Value, Value>> stores; // vector, memory, index
  for (auto [to, from] : llvm::zip(next, before)) {
    Value source = forms[from].memory, target = forms[to].memory;
    if (source == target)
      continue;
    TileType type = typeOf(to);
    if (type.rank() == 2) { // the weighted sum, the only one of its kind
      copyPanel(type, source, target, panel);
      continue;
    }
    for (int64_t v = 0; v < level.panelVectors; ++v) {
      Value at = add(first, v * level.lanes);
      Value vector = loadVector(source, at, type.getElementType());
      stores.push_back({vector, target, at});
    }
  }
  for (auto [vector, memory, at] : stores)
    storeVector(vector, memory, at);
}

/// One loop over panels around everything that touches lanes: lanes do not mix,
/// and the scores of a panel are used up before the next panel's are made.
LogicalResult CpuEmitter::emitPanelByPanel(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!touchesLanes(op) && failed(emit(op)))
      return failure();
  // A block that may be passed over for all panels may be for one.
  auto passes = dyn_cast<scf::IfOp>(block.getParentOp());
  tile::MaskOp mask = firstMask(block);
  bool maySkip =
      passes && mask && passes.getNumResults() && &block == passes.thenBlock();
  LogicalResult result = success();
  llvm::SetVector<Operation *> emitted;
  auto emitRest = [&] {
    for (Operation &op : block.without_terminator())
      if (touchesLanes(op) && !emitted.contains(&op) && succeeded(result))
        result = emit(op);
  };
  forPanels([&](Value panel) {
    currentPanel = panel;
    if (maySkip) {
      emitted = sliceOf(mask.getKeep(), block);
      for (Operation &op : block.without_terminator())
        if (emitted.contains(&op) && touchesLanes(op) && succeeded(result))
          result = emit(op);
      // What the panel carries stays as it is.
      auto keepState = [&] {
        if (succeeded(result))
          copyState(block.getTerminator()->getOperands(),
                    passes.elseBlock()->getTerminator()->getOperands(), panel);
      };
      ifThenElse(seesAny(mask, panel), emitRest, keepState);
    } else {
      emitRest();
    }
    currentPanel = Value();
  });
  return result;
}
