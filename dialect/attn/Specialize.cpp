//===- Specialize.cpp - a kernel for known row lengths --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/Specialize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace attn;

MemRefType attn::withLastExtents(MemRefType type, ArrayRef<int64_t> extents,
                                 bool contiguous, Type element) {
  SmallVector<int64_t> shape(type.getShape());
  size_t first = shape.size() - std::min(shape.size(), extents.size());
  for (size_t t = first; t < shape.size(); ++t)
    if (extents[t - first] != ShapedType::kDynamic)
      shape[t] = extents[t - first];
  auto [strides, offset] = type.getStridesAndOffset();
  if (contiguous && !strides.empty())
    strides.back() = 1;
  return MemRefType::get(
      shape, element ? element : type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), offset, strides),
      type.getMemorySpace());
}

//===----------------------------------------------------------------------===//
// Row types
//===----------------------------------------------------------------------===//

static RowType rowOf(Value memory) {
  auto type = cast<MemRefType>(memory.getType());
  return RowType::get(type.getContext(), type.getShape().back(),
                      Float32Type::get(type.getContext()));
}

/// Program order: operands have their types before their users.
static LogicalResult inferRows(Region &region) {
  for (Operation &op : region.front()) {
    auto infer = dyn_cast<InferTypeOpInterface>(op);
    if (!infer || !isa<AttnDialect>(op.getDialect()))
      continue;
    SmallVector<Type> types;
    if (failed(infer.inferReturnTypes(
            op.getContext(), op.getLoc(), op.getOperands(),
            op.getDiscardableAttrDictionary(), op.getPropertiesStorage(),
            op.getRegions(), types)))
      return failure();
    for (auto [result, type] : llvm::zip_equal(op.getResults(), types))
      result.setType(type);
  }
  return success();
}

static LogicalResult inferRows(AttentionOp op) {
  Region *maps[] = {&op.getQueryMap(), &op.getKeyMap(), &op.getValueMap()};
  Value inputs[] = {op.getQuery(), op.getKey(), op.getValue()};
  for (unsigned role = 0; role < 3; ++role) {
    if (maps[role]->empty())
      continue;
    maps[role]->getArgument(0).setType(rowOf(inputs[role]));
    if (failed(inferRows(*maps[role])))
      return failure();
  }
  for (unsigned role = 0; role < 2; ++role)
    op.getKappa().getArgument(role).setType(op.getMappedRow(role));
  return inferRows(op.getKappa());
}

//===----------------------------------------------------------------------===//
// Lengths that do not fit
//===----------------------------------------------------------------------===//

/// `q has 8 elements and k has 6`, of the first of the rows and one that is of
/// another length; empty if all are of one.
static std::string unequalRows(ValueRange rows, RowText rowText) {
  auto lengthOf = [](Value row) {
    return cast<RowType>(row.getType()).getLength();
  };
  Value first = rows.front();
  for (Value row : rows.drop_front()) {
    if (ShapedType::isDynamic(lengthOf(first)))
      first = row;
    if (ShapedType::isDynamic(lengthOf(row)) ||
        lengthOf(row) == lengthOf(first))
      continue;
    return rowText(first) + " has " + std::to_string(lengthOf(first)) +
           " elements and " + rowText(row) + " has " +
           std::to_string(lengthOf(row));
  }
  return "";
}

/// The declared name of a parameter.
static std::string nameOf(Value memory) {
  auto argument = dyn_cast<BlockArgument>(memory);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : func::FuncOp();
  auto declaration = function ? function.getArgAttrOfType<ArgAttr>(
                                    argument.getArgNumber(), kArgAttrName)
                              : ArgAttr();
  return declaration ? declaration.getName().str() : "the matrix";
}

/// What the verifiers of the operations ask for, in the words of a spec.
static LogicalResult checkLengths(Region &region, RowText rowText) {
  for (Operation &op : region.front()) {
    if (isa<DotOp, SqDistOp, MapOp>(op)) {
      std::string unequal = unequalRows(op.getOperands(), rowText);
      if (!unequal.empty())
        return emitError(op.getLoc())
               << (isa<MapOp>(op)
                       ? "rows of unequal length meet element by "
                         "element: "
                       : "the rows of '" + op.getName().stripDialect().str() +
                             "' are of unequal length: ")
               << unequal;
    } else if (auto project = dyn_cast<ProjectOp>(op)) {
      auto matrix = cast<MemRefType>(project.getMatrix().getType());
      int64_t length = project.getRow().getType().getLength();
      int64_t rows = matrix.getDimSize(matrix.getRank() - 2);
      if (!ShapedType::isDynamic(length) && !ShapedType::isDynamic(rows) &&
          length != rows)
        return emitError(op.getLoc())
               << "a row and a matrix that do not fit: "
               << rowText(project.getRow()) << " has " << length
               << " elements and " << nameOf(project.getMatrix()) << " has "
               << rows << " rows";
    } else if (auto rope = dyn_cast<RopeOp>(op)) {
      int64_t length = rope.getRow().getType().getLength();
      if (!ShapedType::isDynamic(length) && length % 2 != 0)
        return emitError(op.getLoc()) << "'rope' rotates pairs of elements and "
                                      << rowText(rope.getRow()) << " has "
                                      << length << "; its length must be even";
    }
  }
  return success();
}

