//===- KappaOps.cpp - the kernel language: lengths and verifiers ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/Attn.h"

using namespace mlir;
using namespace attn;

static constexpr int64_t kDynamic = ShapedType::kDynamic;

static RowType rowOf(Value v) { return cast<RowType>(v.getType()); }

/// Lengths are equal, or one of them is not known yet.
static bool compatible(int64_t a, int64_t b) {
  return a == kDynamic || b == kDynamic || a == b;
}

static LogicalResult verifyEqualLengths(Operation *op, ValueRange rows) {
  for (Value row : rows.drop_front())
    if (!compatible(rowOf(rows.front()).getLength(), rowOf(row).getLength()))
      return op->emitOpError("needs rows of equal length, got ")
             << rowOf(rows.front()).getLength() << " and "
             << rowOf(row).getLength();
  return success();
}

/// One index for every axis but the last `kept` ones.
static LogicalResult verifyIndexCount(Operation *op, MemRefType memory,
                                      ValueRange indices, int64_t kept) {
  if (memory.getRank() != static_cast<int64_t>(indices.size()) + kept)
    return op->emitOpError("needs ")
           << memory.getRank() - kept << " leading indices, got "
           << indices.size();
  return success();
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  RowType row = getRow().getType();
  if (!row.hasStaticLength())
    return {};
  return IntegerAttr::get(IndexType::get(getContext()), row.getLength());
}

LogicalResult DotOp::verify() {
  return verifyEqualLengths(*this, getOperands());
}
LogicalResult SqDistOp::verify() {
  return verifyEqualLengths(*this, getOperands());
}

LogicalResult MapOp::verify() {
  if (getRows().empty())
    return emitOpError("needs at least one row");
  if (failed(verifyEqualLengths(*this, getRows())))
    return failure();
  Block &block = getBody().front();
  Type f32 = Float32Type::get(getContext());
  if (block.getNumArguments() != getRows().size() ||
      llvm::any_of(block.getArgumentTypes(), [&](Type t) { return t != f32; }))
    return emitOpError("region takes one f32 a row");
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != 1 ||
      yield.getValues()[0].getType() != f32)
    return emitOpError("region yields one f32");
  return success();
}

LogicalResult ProjectOp::verify() {
  auto matrix = cast<MemRefType>(getMatrix().getType());
  if (failed(verifyIndexCount(*this, matrix, getIndices(), 2)))
    return failure();
  int64_t rows = matrix.getDimSize(matrix.getRank() - 2);
  if (!compatible(rows, getRow().getType().getLength()))
    return emitOpError("multiplies a row of length ")
           << getRow().getType().getLength() << " with a matrix of " << rows
           << " rows";
  return success();
}

LogicalResult ParamRowOp::verify() {
  return verifyIndexCount(*this, cast<MemRefType>(getMemory().getType()),
                          getIndices(), 1);
}

LogicalResult RopeOp::verify() {
  int64_t n = getRow().getType().getLength();
  if (n != kDynamic && n % 2 != 0)
    return emitOpError("rotates pairs and needs a row of even length, got ")
           << n;
  return success();
}

LogicalResult RandomFeaturesOp::verify() {
  bool positive =
      getKind() == RandomKind::Positive || getKind() == RandomKind::Stabilised;
  if (getHyperbolic() && !positive)
    return emitOpError("is hyperbolic only where it is positive");
  return success();
}

//===----------------------------------------------------------------------===//
// Result lengths
//===----------------------------------------------------------------------===//

#define ATTN_INFER(OP)                                                         \
  LogicalResult OP::inferReturnTypes(                                          \
      MLIRContext *context, std::optional<Location> location,                  \
      ValueRange operands, DictionaryAttr attributes,                          \
      OpaqueProperties properties, RegionRange regions,                        \
      SmallVectorImpl<Type> &inferred)

/// No row is longer: lengths of lengths stay far from overflow.
static constexpr int64_t kMaxLength = int64_t(1) << 40;

static RowType f32Row(MLIRContext *context, int64_t length) {
  return RowType::get(context, length, Float32Type::get(context));
}

/// The first known length: equal rows may be known on one side only.
static int64_t firstKnown(ValueRange rows) {
  for (Value row : rows)
    if (rowOf(row).hasStaticLength())
      return rowOf(row).getLength();
  return kDynamic;
}

ATTN_INFER(MapOp) {
  inferred.push_back(f32Row(context, firstKnown(operands)));
  return success();
}
ATTN_INFER(UnitOp) {
  inferred.push_back(operands[0].getType());
  return success();
}
ATTN_INFER(RopeOp) {
  inferred.push_back(operands[0].getType());
  return success();
}
ATTN_INFER(ProjectOp) {
  auto matrix = cast<MemRefType>(operands[1].getType());
  if (matrix.getRank() < 2)
    return emitOptionalError(location, "a matrix has at least two axes");
  inferred.push_back(f32Row(context, matrix.getDimSize(matrix.getRank() - 1)));
  return success();
}
ATTN_INFER(ParamRowOp) {
  auto memory = cast<MemRefType>(operands[0].getType());
  if (memory.getRank() < 1)
    return emitOptionalError(location, "a row needs at least one axis");
  inferred.push_back(f32Row(context, memory.getDimSize(memory.getRank() - 1)));
  return success();
}
ATTN_INFER(PowerOp) {
  PowerOpAdaptor op(operands, attributes, properties, regions);
  int64_t n = rowOf(op.getRow()).getLength(), p = op.getDegree();
  if (n != kDynamic) { // binom(n + p - 1, p), saturating where it is absurd
    int64_t channels = 1;
    for (int64_t t = 1; t <= p; ++t) {
      if (channels > kMaxLength / (n + p))
        return emitOptionalError(location,
                                 "the tensor power has too many channels");
      channels = channels * (n + t - 1) / t;
    }
    n = channels;
  }
  inferred.push_back(f32Row(context, n));
  return success();
}
ATTN_INFER(ConcatOp) {
  int64_t total = 0;
  bool known = true;
  for (Value row : operands) {
    known &= rowOf(row).hasStaticLength();
    if (!rowOf(row).hasStaticLength())
      continue;
    if (rowOf(row).getLength() > kMaxLength - total)
      return emitOptionalError(location, "the rows together are too long");
    total += rowOf(row).getLength();
  }
  inferred.push_back(f32Row(context, known ? total : kDynamic));
  return success();
}
ATTN_INFER(RandomFeaturesOp) {
  RandomFeaturesOpAdaptor op(operands, attributes, properties, regions);
  // While it is parsed, the attribute is in the dictionary only.
  bool twice = op.getHyperbolic() ||
               (attributes && attributes.contains("hyperbolic")) ||
               op.getKind() == RandomKind::Trigonometric;
  auto count = static_cast<int64_t>(op.getCount());
  if (count > kMaxLength)
    return emitOptionalError(location, "there are too many features");
  inferred.push_back(f32Row(context, twice ? 2 * count : count));
  return success();
}
ATTN_INFER(OuterOp) {
  int64_t a = rowOf(operands[0]).getLength(),
          b = rowOf(operands[1]).getLength();
  if (a > 0 && b > 0 && a > kMaxLength / b)
    return emitOptionalError(location,
                             "the outer product has too many channels");
  inferred.push_back(
      f32Row(context, a == kDynamic || b == kDynamic ? kDynamic : a * b));
  return success();
}
ATTN_INFER(ChannelsOp) {
  inferred.push_back(f32Row(context, static_cast<int64_t>(operands.size())));
  return success();
}
#undef ATTN_INFER
