//===- CpuElementwise.cpp - deferred operations, vector by vector ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// kappa reaches machine code here and nowhere else: its region is evaluated
// with vector types, inside the loop that reduces it.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"
#include "lowering/loops/ArithmeticAttributes.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

//===----------------------------------------------------------------------===//
// One vector
//===----------------------------------------------------------------------===//

Value CpuEmitter::at(Value t, const Point &p) {
  TileType type = typeOf(t);
  bool lanes = hasLanes(type), alongKeys = !p.panel;
  if (lanes && type.rank() == 1)
    if (Value known = preloaded.lookup({t, p.vector}))
      return known;
  const TileForm form = forms.lookup(t);
  if (panels == 0 &&
      (form.kind == TileForm::Buffer || form.kind == TileForm::View ||
       form.kind == TileForm::Positions))
    return atRowMajor(type, form, p);
  if (hasRowLanes(type) &&
      (form.kind == TileForm::Buffer || form.kind == TileForm::View))
    return loadVector(form.memory, alongRow(type, form, p),
                      type.getElementType());
  auto firstLane = [&] {
    return add(mul(p.panel, index(panelLanes())), p.vector * level.lanes);
  };
  switch (form.kind) {
  case TileForm::Buffer:
    if (lanes && type.rank() == 2)
      return loadVector(
          form.memory,
          {panelIn(form.memory, p.panel), p.x, index(p.vector * level.lanes)},
          type.getElementType());
    if (lanes)
      return loadVector(form.memory, firstLane(), type.getElementType());
    if (alongKeys)
      return loadVector(form.memory, p.x, type.getElementType());
    return broadcast(make<memref::LoadOp>(form.memory, p.x));
  case TileForm::Positions: {
    Value first = add(form.scalar, lanes ? firstLane() : p.x);
    Value vector = broadcast(first);
    if (!lanes && !alongKeys)
      return vector;
    SmallVector<Attribute> steps;
    for (int64_t l = 0; l < level.lanes; ++l)
      steps.push_back(b.getIntegerAttr(laneInteger(), l));
    return add(vector, make<arith::ConstantOp>(DenseElementsAttr::get(
                           vectorOf(laneInteger()), steps)));
  }
  case TileForm::Splat:
    return broadcast(form.scalar);
  case TileForm::View:
  case TileForm::Deferred:
    break;
  }
  Operation *op = t.getDefiningOp();
  if (auto map = dyn_cast<tile::MapOp>(op)) {
    Values arguments;
    for (Value input : map.getInputs())
      arguments.push_back(at(input, p));
    return evaluate(map.getBody(), arguments);
  }
  if (auto mask = dyn_cast<tile::MaskOp>(op)) {
    Value x = at(mask.getTile(), p);
    return !masked ? x
                   : make<arith::SelectOp>(
                         at(mask.getKeep(), p), x,
                         broadcast(scalars.lookupOrDefault(mask.getFill())))
                         .getResult();
  }
  if (auto cast = dyn_cast<tile::CastOp>(op))
    return at(cast.getTile(), p);
  return distance(cast<tile::SqDistOp>(op), p);
}

Value CpuEmitter::evaluate(Region &body, ValueRange arguments) {
  DenseMap<Value, Value> vectors;
  for (auto [argument, vector] : llvm::zip(body.getArguments(), arguments))
    vectors[argument] = vector;
  auto get = [&](Value v) -> Value {
    if (Value known = vectors.lookup(v))
      return known;
    // A scalar from outside, the same for every lane.
    return vectors[v] = broadcast(scalars.lookupOrDefault(v));
  };
  for (Operation &op : body.front().without_terminator()) {
    if (op.getNumOperands() == 0) { // a constant
      b.clone(op, scalars);
      continue;
    }
    vectors[op.getResult(0)] = evaluateOp(op, get);
  }
  return get(body.front().getTerminator()->getOperand(0));
}

/// The operation with vectors for scalars.
Value CpuEmitter::evaluateOp(Operation &op, function_ref<Value(Value)> get) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return gather(load, get);
  if (isa<arith::IndexCastOp>(op)) // integers of every width are alike in lanes
    return get(op.getOperand(0));
  OperationState state(loc, op.getName());
  for (Value operand : op.getOperands())
    state.addOperands(get(operand));
  state.addAttributes(op.getAttrs());
  // Multiplications and additions may fuse; nothing else is reordered.
  bool isRounded = op.hasAttr(kRoundedAttrName);
  state.attributes.erase(kRoundedAttrName);
  if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) && !isRounded) {
    state.attributes.erase("fastmath");
    state.addAttribute("fastmath",
                       arith::FastMathFlagsAttr::get(
                           b.getContext(), arith::FastMathFlags::contract));
  }
  for (Type type : op.getResultTypes())
    state.addTypes(vectorOf(type));
  return b.create(state)->getResult(0);
}

