//===- ExpressionText.cpp - kernel expressions in the user's words --------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/ExpressionText.h"

#include "lowering/analysis/Declarations.h"
#include "lowering/analysis/Notation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn;

/// What is deeper than a person would read is left out.
static constexpr int kDepth = 6;

namespace {
/// Text, and how tightly its outermost operator binds.
struct Text {
  std::string text;
  Binding binding = Binding::Atom;
};
} // namespace

static Text textOf(Value value, int depth);

static std::string at(Value value, Binding least, int depth) {
  Text text = textOf(value, depth);
  return text.binding >= least ? text.text : "(" + text.text + ")";
}

static std::string nameOf(Value memory) {
  ArgAttr declaration = declarationOf(memory);
  return declaration ? declaration.getName().str() : "a parameter";
}

static Text textOf(BlockArgument argument, int depth) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto map =
          dyn_cast<MapOp>(parent)) // element by element, as a spec has it
    return textOf(map.getRows()[argument.getArgNumber()], depth);
  Region *region = argument.getOwner()->getParent();
  if (auto op = dyn_cast<AttentionOp>(parent)) {
    if (region == &op.getKeyMap())
      return {"k"};
    if (region == &op.getValueMap())
      return {"v"};
  }
  return {argument.getArgNumber() == 0 ? "q" : "k"};
}

static Text number(TypedAttr attribute) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto real = dyn_cast<FloatAttr>(attribute))
    stream << llvm::format("%g", real.getValueAsDouble());
  else if (attribute.getType().isInteger(1))
    stream << (cast<IntegerAttr>(attribute).getValue().isZero() ? "1 != 1"
                                                                : "1 == 1");
  else if (auto integer = dyn_cast<IntegerAttr>(attribute))
    stream << integer.getValue();
  return {text, attribute.getType().isInteger(1) ? Binding::Compare
                : text.rfind('-', 0) == 0        ? Binding::Unary
                                                 : Binding::Atom};
}

/// Axes that a spec does not write are left out.
static std::string element(Value memory, ValueRange indices, int depth) {
  ArgAttr declaration = declarationOf(memory);
  ArrayAttr axes = declaration ? declaration.getAxes() : ArrayAttr();
  std::string list;
  for (auto [n, index] : llvm::enumerate(indices)) {
    std::optional<WrittenIndex> written = writtenIndex(index, axisOf(axes, n));
    if (!written)
      continue;
    list += list.empty() ? "[" : ", ";
    list += written->constant ? std::to_string(*written->constant)
            : written->value && depth > 0
                ? textOf(written->value, depth - 1).text
                : "...";
  }
  return nameOf(memory) + list + (list.empty() ? "" : "]");
}

static Text textOf(const Written &written, int depth) {
  const Notation &notation = written.notation;
  std::string text = notation.before, between = notation.between;
  if (between == " * " || between == " / " || between == " // ") // as proofs
    between = between.substr(1, between.size() - 2);
  for (auto [n, operand] : llvm::enumerate(written.operands)) {
    if (n == notation.operands)
      break;
    Binding least = n == 0 ? notation.first : notation.others;
    text += (n == 0 ? "" : between) + at(operand, least, depth - 1);
  }
  return {text + notation.after, notation.binding};
}

static Text textOf(Value value, int depth) {
  value = withoutCasts(value);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return textOf(argument, depth);
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return number(constant.getValue());
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return {element(load.getMemRef(), load.getIndices(), depth)};
  if (auto index = dyn_cast<IndexOp>(op))
    return {stringifyPosition(index.getPosition()).str()};
  if (auto extent = dyn_cast<memref::DimOp>(op))
    return {extentText(extent)};
  if (std::optional<std::string> size = sizeOfTable(value))
    return {*size};
  if (depth <= 0)
    return {"..."};
  auto row = [&](Value operand) { return textOf(operand, depth - 1).text; };
  return llvm::TypeSwitch<Operation *, Text>(op)
      .Case([&](PowerOp power) {
        return Text{"power(" + row(power.getRow()) + ", " +
                    std::to_string(power.getDegree()) + ")"};
      })
      .Case([&](ParamRowOp param) {
        return Text{element(param.getMemory(), param.getIndices(), depth)};
      })
      .Case([&](ProjectOp project) {
        return Text{
            at(project.getRow(), Binding::Product, depth - 1) + "*" +
                element(project.getMatrix(), project.getIndices(), depth),
            Binding::Product};
      })
      .Case([&](MapOp map) {
        return textOf(map.getBody().front().getTerminator()->getOperand(0),
                      depth);
      })
      .Default([&](Operation *) { return textOf(writtenOf(op), depth); });
}

std::string attn::describe(Value value) {
  constexpr size_t longest = 100;
  for (int depth = kDepth; depth > 0; --depth) {
    std::string text = textOf(value, depth).text;
    if (text.size() <= longest || depth == 1)
      return text;
  }
  return "...";
}
