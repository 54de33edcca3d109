//===- CpuEmitter.cpp - operations and loops ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

#include "mlir/Dialect/SCF/Utils/Utils.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

CpuEmitter::CpuEmitter(OpBuilder builder, Location loc, const CpuLevel &level,
                       std::pair<int64_t, int64_t> featureBlock, int64_t panels,
                       unsigned integerBits, bool matrixUnit,
                       IRMapping &scalars, Block *entry)
    : b(builder), loc(loc), level(level), featureBlock(featureBlock),
      panels(panels), integerBits(integerBits), scalars(scalars), entry(entry),
      matrixUnit(matrixUnit) {}

//===----------------------------------------------------------------------===//
// Sugar
//===----------------------------------------------------------------------===//

Value CpuEmitter::index(int64_t v) {
  Value &constant = indices[v];
  if (!constant) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    constant = make<arith::ConstantIndexOp>(v);
  }
  return constant;
}

Type CpuEmitter::laneType(Type scalar) {
  bool isWhole =
      scalar.isIndex() || (scalar.isSignlessInteger() && !scalar.isInteger(1));
  return isWhole ? laneInteger() : scalar;
}

Value CpuEmitter::toLaneType(Value scalar) {
  Type from = scalar.getType(), to = laneType(from);
  if (from == to)
    return scalar;
  if (from.isIndex())
    return make<arith::IndexCastOp>(to, scalar);
  return from.getIntOrFloatBitWidth() > integerBits
             ? make<arith::TruncIOp>(to, scalar).getResult()
             : make<arith::ExtSIOp>(to, scalar).getResult();
}

VectorType CpuEmitter::vectorOf(Type scalar) {
  return VectorType::get({level.lanes}, laneType(scalar));
}

Value CpuEmitter::dense(double v) {
  return make<arith::ConstantOp>(
      DenseElementsAttr::get(vectorOf(b.getF32Type()), static_cast<float>(v)));
}

Value CpuEmitter::broadcast(Value scalar) {
  Type type = scalar.getType();
  if (auto constant = scalar.getDefiningOp<arith::ConstantOp>()) {
    VectorType vector = vectorOf(type);
    if (auto f = dyn_cast<FloatAttr>(constant.getValue()))
      return make<arith::ConstantOp>(
          DenseElementsAttr::get(vector, f.getValue()));
    if (auto i = dyn_cast<IntegerAttr>(constant.getValue()))
      return make<arith::ConstantOp>(DenseElementsAttr::get(
          vector, i.getValue().sextOrTrunc(vector.getElementTypeBitWidth())));
  }
  return make<vector::BroadcastOp>(vectorOf(type), toLaneType(scalar));
}

Value CpuEmitter::loadVector(Value memory, ValueRange indices, Type scalar) {
  return make<vector::LoadOp>(vectorOf(scalar ? scalar : b.getF32Type()),
                              memory, indices);
}

CpuEmitter::Values
CpuEmitter::loop(Value lo, Value hi, int64_t step, ValueRange init,
                 function_ref<Values(Value, ValueRange)> body,
                 int64_t unrollBy) {
  auto op = make<scf::ForOp>(
      lo, hi, index(step), init,
      [&](OpBuilder &nested, Location, Value iv, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        Values next = body(iv, carried);
        make<scf::YieldOp>(next);
      });
  if (unrollBy > 1)
    unrolls.push_back({op, unrollBy});
  return Values(op.getResults());
}

void CpuEmitter::loop(Value lo, Value hi, int64_t step,
                      function_ref<void(Value)> body) {
  loop(lo, hi, step, ValueRange{}, [&](Value iv, ValueRange) {
    body(iv);
    return Values();
  });
}

