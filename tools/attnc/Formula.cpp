//===- Formula.cpp - regions printed as formulas --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSwitch.h"

#include <fmt/format.h>

using namespace attn;
using namespace mlir;

namespace {

/// How tightly an expression binds, loosest first.
enum Binding { Or, And, Not, Compare, Sum, Product, Unary, Power, Atom };

struct Text {
  std::string text;
  Binding binding = Atom;
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
  Text infix(Operation *op, const char *symbol, Binding binding,
             bool associative);
  Text call(const std::string &name, ValueRange operands,
            const std::string &more = {});
  Text comparison(Operation *op);
  std::optional<Text> function(Operation *op);
  Text parameter(Value memory, ValueRange indices);
  std::string nameOf(Value memory);

  unsigned depth = 0, expressions = 0;
};

} // namespace

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
      for (Value operand : inner->getOperands())
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
        for (Value operand : inner->getOperands())
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
    std::string definition = print(value, Or);
    names[value] = fmt::format("t{}", count);
    definitions += fmt::format("{}t{} = {}", count == 1 ? " where " : ", ",
                               count, definition);
  }
  return definitions + (count > mostNames ? ", ..." : "");
}

Text Printer::infix(Operation *op, const char *symbol, Binding binding,
                    bool associative) {
  std::string left = print(op->getOperand(0), binding);
  std::string right =
      print(op->getOperand(1), associative ? binding : Binding(binding + 1));
  return {left + " " + symbol + " " + right, binding};
}

Text Printer::call(const std::string &name, ValueRange operands,
                   const std::string &more) {
  std::string text = name + "(";
  for (auto [n, operand] : llvm::enumerate(operands))
    text += (n ? ", " : "") + print(operand, Or);
  return {text + more + ")", Atom};
}

Text Printer::comparison(Operation *op) {
  StringRef name;
  if (auto real = dyn_cast<arith::CmpFOp>(op))
    name = arith::stringifyCmpFPredicate(real.getPredicate());
  else
    name =
        arith::stringifyCmpIPredicate(cast<arith::CmpIOp>(op).getPredicate());
  const char *symbol = llvm::StringSwitch<const char *>(name)
                           .Cases({"olt", "ult", "slt"}, "<")
                           .Cases({"ole", "ule", "sle"}, "<=")
                           .Cases({"ogt", "ugt", "sgt"}, ">")
                           .Cases({"oge", "uge", "sge"}, ">=")
                           .Cases({"oeq", "ueq", "eq"}, "==")
                           .Cases({"une", "one", "ne"}, "!=")
                           .Default("?");
  std::string left = print(op->getOperand(0), Sum),
              right = print(op->getOperand(1), Sum);
  return {left + " " + symbol + " " + right, Compare};
}

/// The declared name of a parameter.
std::string Printer::nameOf(Value memory) {
  auto argument = dyn_cast<BlockArgument>(memory);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
               : nullptr;
  if (!function)
    return "memory";
  auto declared =
      function.getArgAttrOfType<ArgAttr>(argument.getArgNumber(), kArgAttrName);
  return declared ? declared.getName().str() : "argument";
}

/// Axes that the spec does not write are not printed.
Text Printer::parameter(Value memory, ValueRange indices) {
  std::string text;
  for (Value index : indices) {
    if (auto position = index.getDefiningOp<IndexOp>())
      if (position.getPosition() == Position::Head ||
          position.getPosition() == Position::KvHead ||
          position.getPosition() == Position::Batch)
        continue;
    text += (text.empty() ? "[" : ", ") + print(index, Or);
  }
  return {nameOf(memory) + text + (text.empty() ? "" : "]"), Atom};
}

static bool isConstant(Value value, double expected) {
  APFloat real(0.0);
  return matchPattern(value, m_ConstantFloat(&real)) &&
         real.convertToDouble() == expected;
}

/// The operand of `value` if an operation of type Op defines it, else null.
template <typename Op> static Value operandOf(Value value) {
  auto op = value.getDefiningOp<Op>();
  return op ? op->getOperand(0) : Value();
}

