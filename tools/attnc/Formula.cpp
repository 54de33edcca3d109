//===- Formula.cpp - regions printed as formulas --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include "lowering/analysis/Declarations.h"
#include "lowering/analysis/Notation.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

#include <fmt/format.h>

using namespace attn;
using namespace mlir;

namespace {

struct Text {
  std::string text;
  Binding binding = Binding::Atom;
};

/// Small shared values are printed at every use, large ones get a name
/// (`nameShared`). Length and depth are limited, and so is the number of
/// expressions: sharing inside maps has no names.
class Printer {
public:
  static constexpr size_t kLongest = 1000;
  static constexpr unsigned kDeepest = 100;
  static constexpr unsigned kMostExpressions = 4000;

  llvm::DenseMap<Value, std::string> names;

  /// Names what `result` uses more than once, if it would be long without;
  /// returns ` where t1 = ..., t2 = ...`.
  std::string nameShared(Block &body, Value result);

  std::string print(Value value, Binding outer) {
    if (depth >= kDeepest || ++expressions > kMostExpressions)
      return "...";
    ++depth;
    Text made = expression(value);
    --depth;
    if (made.text.size() > kLongest)
      return "...";
    return made.binding < outer ? "(" + made.text + ")" : made.text;
  }

private:
  Text expression(Value value);
  Text call(const std::string &name, ValueRange operands,
            const std::string &more = {});
  Text parameter(Value memory, ValueRange indices);

  unsigned depth = 0, expressions = 0;
};

} // namespace

/// What the text of an operation is made from.
static SmallVector<Value> writtenOperands(Operation *op) {
  SmallVector<Value> operands;
  auto add = [&](ValueRange values) {
    for (Value value : values)
      operands.push_back(withoutCasts(value));
  };
  auto addIndices = [&](Value memory, ValueRange indices) {
    ArgAttr declaration = declarationOf(memory);
    ArrayAttr axes = declaration ? declaration.getAxes() : ArrayAttr();
    for (auto [n, index] : llvm::enumerate(indices)) {
      auto written = writtenIndex(index, axisOf(axes, n));
      if (written && written->value)
        add(written->value);
    }
  };
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    addIndices(load.getMemRef(), load.getIndices());
  } else if (auto row = dyn_cast<ParamRowOp>(op)) {
    addIndices(row.getMemory(), row.getIndices());
  } else if (auto project = dyn_cast<ProjectOp>(op)) {
    add(project.getRow());
    addIndices(project.getMatrix(), project.getIndices());
  } else {
    add(writtenOf(op).operands);
  }
  return operands;
}

std::string Printer::nameShared(Block &body, Value result) {
  constexpr double shortFormula = 120; // expressions, written out
  constexpr double worthAName = 4;
  constexpr size_t mostNames = 32;
  llvm::DenseMap<Value, double> sizes;
  llvm::DenseMap<Value, unsigned> uses;
  for (Operation &op : body.without_terminator()) {
    double size = 1;
    op.walk([&](Operation *inner) {
      size += inner == &op ? 0 : 1;
      for (Value operand : writtenOperands(inner))
        size += sizes.lookup(operand);
    });
    for (Value value : op.getResults())
      sizes[value] = size;
  }
  if (sizes.lookup(result) <= shortFormula)
    return "";
  // Users come after what they use.
  uses[result] = 1;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    bool needed = llvm::any_of(
        op.getResults(), [&](Value value) { return uses.lookup(value) > 0; });
    if (needed)
      op.walk([&](Operation *inner) {
        for (Value operand : writtenOperands(inner))
          ++uses[operand];
      });
  }
  std::string definitions;
  size_t count = 0;
  for (Operation &op : body.without_terminator()) {
    if (op.getNumResults() != 1 || op.getResult(0) == result)
      continue;
    Value value = op.getResult(0);
    if (uses.lookup(value) < 2 || sizes.lookup(value) < worthAName)
      continue;
    if (++count > mostNames) {
      names[value] = "...";
      continue;
    }
    std::string definition = print(value, Binding::Or);
    names[value] = fmt::format("t{}", count);
    definitions += fmt::format("{}t{} = {}", count == 1 ? " where " : ", ",
                               count, definition);
  }
  return definitions + (count > mostNames ? ", ..." : "");
}

