//===- CpuRows.cpp - row maps, one lane a row -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a tile lie across lanes, so every row operation is a loop over
// coordinates and nothing crosses lanes. Element-wise maps are evaluated where
// they are read; the others have a buffer of one panel.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuRowEmitter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

Value RowEmitter::buffer(int64_t rowLength) {
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(e.entry);
  return e.make<memref::AllocaOp>(
      MemRefType::get({rowLength, count * e.level.lanes}, e.b.getF32Type()),
      e.b.getI64IntegerAttr(64));
}

Value RowEmitter::scalar(Value s, int64_t v) {
  if (Value known = computed.lookup({s, v}))
    return known;
  Value vector = e.broadcast(e.scalars.lookupOrDefault(s));
  return vector;
}

Value RowEmitter::element(Value row, Value d, int64_t v) {
  if (Value memory = buffers.lookup(row))
    return e.loadVector(memory, {d, e.index(v * e.level.lanes)});
  if (row == op.getBody().getArgument(0))
    return e.at(op.getTile(), {panel, v, d});
  Operation *def = row.getDefiningOp();
  if (auto map = dyn_cast<MapOp>(def)) {
    DenseMap<Value, Value> inside;
    for (auto [argument, input] :
         llvm::zip(map.getBody().getArguments(), map.getRows()))
      inside[argument] = element(input, d, v);
    auto get = [&](Value x) -> Value {
      auto it = inside.find(x);
      return it != inside.end() ? it->second : scalar(x, v);
    };
    for (Operation &nested : map.getBody().front().without_terminator()) {
      if (nested.getNumOperands() == 0) {
        e.b.clone(nested, e.scalars);
        continue;
      }
      Value value = e.evaluateOp(nested, get);
      inside[nested.getResult(0)] = value;
    }
    return get(map.getBody().front().getTerminator()->getOperand(0));
  }
  // A row of a parameter: the same for every lane, or one a lane.
  auto param = cast<ParamRowOp>(def);
  Value memory = e.scalars.lookupOrDefault(param.getMemory());
  bool varies = llvm::any_of(param.getIndices(), [&](Value i) {
    return computed.count({i, v});
  });
  if (!varies) {
    Values at;
    for (Value i : param.getIndices())
      at.push_back(e.scalars.lookupOrDefault(i));
    at.push_back(d);
    return e.broadcast(e.make<memref::LoadOp>(memory, at));
  }
  Value result = e.dense(0);
  for (int64_t l = 0; l < e.level.lanes; ++l) {
    Values at;
    for (Value i : param.getIndices())
      at.push_back(e.make<arith::IndexCastOp>(
          e.b.getIndexType(), e.make<vector::ExtractOp>(scalar(i, v), l)));
    at.push_back(d);
    result =
        e.make<vector::InsertOp>(e.make<memref::LoadOp>(memory, at), result, l);
  }
  return result;
}

void RowEmitter::fill(Value result, int64_t n,
                      function_ref<Value(Value, int64_t)> f) {
  Value memory = buffer(n);
  e.loop(e.index(0), e.index(n), 1, [&](Value d) {
    for (int64_t v = 0; v < vectors(); ++v)
      setElement(memory, d, v, f(d, v));
  });
  buffers[result] = memory;
}

Value RowEmitter::sum(int64_t n, int64_t v,
                      function_ref<Value(Value, Value)> term) {
  return e.loop(e.index(0), e.index(n), 1, e.dense(0),
                [&](Value d, ValueRange carried) -> Values {
                  return {term(d, carried[0])};
                })[0];
}

LogicalResult RowEmitter::emitBody() {
  Block &block = op.getBody().front();
  for (auto [argument, input] :
       llvm::zip(block.getArguments().drop_front(), op.getScalars()))
    for (int64_t v = 0; v < vectors(); ++v) {
      Value vector = e.at(input, {panel, v, firstKey});
      computed[{argument, v}] = vector;
    }
  for (Operation &nested : block.without_terminator())
    if (failed(emit(nested)))
      return failure();
  return success();
}