void CpuEmitter::ifThenElse(Value condition, function_ref<void()> then,
                            function_ref<void()> otherwise) {
  auto op = make<scf::IfOp>(TypeRange(), condition,
                            /*withElse=*/static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
  if (otherwise) {
    b.setInsertionPointToStart(op.elseBlock());
    otherwise();
  }
}

void CpuEmitter::finish() {
  // Innermost loops; recorded in order of creation, none contains another.
  constexpr llvm::StringLiteral repeated = "attn.repeated";
  for (auto [op, factor] : unrolls)
    (void)loopUnrollByFactor(
        op, factor, [&, last = factor - 1](unsigned copy, Operation *op, auto) {
          if (copy != last && op->hasAttr(kOnceAttrName))
            op->setAttr(repeated, b.getUnitAttr());
        });
  entry->getParentOp()->walk([&](Operation *op) {
    if (op->hasAttr(repeated))
      op->erase();
  });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static bool touchesTiles(Operation &op) {
  auto isTile = [](Type t) { return isa<TileType>(t); };
  return op
      .walk([&](Operation *nested) {
        bool found = llvm::any_of(nested->getOperandTypes(), isTile) ||
                     llvm::any_of(nested->getResultTypes(), isTile);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult CpuEmitter::emitBlock(Block &block) {
  if (isa<scf::ForallOp>(block.getParentOp()))
    block.walk([&](tile::ContractOp op) {
      hasFeatures |= typeOf(op.getA()).has('r') || typeOf(op.getB()).has('r');
    });
  bool innermost = block.getParentOp()->getParentOfType<scf::ForOp>() ||
                   isa<scf::ForOp>(block.getParentOp());
  for (Operation &op : block)
    innermost &= !(isa<scf::ForOp, scf::IfOp>(op) && touchesTiles(op));
  if (innermost && panels > 1)
    return emitPanelByPanel(block);
  for (Operation &op : block.without_terminator())
    if (failed(emit(op)))
      return failure();
  return success();
}

LogicalResult CpuEmitter::emit(Operation &op) {
  loc = op.getLoc();
  if (!touchesTiles(op)) {
    b.clone(op, scalars);
    return success();
  }
  auto finished = [&](LogicalResult result) {
    done.insert(&op);
    return result;
  };
  if (auto forOp = dyn_cast<scf::ForOp>(op))
    return finished(emitFor(forOp));
  if (auto ifOp = dyn_cast<scf::IfOp>(op))
    return finished(emitIf(ifOp));
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return emitLoad(load), finished(success());
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return finished(emitStore(store));
  if (auto contract = dyn_cast<tile::ContractOp>(op))
    return onlyStore(contract) ? success() : finished(emitContract(contract));
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return finished(emitReduce(reduce));
  if (auto norm = dyn_cast<tile::SqNormOp>(op))
    return emitSqNorm(norm), finished(success());
  if (auto rows = dyn_cast<tile::RowsOp>(op))
    return finished(emitRows(rows));
  if (auto splat = dyn_cast<tile::SplatOp>(op)) {
    forms[splat.getResult()] = {
        TileForm::Splat, {}, {}, scalars.lookupOrDefault(splat.getValue()), {}};
    return finished(success());
  }
  if (auto iota = dyn_cast<tile::IotaOp>(op)) {
    forms[iota.getResult()] = {TileForm::Positions,
                               {},
                               {},
                               scalars.lookupOrDefault(iota.getOrigin()),
                               {}};
    return finished(success());
  }
  if (isa<tile::MapOp, tile::MaskOp, tile::SqDistOp, tile::CastOp>(op)) {
    Value result = op.getResult(0);
    forms[result] = {};
    // What is one value a query or a key, or used in an inner loop, is computed
    // at once; the rest waits.
    bool inner = llvm::any_of(result.getUsers(), [&](Operation *user) {
      return user->getBlock() != op.getBlock();
    });
    if ((typeOf(result).rank() == 1 || inner) &&
        !typeOf(result).getElementType().isInteger(1))
      materialize(result);
    return success();
  }
  return op.emitOpError("has no form on the CPU");
}

/// Loop-carried tiles become buffers that the body updates in place.
LogicalResult CpuEmitter::emitFor(scf::ForOp op) {
  Values buffers;
  llvm::SetVector<Operation *> none;
  for (auto [init, argument] :
       llvm::zip(op.getInitArgs(), op.getRegionIterArgs())) {
    auto type = dyn_cast<TileType>(init.getType());
    if (!type)
      return op.emitOpError("carries a scalar beside tiles");
    Value from = materialize(init);
    // The loop may write over its start if nobody else reads it; an enclosing
    // `yield` on the path not taken does not count.
    bool own = llvm::all_of(init.getUsers(), [&](Operation *user) {
      return user == op || isa<scf::YieldOp>(user) ||
             isFinished(user, op, none);
    });
    Value buffer = from;
    if (!own) {
      buffer = allocate(type);
      copy(type, from, buffer);
    }
    buffers.push_back(buffer);
    forms[argument] = {TileForm::Buffer, buffer, {}, {}, {}};
  }
  auto lookup = [&](Value v) { return scalars.lookupOrDefault(v); };
  auto made =
      make<scf::ForOp>(lookup(op.getLowerBound()), lookup(op.getUpperBound()),
                       lookup(op.getStep()));
  scalars.map(op.getInductionVar(), made.getInductionVar());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  if (failed(emitBlock(*op.getBody())))
    return failure();
  loc = op.getLoc();
  auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
  Values next; // all of them, before any buffer is written over
  for (Value v : yield.getOperands())
    next.push_back(materialize(v));
  for (auto [v, from, to] : llvm::zip(yield.getOperands(), next, buffers))
    copy(typeOf(v), from, to);
  done.insert(yield);
  for (auto [result, buffer] : llvm::zip(op.getResults(), buffers))
    forms[result] = {TileForm::Buffer, buffer, {}, {}, {}};
  return success();
}

/// The results take the buffers of the values that one branch passes on: the
/// else branch as the loops are made, or the other where the canonicaliser
/// turned a negated condition round.
LogicalResult CpuEmitter::emitIf(scf::IfOp op) {
  auto branchYield = [](Block *block) {
    return cast<scf::YieldOp>(block->getTerminator());
  };
  auto isCarried = [&](Value v) {
    auto form = forms.find(v);
    return isa<TileType>(v.getType()) && form != forms.end() &&
           form->second.kind == TileForm::Buffer;
  };
  Values targets;
  if (op.getNumResults()) {
    auto carried = branchYield(op.elseBlock()).getOperands();
    if (!llvm::all_of(carried, isCarried))
      carried = branchYield(op.thenBlock()).getOperands();
    if (!llvm::all_of(carried, isCarried))
      return op.emitOpError("passes on something else than carried tiles");
    for (Value v : carried)
      targets.push_back(forms[v].memory);
  }
  auto made =
      make<scf::IfOp>(TypeRange(), scalars.lookupOrDefault(op.getCondition()),
                      /*withElse=*/op.elseBlock() != nullptr);
  OpBuilder::InsertionGuard guard(b);
  for (bool then : {true, false}) {
    Block *block = then ? op.thenBlock() : op.elseBlock();
    if (!block)
      continue;
    b.setInsertionPointToStart(then ? made.thenBlock() : made.elseBlock());
    if (failed(emitBlock(*block)))
      return failure();
    loc = op.getLoc();
    scf::YieldOp yield = branchYield(block);
    Values next;
    for (Value v : yield.getOperands())
      next.push_back(materialize(v));
    for (auto [v, from, to] : llvm::zip(yield.getOperands(), next, targets))
      copy(typeOf(v), from, to);
    done.insert(yield);
  }
  for (auto [result, buffer] : llvm::zip(op.getResults(), targets))
    forms[result] = {TileForm::Buffer, buffer, {}, {}, {}};
  return success();
}
