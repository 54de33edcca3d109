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
