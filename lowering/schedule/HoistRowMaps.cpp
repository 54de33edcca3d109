//===- HoistRowMaps.cpp - key-side rows once a row, not once a tile -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Key rows pass by every tile of queries; what is made from them alone (f_K,
// phi(k) inside kappa, |k|^2) is computed ahead, by attn.rows, into workspaces.
// Attention then reads plain rows: `attn.row %w[%b, %h, %j]` and
// `memref.load %w[%b, %h, %j]`, which the loops turn into tile loads.
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/Axes.h"
#include "lowering/Passes.h"
#include "lowering/schedule/CloneSlice.h"
#include "mlir/IR/IRMapping.h"

namespace attn {
#define GEN_PASS_DEF_HOISTROWMAPSPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Adds a workspace argument for values of `type` (a row or f32) to the
/// function.
Value addWorkspace(func::FuncOp func, Type type, bool perQueryHead) {
  MLIRContext *context = func.getContext();
  SmallVector<int64_t> shape(3, ShapedType::kDynamic);
  SmallVector<int64_t> strides(2, ShapedType::kDynamic);
  if (auto row = dyn_cast<RowType>(type)) {
    shape.push_back(row.getLength());
    strides.push_back(row.getLength());
  }
  strides.push_back(1);
  auto memory = MemRefType::get(
      shape, Float32Type::get(context),
      StridedLayoutAttr::get(context, ShapedType::kDynamic, strides));
  unsigned position = func.getNumArguments();
  Builder builder(context);
  auto arg =
      ArgAttr::get(context, ArgKind::Workspace,
                   builder.getStringAttr("w" + std::to_string(position)),
                   builder.getStrArrayAttr(
                       {"batch", perQueryHead ? "head" : "kv_head", "nk"}),
                   /*integer=*/false, StringAttr(), FloatAttr());
  (void)func.insertArgument(
      position, memory,
      builder.getDictionaryAttr(builder.getNamedAttr(kArgAttrName, arg)),
      func.getLoc());
  return func.getArgument(position);
}

/// Once an operation: shared subexpressions have exponentially many paths.
bool usesQueryHead(Operation *op, Region &region) {
  SmallVector<Operation *> work = {op};
  DenseSet<Operation *> seen = {op};
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    if (auto index = dyn_cast<IndexOp>(next))
      if (index.getPosition() == Position::Head)
        return true;
    next->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (def && !next->isProperAncestor(def) &&
            region.isAncestor(def->getParentRegion()) &&
            seen.insert(def).second)
          work.push_back(def);
      }
    });
  }
  return false;
}

/// The values of kappa that are made from the key's row alone and used beside
/// other things: what is to be read back from a workspace.
SmallVector<Value> keyBoundary(AttentionOp op) {
  Region &kappa = op.getKappa();
  AxesOf axes(kappa, {QueryAxis, KeyAxis});
  DenseSet<Value> fromRow{kappa.getArgument(1)};
  SmallVector<Value> candidates;
  for (Operation &nested : kappa.front()) {
    if (nested.getNumResults() != 1 || axes(nested.getResult(0)) != KeyAxis)
      continue;
    bool reads = isa<RowType>(nested.getResult(0).getType());
    for (Value operand : nested.getOperands())
      reads |= fromRow.contains(operand);
    if (!reads)
      continue;
    fromRow.insert(nested.getResult(0));
    candidates.push_back(nested.getResult(0));
  }
  SmallVector<Value> boundary;
  for (Value v : candidates)
    if (llvm::any_of(v.getUsers(),
                     [&](Operation *user) {
                       return user->getNumResults() == 0 ||
                              !fromRow.contains(user->getResult(0));
                     }) &&
        (isa<RowType>(v.getType()) || v.getType().isF32()))
      boundary.push_back(v);
  return boundary;
}

