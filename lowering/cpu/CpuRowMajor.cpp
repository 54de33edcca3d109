//===- CpuRowMajor.cpp - tiles with lanes along their last axis -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no query owns fills the lanes with its own last axis: features, and in a
// grid of few queries everything, coordinates of rows and keys of pairs. A
// value a row is then the same for all lanes. A row of a buffer is a whole
// number of vectors, and what lies past its end is never looked at.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

Value CpuEmitter::rowsOf(TileType type, Value keys, Value queries) {
  char axis = type.getAxes()[0];
  if (axis == 'k' && keys)
    return keys;
  if (axis == 'q' && queries)
    return queries;
  return index(type.getShape()[0]);
}

//===----------------------------------------------------------------------===//
// One vector
//===----------------------------------------------------------------------===//

Value CpuEmitter::alongRow(TileType type, const TileForm &form,
                           const Point &p) {
  Value start = add(p.panel, p.vector * level.lanes);
  return type.rank() == 1 ? start : add(mul(p.x, strideOf(type, form)), start);
}

Value CpuEmitter::atRowMajor(TileType type, const TileForm &form,
                             const Point &p) {
  bool along = !p.panel || type.getAxes().back() == laneAxis;
  Value start = p.panel ? add(p.panel, p.vector * level.lanes) : p.x;
  if (form.kind == TileForm::Positions) {
    Value first = broadcast(add(form.scalar, along ? start : p.x));
    if (!along)
      return first;
    SmallVector<Attribute> steps;
    for (int64_t l = 0; l < level.lanes; ++l)
      steps.push_back(b.getIntegerAttr(laneInteger(), l));
    return add(first, make<arith::ConstantOp>(DenseElementsAttr::get(
                          vectorOf(laneInteger()), steps)));
  }
  if (type.rank() == 2) // as it is stored
    return widen(
        loadVector(form.memory, alongRow(type, form, p),
                   cast<MemRefType>(form.memory.getType()).getElementType()));
  return along ? loadVector(form.memory, start, type.getElementType())
               : broadcast(make<memref::LoadOp>(form.memory, p.x));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void CpuEmitter::forRowVectors(int64_t elements,
                               function_ref<void(Value, int64_t)> body) {
  int64_t vectors = llvm::divideCeil(elements, level.lanes);
  int64_t each = std::min(featureBlock.first, vectors);
  int64_t whole = vectors / each * each * level.lanes;
  if (whole == each * level.lanes)
    body(index(0), each);
  else
    loop(index(0), index(whole), each * level.lanes,
         [&](Value r) { body(r, each); });
  if (int64_t rest = vectors % each)
    body(index(whole), rest);
}

void CpuEmitter::materializeRows(Value t, Value memory, const Tree &tree) {
  TileType type = typeOf(t);
  const TileForm form = {TileForm::Buffer, memory, {}, {}, {}};
  laneAxis = type.getAxes().back();
  underMasks(tree, [&] {
    auto row = [&](Value x) {
      forRowVectors(type.getShape().back(), [&](Value r, int64_t vectors) {
        Values block;
        for (int64_t v = 0; v < vectors; ++v)
          block.push_back(at(t, {r, v, x}));
        for (int64_t v = 0; v < vectors; ++v)
          storeVector(narrow(block[v], type.getElementType()), memory,
                      alongRow(type, form, {r, v, x}));
      });
    };
    if (type.rank() == 1)
      return row({});
    loop(index(0), rowsOf(type, tree.rows, tree.queryRows), 1, row);
  });
}

void CpuEmitter::copyRowMajor(TileType type, Value from, Value to) {
  int64_t rows = type.rank() == 1 ? 1 : type.getShape()[0];
  loop(index(0), index(rows * paddedRow(type)), level.lanes, [&](Value at) {
    storeVector(loadVector(from, at, type.getElementType()), to, at);
  });
}

LogicalResult CpuEmitter::storeRowMajor(tile::StoreOp op) {
  TileType type = typeOf(op.getTile());
  Values indices;
  for (Value i : op.getIndices())
    indices.push_back(scalars.lookupOrDefault(i));
  auto [flat, stride] =
      flatten(scalars.lookupOrDefault(op.getMemory()), indices, 0);
  if (auto sum = op.getTile().getDefiningOp<tile::ContractOp>();
      sum && !done.contains(sum)) { // it has waited for where to go
    done.insert(sum);
    return emitFeatureContract(sum, {TileForm::View, flat, stride, {}, {}});
  }
  TileForm form = forms[op.getTile()];
  if (form.kind != TileForm::View)
    form = {TileForm::Buffer, materialize(op.getTile()), {}, {}, {}};
  Value memory = form.memory;
  Value target = flat, step = stride;
  Type element = cast<MemRefType>(flat.getType()).getElementType();
  int64_t width = type.getShape().back();
  int64_t whole = width / level.lanes * level.lanes;
  auto row = [&](Value x) {
    Value from = x ? mul(x, strideOf(type, form)) : index(0);
    Value to = x ? mul(x, step) : index(0);
    if (whole)
      loop(index(0), index(whole), level.lanes, [&](Value r) {
        storeVector(narrow(loadVector(memory, add(from, r)), element), target,
                    add(to, r));
      });
    for (int64_t r = whole; r < width; ++r)
      make<memref::StoreOp>(
          narrow(make<memref::LoadOp>(memory, add(from, r)), element), target,
          ValueRange{add(to, r)});
  };
  if (type.rank() == 1)
    return row({}), success();
  Value rows = make<arith::SubIOp>(scalars.lookupOrDefault(op.getLimit()),
                                   indices.back());
  loop(index(0), min(rows, index(type.getShape()[0])), 1, row);
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Lanes are folded once a row, by halves.
LogicalResult CpuEmitter::emitRowReduce(tile::ReduceOp op) {
  TileType type = typeOf(op.getTile()), result = op.getResult().getType();
  if (type.rank() != 2 || result.rank() != 1 ||
      result.getAxes()[0] != type.getAxes()[0] ||
      !result.getElementType().isF32() || op.getCombine() == tile::Combine::Min)
    return op.emitOpError("folds something else than rows of numbers");
  Value memory = materialize(op.getTile()), initial = materialize(op.getInit());
  const TileForm form = forms[op.getTile()];
  llvm::SetVector<Operation *> none;
  Value target = reusable(op.getInit(), op.getResult(), none);
  if (!target)
    target = allocate(result);
  bool isSum = op.getCombine() == tile::Combine::Add;
  auto combine = [&](Value x, Value y) -> Value {
    if (isSum)
      return make<arith::AddFOp>(x, y);
    // A NaN shows in the weights, not here.
    Value less = make<arith::CmpFOp>(arith::CmpFPredicate::OLT, x, y);
    return make<arith::SelectOp>(less, y, x);
  };
  int64_t vectors = paddedRow(type) / level.lanes;
  int64_t ways = vectors % 4 == 0 ? 4 : 1;
  loop(index(0), rowsOf(type, form.rows, form.queryRows), 1, [&](Value x) {
    Value start = mul(x, strideOf(type, form));
    Values sums(ways, dense(isSum ? 0 : -INFINITY));
    sums =
        loop(index(0), index(vectors * level.lanes), ways * level.lanes, sums,
             [&](Value at, ValueRange carried) {
               Values next;
               for (int64_t w = 0; w < ways; ++w)
                 next.push_back(combine(
                     carried[w],
                     loadVector(memory, add(add(start, at), w * level.lanes))));
               return next;
             });
    for (; sums.size() > 1; sums.resize(sums.size() / 2))
      for (size_t w = 0; w < sums.size() / 2; ++w)
        sums[w] = combine(sums[w], sums[w + sums.size() / 2]);
    Value folded = sums[0];
    for (int64_t s = level.lanes / 2; s >= 1; s /= 2) {
      SmallVector<int64_t> halves;
      for (int64_t l = 0; l < level.lanes; ++l)
        halves.push_back(l ^ s);
      folded = combine(folded, make<vector::ShuffleOp>(folded, folded, halves));
    }
    Value before = make<memref::LoadOp>(initial, x);
    Value sum = combine(before, make<vector::ExtractOp>(folded, int64_t(0)));
    make<memref::StoreOp>(sum, target, x);
  });
  forms[op.getResult()] = {TileForm::Buffer, target, {}, {}, {}};
  return success();
}
