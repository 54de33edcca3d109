//===- Notation.cpp - operations of the IR as the language has them -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Notation.h"

#include "lowering/analysis/Declarations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Words and signs
//===----------------------------------------------------------------------===//

static Notation infix(const char *sign, Binding binding, Binding others) {
  return {"", sign, "", binding, binding, others};
}
static Notation call(StringRef word) { return {word.str() + "(", ", ", ")"}; }

Notation attn::notationOf(StringRef name) {
  using B = Binding;
  auto is = [&](std::initializer_list<StringRef> list) {
    return llvm::is_contained(list, name);
  };
  if (is({"addf", "addi"}))
    return infix(" + ", B::Sum, B::Sum);
  if (is({"subf", "subi"}))
    return infix(" - ", B::Sum, B::Product);
  if (is({"mulf", "muli"}))
    return infix(" * ", B::Product, B::Product);
  if (name == "divf")
    return infix(" / ", B::Product, B::Unary);
  if (name == "floordivsi")
    return infix(" // ", B::Product, B::Unary);
  if (name == "%")
    return infix(" % ", B::Product, B::Unary);
  if (name == "negf")
    return {"-", "", "", B::Unary, B::Unary};
  if (is({"powf", "fpowi"}))
    return {"", "^", "", B::Power, B::Atom, B::Atom};
  if (name == "andi")
    return infix(" and ", B::And, B::And);
  if (name == "ori")
    return infix(" or ", B::Or, B::Or);
  if (name == "xori") // with true
    return {"not ", "", "", B::Not, B::Not, B::Not, 1};
  const char *sign = llvm::StringSwitch<const char *>(name)
                         .Cases({"olt", "ult", "slt"}, " < ")
                         .Cases({"ole", "ule", "sle"}, " <= ")
                         .Cases({"ogt", "ugt", "sgt"}, " > ")
                         .Cases({"oge", "uge", "sge"}, " >= ")
                         .Cases({"oeq", "ueq", "eq"}, " == ")
                         .Cases({"one", "une", "ne"}, " != ")
                         .Default(nullptr);
  if (sign)
    return {"", sign, "", B::Compare, B::Sum, B::Sum};
  // Conditions as numbers.
  if (is({"sitofp", "uitofp", "extui", "extsi", "index_cast", "index_castui"}))
    return {"where(", "", ", 1, 0)"};
  if (name == "fptosi") // of what floor made
    return {"", "", "", B::Atom, B::Atom};
  if (name == "log1p")
    return {"log(1 + ", "", ")", B::Atom, B::Sum};
  if (name == "expm1")
    return {"exp(", "", ") - 1", B::Sum};
  if (name == "exp2")
    return {"2^", "", "", B::Power, B::Atom};
  return call(llvm::StringSwitch<StringRef>(name)
                  .Case("select", "where")
                  .Cases({"maximumf", "maxnumf", "maxsi", "maxui"}, "max")
                  .Cases({"minimumf", "minnumf", "minsi", "minui"}, "min")
                  .Cases({"absf", "absi"}, "abs")
                  .Default(name));
}

//===----------------------------------------------------------------------===//
// What the importer spells out
//===----------------------------------------------------------------------===//

static bool isNumber(Value value, double expected) {
  APFloat real(0.0);
  return matchPattern(value, m_ConstantFloat(&real)) &&
         real.convertToDouble() == expected;
}

/// The operand of `value` if an operation of type Op defines it, else null.
template <typename Op> static Value operandOf(Value value) {
  auto op = value.getDefiningOp<Op>();
  return op ? op->getOperand(0) : Value();
}

/// x where `quotient` is 1 / (1 + exp(-x)).
static Value matchSigmoid(arith::DivFOp quotient) {
  auto sum = quotient.getRhs().getDefiningOp<arith::AddFOp>();
  if (!sum || !isNumber(quotient.getLhs(), 1))
    return {};
  for (unsigned n : {0, 1})
    if (Value negated = operandOf<math::ExpOp>(sum->getOperand(n)))
      if (Value x = operandOf<arith::NegFOp>(negated);
          x && isNumber(sum->getOperand(1 - n), 1))
        return x;
  return {};
}