LogicalResult RowEmitter::runKeys(ArrayRef<Value> targets,
                                  ArrayRef<int64_t> strides) {
  if (failed(emitBody()))
    return failure();
  int64_t lanes = e.level.lanes;
  for (auto [value, memory, step] :
       llvm::zip(op.getBody().front().getTerminator()->getOperands(), targets,
                 strides)) {
    Value row = value, target = memory;
    if (!isa<RowType>(row.getType())) {
      e.storeVector(scalar(row, 0), target, firstKey);
      continue;
    }
    int64_t n = length(row), whole = n / lanes * lanes, stride = step;
    if (!buffers.count(row))
      fill(row, n, [&](Value d, int64_t v) { return element(row, d, v); });
    auto block = [&](Value d, int64_t count) {
      auto take = [&](Value l) -> Value {
        Value x = element(row, e.min(e.add(d, l), e.index(n - 1)), 0);
        if (count == lanes)
          return x;
        Value exists =
            e.make<arith::CmpIOp>(arith::CmpIPredicate::slt, l, e.index(count));
        return e.make<arith::SelectOp>(exists, x, e.dense(0));
      };
      e.transpose(e.b.getF32Type(), take, [&](Value l, Value vector) {
        e.storeVector(vector, target,
                      e.add(e.mul(e.add(firstKey, l), e.index(stride)), d));
      });
    };
    if (whole)
      e.loop(e.index(0), e.index(whole), lanes,
             [&](Value d) { block(d, lanes); });
    if (whole < n)
      block(e.index(whole), n - whole);
  }
  return success();
}

LogicalResult RowEmitter::run(ArrayRef<Value> targets) {
  if (failed(emitBody()))
    return failure();
  Block &block = op.getBody().front();
  for (auto [value, target] :
       llvm::zip(block.getTerminator()->getOperands(), targets)) {
    Value yielded = value, memory = target;
    if (isa<RowType>(yielded.getType())) {
      e.loop(e.index(0), e.index(length(yielded)), 1, [&](Value d) {
        for (int64_t v = 0; v < vectors(); ++v)
          e.storeVector(element(yielded, d, v), memory,
                        {panel, d, e.index(v * e.level.lanes)});
      });
      continue;
    }
    for (int64_t v = 0; v < vectors(); ++v)
      e.storeVector(
          scalar(yielded, v), memory,
          e.add(e.mul(panel, e.index(e.panelLanes())), v * e.level.lanes));
  }
  return success();
}

/// Rows of keys: a vector of keys at a time goes across lanes and back.
LogicalResult CpuEmitter::emitKeyRows(tile::RowsOp op) {
  TileType type = typeOf(op.getTile());
  const TileForm view = forms[op.getTile()];
  int64_t depth = type.getShape()[1];
  Value input = reserve({depth, level.lanes}, b.getF32Type());
  Values targets;
  SmallVector<int64_t> strides;
  for (Value result : op.getResults()) {
    TileType made = typeOf(result);
    int64_t n = made.rank() == 2 ? made.getShape()[1] : 1;
    strides.push_back(made.rank() == 2 ? llvm::alignTo(n, level.lanes) : 1);
    // The last vector of rows may reach past the tile.
    int64_t rows = llvm::alignTo(made.getShape()[0], level.lanes);
    targets.push_back(reserve({rows * strides.back()}, b.getF32Type()));
    // Rows that are no features are read as those in the caller's memory.
    forms[result] = {made.has('d') ? TileForm::View : TileForm::Buffer,
                     targets.back(),
                     made.has('d') ? index(strides.back()) : Value(),
                     {},
                     view.rows,
                     view.queryRows};
  }
  LogicalResult result = success();
  loop(index(0), view.rows, level.lanes, [&](Value first) {
    transposeRows(
        view.memory, view.stride, first, add(view.rows, -1), depth,
        [&](Value d, Value vector) {
          storeVector(vector, input, {d, index(0)});
        },
        [&](Value d, Value l, Value x) {
          make<memref::StoreOp>(x, input, ValueRange{d, l});
        });
    result = RowEmitter(*this, op, first, input).runKeys(targets, strides);
  });
  return result;
}

LogicalResult CpuEmitter::emitRows(tile::RowsOp op) {
  if ((panels == 0 || typeOf(op.getTile()).getAxes() == "kd") &&
      forms[op.getTile()].kind == TileForm::View)
    return emitKeyRows(op);
  if (!hasLanes(typeOf(op.getTile())))
    return op.emitOpError("maps something else than rows across lanes");
  Values targets;
  for (Value result : op.getResults()) {
    targets.push_back(allocate(typeOf(result)));
    forms[result] = {TileForm::Buffer, targets.back(), {}, {}, {}};
  }
  LogicalResult result = success();
  forPanels(
      [&](Value panel) { result = RowEmitter(*this, op, panel).run(targets); });
  return result;
}