/// The functions of the language that the importer writes out.
std::optional<Text> Printer::function(Operation *op) {
  if (auto quotient = dyn_cast<arith::DivFOp>(op)) { // 1 / (1 + exp(-x))
    auto sum = quotient.getRhs().getDefiningOp<arith::AddFOp>();
    if (!sum || !isConstant(quotient.getLhs(), 1))
      return std::nullopt;
    for (unsigned n : {0, 1}) {
      Value negated = operandOf<math::ExpOp>(sum->getOperand(n));
      Value x = negated ? operandOf<arith::NegFOp>(negated) : Value();
      if (x && isConstant(sum->getOperand(1 - n), 1))
        return call("sigmoid", {x});
    }
    return std::nullopt;
  }
  auto sum = dyn_cast<arith::AddFOp>(op);
  if (!sum)
    return std::nullopt;
  for (unsigned n :
       {0, 1}) { // max(x, 0) + log1p(exp(-|x|)), ... + expm1(min(x, 0))
    auto positive = sum->getOperand(n).getDefiningOp<arith::MaximumFOp>();
    if (!positive || !isConstant(positive.getRhs(), 0))
      continue;
    Value x = positive.getLhs(), rest = sum->getOperand(1 - n);
    if (Value inner = operandOf<math::Log1pOp>(rest))
      if (Value exponent = operandOf<math::ExpOp>(inner))
        if (Value size = operandOf<arith::NegFOp>(exponent))
          if (operandOf<math::AbsFOp>(size) == x)
            return call("softplus", {x});
    if (Value inner = operandOf<math::ExpM1Op>(rest))
      if (auto negative = inner.getDefiningOp<arith::MinimumFOp>())
        if (negative.getLhs() == x && isConstant(negative.getRhs(), 0))
          return call("elu", {x});
  }
  return std::nullopt;
}

Text Printer::expression(Value value) {
  if (auto it = names.find(value); it != names.end())
    return {it->second, Atom};
  Operation *op = value.getDefiningOp();
  if (!op)
    return {"?", Atom};
  if (APFloat real(0.0); matchPattern(op, m_ConstantFloat(&real)))
    return {fmt::format("{:.7g}", real.convertToDouble()),
            real.isNegative() ? Unary : Atom};
  if (APInt integer; matchPattern(op, m_ConstantInt(&integer))) {
    if (value.getType().isInteger(1))
      return {integer.isZero() ? "false" : "true", Atom};
    return {fmt::format("{}", integer.getSExtValue()),
            integer.isNegative() ? Unary : Atom};
  }
  if (std::optional<Text> known = function(op))
    return *known;
  if (isa<arith::CmpFOp, arith::CmpIOp>(op))
    return comparison(op);
  if (isa<arith::IndexCastOp, arith::SIToFPOp, arith::FPToSIOp, arith::ExtFOp,
          arith::TruncFOp>(op))
    return {print(op->getOperand(0), Atom), Atom};
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return parameter(load.getMemRef(), load.getIndices());
  if (auto row = dyn_cast<ParamRowOp>(op))
    return parameter(row.getMemory(), row.getIndices());
  if (auto project = dyn_cast<ProjectOp>(op))
    return {print(project.getRow(), Product) + " * " +
                parameter(project.getMatrix(), project.getIndices()).text,
            Product};
  if (auto index = dyn_cast<IndexOp>(op))
    return {stringifyPosition(index.getPosition()).str(), Atom};
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
      names[argument] = print(row, Atom);
    return expression(body.getTerminator()->getOperand(0));
  }
  if (isa<math::FPowIOp, math::PowFOp>(op))
    return {print(op->getOperand(0), Atom) + "^" +
                print(op->getOperand(1), Atom),
            Power};
  if (isa<arith::NegFOp>(op))
    return {"-" + print(op->getOperand(0), Unary), Unary};
  StringRef name = op->getName().getStringRef();
  auto is = [&](std::initializer_list<StringRef> list) {
    return llvm::is_contained(list, name);
  };
  if (is({"arith.addf", "arith.addi"}))
    return infix(op, "+", Sum, true);
  if (is({"arith.subf", "arith.subi"}))
    return infix(op, "-", Sum, false);
  if (is({"arith.mulf", "arith.muli"}))
    return infix(op, "*", Product, true);
  if (is({"arith.divf"}))
    return infix(op, "/", Product, false);
  if (is({"arith.floordivsi"}))
    return infix(op, "//", Product, false);
  if (is({"arith.andi"}))
    return infix(op, "and", And, true);
  if (is({"arith.ori"}))
    return infix(op, "or", Or, true);
  if (is({"arith.xori"})) {
    APInt flag;
    if (matchPattern(op->getOperand(1), m_ConstantInt(&flag)))
      return {"not " + print(op->getOperand(0), Not), Not};
    return infix(op, "!=", Compare, false);
  }
  std::string shown =
      llvm::StringSwitch<StringRef>(name)
          .Case("arith.select", "where")
          .Cases({"arith.maximumf", "arith.maxsi", "arith.maxnumf"}, "max")
          .Cases({"arith.minimumf", "arith.minsi", "arith.minnumf"}, "min")
          .Cases({"math.absf", "math.absi"}, "abs")
          .Default(name.substr(name.find('.') + 1))
          .str();
  return call(shown, op->getOperands());
}

std::string attn::formulaOf(Region &region, unsigned result,
                            const std::vector<std::string> &arguments) {
  Printer printer;
  Block &body = region.front();
  for (auto [argument, name] : llvm::zip(body.getArguments(), arguments))
    printer.names[argument] = name;
  Value value = body.getTerminator()->getOperand(result);
  std::string where = printer.nameShared(body, value);
  return printer.print(value, Or) + where;
}
