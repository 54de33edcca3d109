//===- Declarations.cpp - what a region's arguments and memory stand for --===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Declarations.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace attn;

Value attn::yieldedRow(Region &region) {
  return region.empty() ? Value()
                        : region.front().getTerminator()->getOperand(0);
}

template <typename Op> static Value mappedRow(Op op, BlockArgument argument) {
  if (argument.getOwner()->getParent() != &op.getKappa())
    return {};
  return yieldedRow(argument.getArgNumber() == 0 ? op.getQueryMap()
                                                 : op.getKeyMap());
}

Value attn::mappedRowOfArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto op = dyn_cast_or_null<AttentionOp>(parent))
    return mappedRow(op, argument);
  if (auto op = dyn_cast_or_null<QuadraticOp>(parent))
    return mappedRow(op, argument);
  if (auto op = dyn_cast_or_null<LinearOp>(parent))
    return mappedRow(op, argument);
  return {};
}

ArgAttr attn::declarationOf(Value memory) {
  while (auto view = memory.getDefiningOp<ViewLikeOpInterface>())
    memory = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(memory);
  if (!argument)
    return {};
  auto function =
      dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function ? function.getArgAttrOfType<ArgAttr>(argument.getArgNumber(),
                                                       kArgAttrName)
                  : ArgAttr();
}

/// The range that a declaration promises. Integers sharpen a strict bound.
Interval attn::declaredRange(ArgAttr declaration) {
  if (!declaration || !declaration.getRelop() || !declaration.getBound())
    return Interval::all();
  StringRef relop = declaration.getRelop().getValue();
  double bound = declaration.getBound().getValueAsDouble();
  if (declaration.getInteger()) {
    if (relop == ">" || relop == "<")
      bound = relop == ">" ? std::floor(bound) + 1 : std::ceil(bound) - 1;
    if (relop == ">" || relop == ">=")
      return Interval::atLeast(std::ceil(bound));
    if (relop == "<" || relop == "<=")
      return Interval::atMost(std::floor(bound));
  }
  return llvm::StringSwitch<Interval>(relop)
      .Case(">=", Interval::atLeast(bound))
      .Case(">", Interval::above(bound))
      .Case("<=", Interval::atMost(bound))
      .Case("<", Interval::below(bound))
      .Case("==", Interval::point(bound))
      .Default(Interval::all());
}
