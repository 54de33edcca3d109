//===- Attn.cpp - registration, types -------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

#include "dialect/attn/AttnDialect.cpp.inc"
#include "dialect/attn/AttnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/attn/AttnAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/attn/AttnTypes.cpp.inc"

void AttnDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/attn/AttnTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/attn/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/attn/AttnOps.cpp.inc"
      >();
}

/// Constants that folding makes (`attn.dim`) are upstream's.
Operation *AttnDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

Type RowType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  FloatType element;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/true,
                                /*withTrailingX=*/true) ||
      parser.parseType(element) || parser.parseGreater())
    return {};
  if (shape.size() != 1) {
    parser.emitError(loc, "a row has one extent, as in !attn.row<64xf32>");
    return {};
  }
  return get(parser.getContext(), shape[0], element);
}

void RowType::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printDimensionList(getLength());
  printer << 'x' << getElementType() << '>';
}

LogicalResult FeaturesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   FeatureKind kind, int64_t order,
                                   int64_t count, int64_t nodes, int64_t,
                                   bool orthogonal, bool hyperbolic,
                                   bool anchors, bool, StringAttr) {
  bool series = kind == FeatureKind::Taylor || kind == FeatureKind::Maclaurin;
  auto check = [&](bool wanted, int64_t value,
                   StringRef name) -> LogicalResult {
    if (wanted == (value > 0) && value >= 0)
      return success();
    return emitError() << stringifyFeatureKind(kind) << " features have "
                       << (wanted ? "a positive '" : "no '") << name << "'";
  };
  if (failed(check(series, order, "order")) ||
      failed(check(!series, count, "count")) ||
      failed(check(kind == FeatureKind::Slay, nodes, "nodes")))
    return failure();
  if ((orthogonal || hyperbolic) && kind != FeatureKind::Favor)
    return emitError() << "'orthogonal' and 'hyperbolic' are of favor features";
  if (anchors && kind != FeatureKind::Slay)
    return emitError() << "'anchors' is of slay features";
  return success();
}

/// The parameters of a schedule, to change one of them.
namespace {
struct ScheduleFields {
  explicit ScheduleFields(ScheduleAttr s)
      : context(s.getContext()), order(s.getOrder()), tileQ(s.getTileQ()),
        tileK(s.getTileK()), pairCost(s.getPairCost()), rowCost(s.getRowCost()),
        products(s.getProducts()), shortFirst(s.getShortFirst()),
        split(s.getSplit()), oneToken(s.getOneToken()) {}
  ScheduleAttr get() const {
    return ScheduleAttr::get(context, order, tileQ, tileK, pairCost, rowCost,
                             products, shortFirst, split, oneToken);
  }
  MLIRContext *context;
  Order order;
  int64_t tileQ, tileK, pairCost, rowCost;
  Products products;
  bool shortFirst;
  KeySplitAttr split;
  bool oneToken;
};
} // namespace

ScheduleAttr ScheduleAttr::withTiles(int64_t tileQ, int64_t tileK) const {
  ScheduleFields fields(*this);
  fields.tileQ = tileQ;
  fields.tileK = tileK;
  return fields.get();
}
ScheduleAttr ScheduleAttr::withProducts(Products products) const {
  ScheduleFields fields(*this);
  fields.products = products;
  return fields.get();
}
ScheduleAttr ScheduleAttr::withShortFirst(bool shortFirst) const {
  ScheduleFields fields(*this);
  fields.shortFirst = shortFirst;
  return fields.get();
}
ScheduleAttr ScheduleAttr::withSplit(KeySplitAttr split) const {
  ScheduleFields fields(*this);
  fields.split = split;
  return fields.get();
}
ScheduleAttr ScheduleAttr::withOneToken(bool oneToken) const {
  ScheduleFields fields(*this);
  fields.oneToken = oneToken;
  return fields.get();
}
KeySplitAttr ScheduleAttr::getKeySplit() const {
  return getSplit() ? getSplit()
                    : KeySplitAttr::get(getContext(), 0, 0, 0, false);
}

FeaturesAttr FeaturesAttr::asApplied(StringRef signReason) {
  return get(getContext(), getKind(), getOrder(), getCount(), getNodes(),
             getSeed(), getOrthogonal(), getHyperbolic(), getAnchors(),
             /*applied=*/true,
             signReason.empty() ? StringAttr()
                                : StringAttr::get(getContext(), signReason));
}