/// A table read at an index a lane: one load a lane.
Value CpuEmitter::gather(memref::LoadOp op, function_ref<Value(Value)> get) {
  Value memory = scalars.lookupOrDefault(op.getMemRef());
  Type element = op.getType();
  Values indices;
  for (Value i : op.getIndices())
    indices.push_back(get(i));
  Value result = make<arith::ConstantOp>(
      cast<TypedAttr>(b.getZeroAttr(vectorOf(element))));
  for (int64_t l = 0; l < level.lanes; ++l) {
    Values lane;
    for (Value i : indices)
      lane.push_back(make<arith::IndexCastOp>(b.getIndexType(),
                                              make<vector::ExtractOp>(i, l)));
    Value entry = toLaneType(make<memref::LoadOp>(memory, lane));
    result = make<vector::InsertOp>(entry, result, l);
  }
  return result;
}

/// S5: |q|^2 + |k|^2 - 2 q.k, and the sum of squared differences in the lanes
/// where that has lost its digits. Each lane's value depends on its pair alone.
Value CpuEmitter::distance(tile::SqDistOp op, const Point &p) {
  Value dot = at(op.getDot(), p);
  Value norms =
      make<arith::AddFOp>(at(op.getQueryNorm(), p), at(op.getKeyNorm(), p));
  Value expanded = fma(dot, dense(-2), norms);
  Value guarded = make<arith::AddFOp>(
      expanded, broadcast(scalars.lookupOrDefault(op.getEps())));
  Value near = make<arith::CmpFOp>(arith::CmpFPredicate::OLE, guarded,
                                   make<arith::MulFOp>(norms, dense(1.0 / 16)));
  Value any = make<vector::ReductionOp>(vector::CombiningKind::OR, near);
  auto choice = make<scf::IfOp>(TypeRange{expanded.getType()}, any,
                                /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  if (panels == 0) { // one pair at a time: lanes are keys
    Value last = add(forms[op.getKey()].rows, -1);
    Values direct =
        loop(index(0), index(level.lanes), 1, expanded,
             [&](Value l, ValueRange carried) -> Values {
               Value isNear = make<vector::ExtractOp>(near, l);
               auto pair =
                   make<scf::IfOp>(TypeRange{expanded.getType()}, isNear,
                                   /*withElse=*/true);
               OpBuilder::InsertionGuard inner(b);
               b.setInsertionPointToStart(pair.thenBlock());
               Value key = add(add(p.panel, p.vector * level.lanes), l);
               Value sum = directDistance(op, p.x, min(key, last));
               make<scf::YieldOp>(
                   make<vector::InsertOp>(sum, carried[0], l).getResult());
               b.setInsertionPointToStart(pair.elseBlock());
               make<scf::YieldOp>(carried[0]);
               return {pair.getResult(0)};
             });
    make<scf::YieldOp>(direct);
  } else {
    const TileForm &q = forms[op.getQuery()], &k = forms[op.getKey()];
    Value last = add(k.rows, -1);
    Value row = mul(min(p.x, last), k.stride);
    int64_t depth = typeOf(op.getQuery()).size('d');
    // Independent sums hide the latency of the additions.
    constexpr int64_t ways = 4;
    int64_t whole = depth / ways * ways;
    auto term = [&](Value d, Value sum) -> Value {
      Value x =
          loadVector(q.memory, {p.panel, d, index(p.vector * level.lanes)});
      Value y = broadcast(widen(make<memref::LoadOp>(k.memory, add(row, d))));
      Value difference = make<arith::SubFOp>(x, y);
      return fma(difference, difference, sum);
    };
    Values sums(ways, dense(0));
    if (whole)
      sums = loop(index(0), index(whole), ways, sums,
                  [&](Value d, ValueRange carried) {
                    Values next;
                    for (int64_t t = 0; t < ways; ++t)
                      next.push_back(term(add(d, t), carried[t]));
                    return next;
                  });
    for (int64_t d = whole; d < depth; ++d)
      sums[d - whole] = term(index(d), sums[d - whole]);
    Value direct = make<arith::AddFOp>(make<arith::AddFOp>(sums[0], sums[1]),
                                       make<arith::AddFOp>(sums[2], sums[3]));
    make<scf::YieldOp>(
        ValueRange{make<arith::SelectOp>(near, direct, expanded)});
  }
  b.setInsertionPointToStart(choice.elseBlock());
  make<scf::YieldOp>(ValueRange{expanded});
  return choice.getResult(0);
}