/// One attn.rows over `input` that yields `values` of `region`, after `map` of
/// f.
void buildRows(OpBuilder &builder, Location loc, Value input, Region &map,
               Region *region, ValueRange values, ValueRange outputs) {
  auto rows = RowsOp::create(builder, loc, input, outputs);
  OpBuilder::InsertionGuard guard(builder);
  auto memory = cast<MemRefType>(input.getType());
  Block *block =
      builder.createBlock(&rows.getBody(), {},
                          {RowType::get(builder.getContext(),
                                        memory.getDimSize(memory.getRank() - 1),
                                        builder.getF32Type())},
                          {loc});
  IRMapping mapping;
  Value row = block->getArgument(0);
  if (!map.empty()) {
    mapping.map(map.getArgument(0), row);
    row = cloneSlice(builder,
                     cast<YieldOp>(map.front().getTerminator()).getValues()[0],
                     map, mapping);
    row = mapping.lookupOrDefault(row);
  }
  SmallVector<Value> yields;
  if (region)
    mapping.map(region->getArgument(1), row);
  for (Value v : values)
    yields.push_back(v ? cloneSlice(builder, v, *region, mapping) : row);
  YieldOp::create(builder, loc, yields);
}

struct HoistRowMaps : attn::impl::HoistRowMapsPassBase<HoistRowMaps> {
  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation().walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops) {
      hoistKey(op);
      hoistValue(op);
    }
    // The linear order reads each key once, and makes its features there; what
    // is left are rows of values, the same for both orders.
    Value shared = ops.empty() ? Value() : ops.front().getValue();
    getOperation().walk([&](LinearOp op) {
      if (op.getValueMap().empty())
        return;
      if (!shared)
        return hoistValue(op);
      op.getValueMutable().assign(shared);
      op.getValueMap().getBlocks().clear();
    });
  }

  void hoistKey(AttentionOp op) {
    Location loc = op.getLoc();
    Region &kappa = op.getKappa();
    bool mapped = !op.getKeyMap().empty();
    Value keyRow = kappa.getArgument(1);
    SmallVector<Value> boundary = keyBoundary(op);
    Value mappedKey;

    for (bool perQueryHead : {false, true}) {
      SmallVector<Value> values, workspaces;
      auto want = [&](Value v, Type type) {
        values.push_back(v);
        workspaces.push_back(addWorkspace(getOperation(), type, perQueryHead));
      };
      if (mapped && !perQueryHead)
        want(Value(), keyRow.getType()); // null: f_K's row itself
      for (Value v : boundary)
        if (usesQueryHead(v.getDefiningOp(), kappa) == perQueryHead)
          want(v, v.getType());
      if (values.empty())
        continue;
      OpBuilder builder(op);
      buildRows(builder, loc, op.getKey(), op.getKeyMap(), &kappa, values,
                workspaces);
      for (auto [v, workspace] : llvm::zip(values, workspaces)) {
        if (!v)
          continue;
        OpBuilder inside(v.getDefiningOp());
        Location at = v.getLoc();
        auto position = [&](Position p) -> Value {
          return IndexOp::create(inside, at, inside.getIndexType(),
                                 PositionAttr::get(inside.getContext(), p));
        };
        SmallVector<Value> indices{
            position(Position::Batch),
            position(perQueryHead ? Position::Head : Position::KvHead),
            position(Position::J)};
        Value read =
            isa<RowType>(v.getType())
                ? ParamRowOp::create(inside, at, workspace, indices).getResult()
                : memref::LoadOp::create(inside, at, workspace, indices)
                      .getResult();
        v.replaceAllUsesWith(read);
      }
      if (mapped && !perQueryHead)
        mappedKey = workspaces.front();
    }
    if (mapped) {
      op.getKeyMutable().assign(mappedKey);
      op.getKeyMap().getBlocks().clear();
    }
  }

  template <typename Op> void hoistValue(Op op) {
    if (op.getValueMap().empty())
      return;
    Value workspace = addWorkspace(getOperation(), op.getMappedRow(2), false);
    OpBuilder builder(op);
    buildRows(builder, op.getLoc(), op.getValue(), op.getValueMap(), nullptr,
              {Value()}, {workspace});
    op.getValueMutable().assign(workspace);
    op.getValueMap().getBlocks().clear();
  }
};

} // namespace