/// softplus, max(x, 0) + log1p(exp(-|x|)), or elu, max(x, 0) + expm1(min(x,
/// 0)).
static std::pair<const char *, Value> matchSum(arith::AddFOp sum) {
  for (unsigned n : {0, 1}) {
    auto positive = sum->getOperand(n).getDefiningOp<arith::MaximumFOp>();
    if (!positive || !isNumber(positive.getRhs(), 0))
      continue;
    Value x = positive.getLhs(), rest = sum->getOperand(1 - n);
    if (Value inner = operandOf<math::Log1pOp>(rest))
      if (Value exponent = operandOf<math::ExpOp>(inner))
        if (Value size = operandOf<arith::NegFOp>(exponent))
          if (operandOf<math::AbsFOp>(size) == x)
            return {"softplus", x};
    if (Value inner = operandOf<math::ExpM1Op>(rest))
      if (auto negative = inner.getDefiningOp<arith::MinimumFOp>())
        if (negative.getLhs() == x && isNumber(negative.getRhs(), 0))
          return {"elu", x};
  }
  return {nullptr, {}};
}

/// b where `divisor` is max(b, 1), which the importer makes of lengths.
static Value withoutGuard(Value divisor) {
  auto guarded = divisor.getDefiningOp<arith::MaxSIOp>();
  return guarded && matchPattern(guarded.getRhs(), m_One()) ? guarded.getLhs()
                                                            : divisor;
}

/// b where `difference` is a - (a // b) * b.
static Value matchModulo(arith::SubIOp difference) {
  auto product = difference.getRhs().getDefiningOp<arith::MulIOp>();
  auto quotient = product
                      ? product.getLhs().getDefiningOp<arith::FloorDivSIOp>()
                      : arith::FloorDivSIOp();
  bool modulo = quotient && quotient.getLhs() == difference.getLhs() &&
                quotient.getRhs() == product.getRhs();
  return modulo ? product.getRhs() : Value();
}

/// Whether the text of a product begins with one that // or % rounds: what is
/// multiplied with it from the left would be rounded too.
static bool rounds(Value value) {
  Operation *op = withoutCasts(value).getDefiningOp();
  while (isa_and_nonnull<arith::MulIOp, arith::MulFOp, arith::DivFOp>(op))
    op = withoutCasts(op->getOperand(0)).getDefiningOp();
  auto difference = dyn_cast_or_null<arith::SubIOp>(op);
  return isa_and_nonnull<arith::FloorDivSIOp>(op) ||
         (difference && matchModulo(difference));
}

Written attn::writtenOf(Operation *op) {
  if (auto quotient = dyn_cast<arith::DivFOp>(op))
    if (Value x = matchSigmoid(quotient))
      return {call("sigmoid"), {x}};
  if (auto sum = dyn_cast<arith::AddFOp>(op))
    if (auto [word, x] = matchSum(sum); word)
      return {call(word), {x}};
  if (auto difference = dyn_cast<arith::SubIOp>(op)) {
    if (Value divisor = matchModulo(difference))
      return {notationOf("%"), {difference.getLhs(), withoutGuard(divisor)}};
    if (matchPattern(difference.getLhs(), m_Zero()))
      return {notationOf("negf"), {difference.getRhs()}};
  }
  if (auto quotient = dyn_cast<arith::FloorDivSIOp>(op))
    return {notationOf("floordivsi"),
            {quotient.getLhs(), withoutGuard(quotient.getRhs())}};
  if (auto norm = dyn_cast<SqNormOp>(op))
    return {call("dot"), {norm.getRow(), norm.getRow()}};
  StringRef name = op->getName().stripDialect();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    name = arith::stringifyCmpFPredicate(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    name = arith::stringifyCmpIPredicate(compare.getPredicate());
  Written written = {notationOf(name), llvm::to_vector<3>(op->getOperands())};
  if (isa<arith::MulIOp, arith::MulFOp>(op) && rounds(op->getOperand(1)))
    written.notation.others = Binding::Unary;
  return written;
}

Value attn::withoutCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::SIToFPOp, arith::FPToSIOp,
             arith::UIToFPOp, arith::ExtUIOp, arith::ExtSIOp, arith::ExtFOp,
             arith::TruncFOp>(op) ||
        op->getOperand(0).getType().isInteger(1))
      break;
    value = op->getOperand(0);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Indices and sizes
