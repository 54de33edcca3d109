//===- Tile.cpp - the tile dialect: types and verifiers -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/tile/Tile.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;
using namespace attn::tile;

#include "dialect/tile/TileDialect.cpp.inc"
#include "dialect/tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/tile/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/tile/TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/tile/TileOps.cpp.inc"

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/tile/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/tile/TileOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// TileType
//===----------------------------------------------------------------------===//

Type TileType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  std::string axes;
  SmallVector<int64_t> shape;
  if (parser.parseLess())
    return {};
  while (true) {
    Type element;
    OptionalParseResult type = parser.parseOptionalType(element);
    if (type.has_value()) {
      if (failed(*type) || parser.parseGreater())
        return {};
      return parser.getChecked<TileType>(loc, parser.getContext(), axes, shape,
                                         element);
    }
    StringRef axis;
    int64_t extent;
    if (parser.parseKeyword(&axis))
      return {};
    if (axis.drop_front().getAsInteger(10, extent)) {
      parser.emitError(loc,
                       "expected an axis letter and its extent, as in q64");
      return {};
    }
    if (parser.parseComma())
      return {};
    axes += axis[0];
    shape.push_back(extent);
  }
}

void TileType::print(AsmPrinter &printer) const {
  printer << '<';
  for (auto [axis, extent] : llvm::zip(getAxes(), getShape()))
    printer << axis << extent << ", ";
  printer << getElementType() << '>';
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef axes, ArrayRef<int64_t> shape,
                               Type element) {
  if (axes.size() != shape.size())
    return emitError() << "one extent an axis";
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!StringRef("qkder").contains(axes[i]))
      return emitError() << "unknown axis '" << axes.substr(i, 1)
                         << "'; axes are q, k, d, e and r";
    if (axes.drop_front(i + 1).contains(axes[i]))
      return emitError() << "axis '" << axes.substr(i, 1) << "' stands twice";
    if (shape[i] <= 0)
      return emitError() << "an extent is positive";
  }
  if (!element.isIntOrIndexOrFloat())
    return emitError() << "elements are scalars";
  return success();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

static TileType tileOf(Value v) { return cast<TileType>(v.getType()); }

/// Every axis of `part` is an axis of `whole` with the same extent.
static bool isWithin(TileType part, TileType whole) {
  return llvm::all_of(part.getAxes(), [&](char axis) {
    return whole.has(axis) && whole.size(axis) == part.size(axis);
  });
}

/// The indices address a row of the memory, and the tile covers its tail.
static LogicalResult verifyAccess(Operation *op, TileType tile,
                                  MemRefType memory, size_t indices) {
  if (tile.rank() < 1 || tile.rank() > 2)
    return op->emitOpError("moves tiles of one or two axes");
  // One index an axis says where the tile's corner is; without the last one,
  // the tile covers whole rows.
  bool corner = memory.getRank() == static_cast<int64_t>(indices);
  if (tile.rank() == 2 && corner)
    return success();
  if (memory.getRank() != static_cast<int64_t>(indices + tile.rank() - 1))
    return op->emitOpError("needs ") << memory.getRank() - (tile.rank() - 1)
                                     << " indices, got " << indices;
  int64_t last = memory.getDimSize(memory.getRank() - 1);
  if (tile.rank() == 2 && last != tile.getShape()[1])
    return op->emitOpError("covers rows of length ")
           << tile.getShape()[1] << ", the memory has " << last;
  return success();
}

LogicalResult LoadOp::verify() {
  return verifyAccess(*this, getResult().getType(),
                      cast<MemRefType>(getMemory().getType()),
                      getIndices().size());
}
LogicalResult StoreOp::verify() {
  return verifyAccess(*this, getTile().getType(),
                      cast<MemRefType>(getMemory().getType()),
                      getIndices().size());
}
LogicalResult SplatOp::verify() {
  if (getValue().getType() != getResult().getType().getElementType())
    return emitOpError("fills a tile of its scalar's type");
  return success();
}
LogicalResult IotaOp::verify() {
  if (getResult().getType().rank() != 1 ||
      !getResult().getType().getElementType().isIndex())
    return emitOpError("makes a tile of one axis and index elements");
  return success();
}
LogicalResult ContractOp::verify() {
  TileType a = tileOf(getA()), b = tileOf(getB()), acc = tileOf(getAcc());
  if (getResult().getType() != acc)
    return emitOpError("has the type of its accumulator");
  for (char axis : acc.getAxes())
    if (!a.has(axis) && !b.has(axis))
      return emitOpError("has no operand with the accumulator's axis '")
             << StringRef(&axis, 1) << "'";
  for (char axis : a.getAxes()) {
    if (b.has(axis) && b.size(axis) != a.size(axis))
      return emitOpError("has operands that differ along axis '")
             << StringRef(&axis, 1) << "'";
    if (!b.has(axis) && !acc.has(axis))
      return emitOpError("sums axis '")
             << StringRef(&axis, 1) << "' that only one operand has; reduce it";
  }
  if (getKeep() && !isWithin(tileOf(getKeep()), a))
    return emitOpError("masks pairs of its first operand");
  return success();
}
/// What a region computes with: numbers of any storage type widen to f32.
static Type computedType(Type element) {
  return isa<FloatType>(element) ? Float32Type::get(element.getContext())
                                 : element;
}
LogicalResult MapOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("region takes one scalar an input");
  for (auto [argument, input] : llvm::zip(block.getArguments(), getInputs())) {
    if (argument.getType() != computedType(tileOf(input).getElementType()))
      return emitOpError("region takes the inputs' element types");
    if (!isWithin(tileOf(input), getResult().getType()))
      return emitOpError("has an input with an axis that the result lacks");
  }
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != 1 ||
      yield.getValues()[0].getType() !=
          computedType(getResult().getType().getElementType()))
    return emitOpError("region yields one scalar of the result's element type");
  return success();
}
LogicalResult MaskOp::verify() {
  if (getResult().getType() != tileOf(getTile()))
    return emitOpError("has the type of its tile");
  if (!isWithin(tileOf(getKeep()), getResult().getType()) ||
      !tileOf(getKeep()).getElementType().isInteger(1))
    return emitOpError("keeps by a tile of i1 over its axes");
  return success();
}
LogicalResult ReduceOp::verify() {
  if (getResult().getType() != tileOf(getInit()))
    return emitOpError("has the type of its init");
  if (!isWithin(tileOf(getInit()), tileOf(getTile())))
    return emitOpError("has an init with an axis that the tile lacks");
  return success();
}
LogicalResult SqNormOp::verify() {
  if (tileOf(getTile()).rank() != 2 || getResult().getType().rank() != 1 ||
      getResult().getType().getAxes()[0] != tileOf(getTile()).getAxes()[0])
    return emitOpError("sums over the second axis of two");
  return success();
}