Text Printer::call(const std::string &name, ValueRange operands,
                   const std::string &more) {
  std::string text = name + "(";
  for (auto [n, operand] : llvm::enumerate(operands))
    text += (n ? ", " : "") + print(operand, Binding::Or);
  return {text + more + ")"};
}

/// Axes that the spec does not write are not printed.
Text Printer::parameter(Value memory, ValueRange indices) {
  ArgAttr declaration = declarationOf(memory);
  ArrayAttr axes = declaration ? declaration.getAxes() : ArrayAttr();
  std::string text;
  for (auto [n, index] : llvm::enumerate(indices)) {
    std::optional<WrittenIndex> written = writtenIndex(index, axisOf(axes, n));
    if (!written)
      continue;
    text += text.empty() ? "[" : ", ";
    text += written->constant ? fmt::format("{}", *written->constant)
            : written->value  ? print(written->value, Binding::Or)
                              : "...";
  }
  return {(declaration ? declaration.getName().str() : "memory") + text +
          (text.empty() ? "" : "]")};
}

Text Printer::expression(Value value) {
  if (auto it = names.find(value); it != names.end())
    return {it->second};
  if (Value inner = withoutCasts(value); inner != value)
    return expression(inner);
  Operation *op = value.getDefiningOp();
  if (!op)
    return {"?"};
  if (APFloat real(0.0); matchPattern(op, m_ConstantFloat(&real)))
    return {fmt::format("{:.7g}", real.convertToDouble()),
            real.isNegative() ? Binding::Unary : Binding::Atom};
  if (APInt integer; matchPattern(op, m_ConstantInt(&integer))) {
    if (value.getType().isInteger(1))
      return {integer.isZero() ? "1 != 1" : "1 == 1", Binding::Compare};
    return {fmt::format("{}", integer.getSExtValue()),
            integer.isNegative() ? Binding::Unary : Binding::Atom};
  }
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return parameter(load.getMemRef(), load.getIndices());
  if (auto row = dyn_cast<ParamRowOp>(op))
    return parameter(row.getMemory(), row.getIndices());
  if (auto project = dyn_cast<ProjectOp>(op))
    return {print(project.getRow(), Binding::Product) + " * " +
                parameter(project.getMatrix(), project.getIndices()).text,
            Binding::Product};
  if (auto index = dyn_cast<IndexOp>(op))
    return {stringifyPosition(index.getPosition()).str()};
  if (auto extent = dyn_cast<memref::DimOp>(op))
    return {extentText(extent)};
  if (std::optional<std::string> size = sizeOfTable(value))
    return {*size};
  if (auto rope = dyn_cast<RopeOp>(op))
    return call("rope", {rope.getRow(), rope.getPosition()},
                fmt::format(", base = {:g}{}", rope.getBase().convertToDouble(),
                            rope.getInterleaved() ? ", interleaved = 1" : ""));
  if (auto power = dyn_cast<PowerOp>(op))
    return call("power", {power.getRow()},
                fmt::format(", {}", power.getDegree()));
  if (auto map = dyn_cast<MapOp>(op)) {
    Block &body = map.getBody().front();
    for (auto [argument, row] : llvm::zip(body.getArguments(), map.getRows()))
      names[argument] = print(row, Binding::Atom);
    return expression(body.getTerminator()->getOperand(0));
  }
  Written written = writtenOf(op);
  const Notation &notation = written.notation;
  std::string text = notation.before;
  for (auto [n, operand] : llvm::enumerate(written.operands)) {
    if (n == notation.operands)
      break;
    text += (n == 0 ? "" : notation.between) +
            print(operand, n == 0 ? notation.first : notation.others);
  }
  return {text + notation.after, notation.binding};
}

std::string attn::formulaOf(Region &region, unsigned result,
                            const std::vector<std::string> &arguments) {
  Printer printer;
  Block &body = region.front();
  for (auto [argument, name] : llvm::zip(body.getArguments(), arguments))
    printer.names[argument] = name;
  Value value = body.getTerminator()->getOperand(result);
  std::string where = printer.nameShared(body, value);
  return printer.print(value, Binding::Or) + where;
}