//===----------------------------------------------------------------------===//

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

static bool areEqual(Value a, Value b) {
  std::optional<int64_t> constant = constantOf(a);
  return a == b || (constant && constant == constantOf(b));
}

/// The extent of an axis, or that minus a number.
static bool isFromExtent(Value value) {
  if (auto difference = value.getDefiningOp<arith::SubIOp>())
    value = difference.getLhs();
  return value.getDefiningOp<memref::DimOp>() != nullptr;
}

/// x where `clamped` is max(min(x, high), low).
static Value insideClamp(Value clamped, Value low) {
  auto above = clamped.getDefiningOp<arith::MaxSIOp>();
  auto below =
      above ? above.getLhs().getDefiningOp<arith::MinSIOp>() : arith::MinSIOp();
  if (!below ||
      (low ? !areEqual(above.getRhs(), low) : constantOf(above.getRhs()) != 0))
    return {};
  // Folding puts constants last.
  bool swapped = constantOf(below.getRhs()) && isFromExtent(below.getLhs());
  return swapped ? below.getRhs() : below.getLhs();
}

std::optional<WrittenIndex> attn::writtenIndex(Value index, StringRef axis) {
  if (axis == "head" || axis == "kv_head" || axis == "batch")
    return std::nullopt;
  if (auto shifted = index.getDefiningOp<arith::SubIOp>())
    if (Value inner = insideClamp(shifted.getLhs(), shifted.getRhs()))
      return WrittenIndex{inner, constantOf(inner)};
  if (Value inner = insideClamp(index, {}))
    return WrittenIndex{inner, constantOf(inner)};
  std::optional<int64_t> constant = constantOf(index);
  if (!constant)
    return WrittenIndex{index, std::nullopt};
  if (!axis.contains(':'))
    return WrittenIndex{{}, constant};
  int64_t low = 0; // memory counts from 0
  if (axis.consumeInteger(10, low))
    return WrittenIndex{};
  return WrittenIndex{{}, *constant + low};
}

StringRef attn::axisOf(ArrayAttr axes, int64_t n) {
  if (!axes || n < 0 || n >= static_cast<int64_t>(axes.size()))
    return "";
  auto text = dyn_cast<StringAttr>(axes[n]);
  return text ? text.getValue() : "";
}

std::string attn::extentText(memref::DimOp extent) {
  ArgAttr declaration = declarationOf(extent.getSource());
  std::optional<int64_t> axis = constantOf(extent.getIndex());
  if (!declaration || !axis)
    return "...";
  std::string name = declaration.getName().str();
  switch (declaration.getKind()) {
  case ArgKind::Query:
  case ArgKind::Key:
  case ArgKind::Value:
    if (*axis == 3)
      return "dim(" + name + ")";
    if (*axis == 2)
      return declaration.getKind() == ArgKind::Query ? "nq" : "nk";
    return "...";
  default:
    StringRef text = axisOf(declaration.getAxes(), *axis);
    return text.empty() || text.contains(':') ? "..." : text.str();
  }
}

/// (extent - 1 - c) // n is how the importer has the edge of a table.
std::optional<std::string> attn::sizeOfTable(Value value) {
  auto quotient = value.getDefiningOp<arith::FloorDivSIOp>();
  auto span = quotient ? quotient.getLhs().getDefiningOp<arith::SubIOp>()
                       : arith::SubIOp();
  auto extent =
      span ? span.getLhs().getDefiningOp<memref::DimOp>() : memref::DimOp();
  std::optional<int64_t> axis =
      extent ? constantOf(extent.getIndex()) : std::nullopt;
  if (!axis)
    return std::nullopt;
  ArgAttr declaration = declarationOf(extent.getSource());
  StringRef text =
      declaration ? axisOf(declaration.getAxes(), *axis) : StringRef();
  if (!text.contains(':'))
    return std::nullopt;
  StringRef name = text.drop_until(llvm::isAlpha);
  name = name.take_until([](char c) { return c == ':'; });
  return name.empty() ? std::nullopt : std::optional(name.str());
}