static LogicalResult checkLengths(AttentionOp op, RowText rowText) {
  for (Region *region :
       {&op.getQueryMap(), &op.getKeyMap(), &op.getValueMap(), &op.getKappa()})
    if (!region->empty() && failed(checkLengths(*region, rowText)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// Folds operations on constants where they stand. (The greedy driver would
/// move constants out of the regions.)
static void foldConstants(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Region &nested : op.getRegions())
        foldConstants(nested);
      if (op.getNumResults() != 1 || op.hasTrait<OpTrait::ConstantLike>() ||
          !isMemoryEffectFree(&op))
        continue;
      SmallVector<Attribute> constants;
      for (Value operand : op.getOperands()) {
        Attribute constant;
        matchPattern(operand, m_Constant(&constant));
        constants.push_back(constant);
      }
      bool length = isa<DimOp, memref::DimOp>(op);
      if (!length &&
          (constants.empty() || llvm::is_contained(constants, nullptr)))
        continue;
      SmallVector<OpFoldResult> results;
      if (failed(op.fold(constants, results)) || results.size() != 1)
        continue;
      Value value = dyn_cast<Value>(results[0]);
      if (!value) {
        OpBuilder builder(&op);
        auto constant = arith::ConstantOp::materialize(
            builder, cast<Attribute>(results[0]), op.getResult(0).getType(),
            op.getLoc());
        if (!constant)
          continue;
        value = constant;
      }
      op.getResult(0).replaceAllUsesWith(value);
      op.erase();
    }
}

/// Erases what folding left without users, users first.
static void eraseDead(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      for (Region &nested : op.getRegions())
        eraseDead(nested);
      if (isOpTriviallyDead(&op))
        op.erase();
    }
}

//===----------------------------------------------------------------------===//
// specialize
//===----------------------------------------------------------------------===//

LogicalResult attn::specialize(func::FuncOp function,
                               ArrayRef<Type> argumentTypes, RowText rowText) {
  if (function.getNumArguments() != argumentTypes.size())
    return function.emitError("has ")
           << function.getNumArguments() << " arguments, got types for "
           << argumentTypes.size();
  function.setFunctionType(FunctionType::get(
      function.getContext(), argumentTypes, function.getResultTypes()));
  for (auto [argument, type] :
       llvm::zip_equal(function.getArguments(), argumentTypes))
    argument.setType(type);

  WalkResult walk = function.walk([&](AttentionOp op) {
    if (failed(inferRows(op)) || (rowText && failed(checkLengths(op, rowText))))
      return WalkResult::interrupt();
    for (Region &region : op->getRegions()) {
      foldConstants(region);
      eraseDead(region);
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted() || failed(verify(function)));
}

LogicalResult attn::specialize(func::FuncOp function,
                               ArrayRef<SmallVector<int64_t>> lastExtents,
                               ArrayRef<Type> elements, RowText rowText) {
  SmallVector<Type> types;
  for (auto [n, extents] : llvm::enumerate(lastExtents)) {
    if (n >= function.getNumArguments())
      break;
    auto type = dyn_cast<MemRefType>(function.getArgumentTypes()[n]);
    if (!type)
      return function.emitError("argument #") << n << " is no memref";
    auto arg = function.getArgAttrOfType<ArgAttr>(n, kArgAttrName);
    ArgKind kind = arg ? arg.getKind() : ArgKind::Param;
    bool contiguous = kind == ArgKind::Query || kind == ArgKind::Key ||
                      kind == ArgKind::Value ||
                      (kind == ArgKind::Output && arg.getName() == "o");
    types.push_back(withLastExtents(
        type, extents, contiguous, n < elements.size() ? elements[n] : Type()));
  }
  return specialize(function, types, rowText);
}
