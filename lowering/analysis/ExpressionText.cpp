//===- ExpressionText.cpp - kernel expressions in the user's words --------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/ExpressionText.h"

#include "lowering/analysis/Declarations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn;

/// What is deeper than a person would read is left out.
static constexpr int kDepth = 6;

namespace {
enum Level { Sum, Product, Unary, Atom };

/// Text, and how tightly its outermost operator binds.
struct Text {
  std::string text;
  Level level = Atom;
};
} // namespace

static Text textOf(Value value, int depth);

static std::string at(Value value, Level least, int depth) {
  Text text = textOf(value, depth - 1);
  return text.level >= least ? text.text : "(" + text.text + ")";
}

static std::string call(StringRef name, ValueRange operands, int depth) {
  std::string text = name.str() + "(";
  for (auto [n, operand] : llvm::enumerate(operands))
    text += (n ? ", " : "") + textOf(operand, depth - 1).text;
  return text + ")";
}

static std::string nameOf(Value memory) {
  ArgAttr declaration = declarationOf(memory);
  return declaration ? declaration.getName().str() : "a parameter";
}

static std::string nameOf(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa<MapOp>(parent))
    return "x";
  Region *region = argument.getOwner()->getParent();
  if (auto op = dyn_cast<AttentionOp>(parent)) {
    if (region == &op.getKeyMap())
      return "k";
    if (region == &op.getValueMap())
      return "v";
  }
  return argument.getArgNumber() == 0 ? "q" : "k";
}

static std::string number(TypedAttr attribute) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto real = dyn_cast<FloatAttr>(attribute))
    stream << llvm::format("%g", real.getValueAsDouble());
  else if (auto integer = dyn_cast<IntegerAttr>(attribute))
    stream << integer.getValue();
  return text;
}

static Text textOf(Value value, int depth) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return {nameOf(argument)};
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return {number(constant.getValue())};
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return {nameOf(load.getMemRef())};
  if (auto index = dyn_cast<IndexOp>(op))
    return {stringifyPosition(index.getPosition()).str()};
  if (depth <= 0)
    return {"..."};
  auto in = [&](unsigned n, Level least) {
    return at(op->getOperand(n), least, depth);
  };
  auto binary = [&](StringRef sign, Level level, Level right) -> Text {
    return {in(0, level) + sign.str() + in(1, right), level};
  };
  return llvm::TypeSwitch<Operation *, Text>(op)
      .Case<arith::AddFOp, arith::AddIOp>(
          [&](auto) { return binary(" + ", Sum, Sum); })
      .Case<arith::SubFOp, arith::SubIOp>(
          [&](auto) { return binary(" - ", Sum, Product); })
      .Case<arith::MulFOp, arith::MulIOp>(
          [&](auto) { return binary("*", Product, Product); })
      .Case([&](arith::DivFOp) { return binary("/", Product, Unary); })
      .Case([&](arith::FloorDivSIOp) { return binary("//", Product, Unary); })
      .Case([&](arith::NegFOp) {
        return Text{"-" + in(0, Unary), Unary};
      })
      .Case<math::FPowIOp, math::PowFOp>([&](auto) {
        return Text{in(0, Atom) + "^" + in(1, Atom), Unary};
      })
      .Case<arith::IndexCastOp, arith::SIToFPOp, arith::FPToSIOp,
            arith::UIToFPOp, arith::ExtUIOp>(
          [&](auto) { return textOf(op->getOperand(0), depth); })
      .Case([&](arith::SelectOp) {
        return Text{"where(..., " + in(1, Sum) + ", " + in(2, Sum) + ")"};
      })
      .Case<arith::MaximumFOp, arith::MaxSIOp>(
          [&](auto) { return Text{call("max", op->getOperands(), depth)}; })
      .Case<arith::MinimumFOp, arith::MinSIOp>(
          [&](auto) { return Text{call("min", op->getOperands(), depth)}; })
      .Case<math::AbsFOp, math::AbsIOp>(
          [&](auto) { return Text{call("abs", op->getOperands(), depth)}; })
      .Case([&](DimOp dim) { return Text{call("dim", dim.getRow(), depth)}; })
      .Case([&](PowerOp power) {
        return Text{"power(" + textOf(power.getRow(), depth - 1).text + ", " +
                    std::to_string(power.getDegree()) + ")"};
      })
      .Case([&](ParamRowOp row) { return Text{nameOf(row.getMemory())}; })
      .Case([&](ProjectOp project) {
        return Text{in(0, Product) + "*" + nameOf(project.getMatrix()),
                    Product};
      })
      .Case([&](MapOp map) {
        Value body = map.getBody().front().getTerminator()->getOperand(0);
        std::string over = call("", map.getRows(), depth);
        return Text{"(" + textOf(body, depth - 1).text + " of " +
                    over.substr(1, over.size() - 2) + ")"};
      })
      .Default([&](Operation *) {
        StringRef name = op->getName().stripDialect();
        return Text{call(name, op->getOperands(), depth)};
      });
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
