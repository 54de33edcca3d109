//===- ScalarText.cpp - scalar operations as C expressions ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/ScalarText.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace attn;

llvm::StringRef attn::cTypeOf(Type type, bool narrow) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(32))
    return "int";
  if (type.isBF16())
    return "Bf16";
  if (type.isF16())
    return "F16";
  if (type.isTF32())
    return "Tf32";
  return narrow ? "int" : "i64";
}

Text attn::realText(double v, bool wide) {
  if (std::isnan(v))
    return {"(infinity() - infinity())"};
  if (std::isinf(v))
    return v > 0 ? Text{"infinity()"} : Text{"-infinity()", Text::Unary};
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (int digits = 6; digits <= 17; ++digits) { // the shortest that is exact
    text.clear();
    stream << llvm::format("%.*g", digits, v);
    double back = std::strtod(text.c_str(), nullptr);
    if (wide ? back == v : static_cast<float>(back) == static_cast<float>(v))
      break;
  }
  if (text.find_first_of(".e") == std::string::npos)
    text += ".";
  return {text + (wide ? "" : "f"), v < 0 ? Text::Unary : Text::Primary, true};
}

Text attn::constantText(TypedAttr value) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return realText(real.getValueAsDouble(), real.getType().isF64());
  auto whole = cast<IntegerAttr>(value);
  if (whole.getType().isInteger(1))
    return {whole.getValue().isZero() ? "false" : "true", Text::Primary, true};
  int64_t v = whole.getInt();
  return {std::to_string(v), v < 0 ? Text::Unary : Text::Primary, true};
}

static Text binary(const Text &x, StringRef op, const Text &y,
                   Text::Binding binding) {
  auto next = static_cast<Text::Binding>(binding + 1);
  return {x.in(binding) + " " + op.str() + " " + y.in(next), binding};
}

/// A call; its arguments have the type that the operands have in the IR, so
/// that templates see the same type twice.
static Text call(StringRef function, Operation &op, ArrayRef<Text> of,
                 bool narrow) {
  std::string code = function.str() + "(";
  for (auto [n, x] : llvm::enumerate(of)) {
    bool wide = !narrow && (op.getOperand(n).getType().isIndex() ||
                            op.getOperand(n).getType().isInteger(64));
    code +=
        (n ? ", " : "") + (x.constant && wide ? "i64(" + x.code + ")" : x.code);
  }
  return {code + ")"};
}

static Text comparison(arith::CmpFPredicate predicate, const Text &x,
                       const Text &y) {
  using P = arith::CmpFPredicate;
  auto relation = [&](StringRef op) {
    return binary(x, op, y,
                  op == "==" || op == "!=" ? Text::Equality : Text::Relation);
  };
  auto negated = [&](StringRef op) -> Text {
    return {"!(" + relation(op).code + ")", Text::Unary};
  };
  auto either = [&](const Text &a, const Text &b) {
    return binary(a, "||", b, Text::Or);
  };
  switch (predicate) {
  case P::OEQ:
    return relation("==");
  case P::OGT:
    return relation(">");
  case P::OGE:
    return relation(">=");
  case P::OLT:
    return relation("<");
  case P::OLE:
    return relation("<=");
  case P::UNE:
    return relation("!=");
  case P::UGT:
    return negated("<=");
  case P::UGE:
    return negated("<");
  case P::ULT:
    return negated(">=");
  case P::ULE:
    return negated(">");
  case P::ONE:
    return either(relation("<"), relation(">"));
  case P::UEQ:
    return {"!(" + either(relation("<"), relation(">")).code + ")",
            Text::Unary};
  case P::ORD:
    return binary(binary(x, "==", x, Text::Equality), "&&",
                  binary(y, "==", y, Text::Equality), Text::And);
  case P::UNO:
    return either(binary(x, "!=", x, Text::Equality),
                  binary(y, "!=", y, Text::Equality));
  case P::AlwaysFalse:
    return {"false"};
  case P::AlwaysTrue:
    return {"true"};
  }
  return {"false"};
}

/// A whole number as one without a sign.
static Text asUnsigned(const Text &x, Type type, bool narrow) {
  return {(type.isInteger(32) || narrow ? "u32(" : "u64(") + x.code + ")"};
}

static Text comparison(arith::CmpIPredicate predicate, Text x, Text y,
                       Type type, bool narrow) {
  using P = arith::CmpIPredicate;
  if (predicate >= P::ult && !type.isInteger(1)) {
    x = asUnsigned(x, type, narrow);
    y = asUnsigned(y, type, narrow);
  }
  StringRef op;
  switch (predicate) {
  case P::eq:
    op = "==";
    break;
  case P::ne:
    op = "!=";
    break;
  case P::slt:
  case P::ult:
    op = "<";
    break;
  case P::sle:
  case P::ule:
    op = "<=";
    break;
  case P::sgt:
  case P::ugt:
    op = ">";
    break;
  case P::sge:
  case P::uge:
    op = ">=";
    break;
  }
  return binary(x, op, y,
                op == "==" || op == "!=" ? Text::Equality : Text::Relation);
}

/// x^n with a constant n.
static std::optional<Text> powerText(math::FPowIOp op, ArrayRef<Text> of) {
  APInt exponent;
  if (!matchPattern(op.getRhs(), m_ConstantInt(&exponent)))
    return std::nullopt;
  int64_t n = exponent.getSExtValue();
  if (n == 2)
    return Text{"square(" + of[0].code + ")"};
  return Text{"power<" + std::to_string(n) + ">(" + of[0].code + ")"};
}

std::optional<Text> attn::scalarText(Operation &op, ArrayRef<Text> of,
                                     bool narrow) {
  using Result = std::optional<Text>;
  bool isBool = op.getNumResults() && op.getResult(0).getType().isInteger(1);
  auto infix = [&](StringRef symbol, Text::Binding binding) -> Result {
    return binary(of[0], symbol, of[1], binding);
  };
  auto named = [&](StringRef function) -> Result {
    return call(function, op, of, narrow);
  };
  auto converted = [&]() -> Result {
    return Text{
        (cTypeOf(op.getResult(0).getType(), narrow) + "(" + of[0].code + ")")
            .str()};
  };
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case([&](arith::ConstantOp c) -> Result {
        return constantText(c.getValue());
      })
      .Case<arith::AddFOp, arith::AddIOp>(
          [&](auto) { return infix("+", Text::Sum); })
      .Case<arith::SubFOp, arith::SubIOp>(
          [&](auto) { return infix("-", Text::Sum); })
      .Case<arith::MulFOp, arith::MulIOp>(
          [&](auto) { return infix("*", Text::Product); })
      .Case<arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(
          [&](auto) { return infix("/", Text::Product); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return infix("%", Text::Product); })
      .Case([&](arith::NegFOp) -> Result {
        return Text{"-" + of[0].in(Text::Primary), Text::Unary};
      })
      .Case([&](arith::FloorDivSIOp) { return named("floorDivide"); })
      .Case([&](arith::CeilDivSIOp) { return named("ceilDivide"); })
      .Case([&](arith::MinSIOp) { return named("least"); })
      .Case([&](arith::MaxSIOp) { return named("most"); })
      .Case([&](arith::MinUIOp x) -> Result {
        std::string wide = "u64(" + of[0].code + "), u64(" + of[1].code + ")";
        return Text{
            (cTypeOf(x.getType(), narrow) + "(least(" + wide + "))").str()};
      })
      .Case([&](arith::MinimumFOp) { return named("minimum"); })
      .Case([&](arith::MaximumFOp) { return named("maximum"); })
      .Case([&](arith::MinNumFOp) { return named("fminf"); })
      .Case([&](arith::MaxNumFOp) { return named("fmaxf"); })
      .Case([&](arith::AndIOp) {
        return isBool ? infix("&&", Text::And) : infix("&", Text::BitAnd);
      })
      .Case([&](arith::OrIOp) {
        return isBool ? infix("||", Text::Or) : infix("|", Text::BitOr);
      })
      .Case([&](arith::XOrIOp x) -> Result {
        if (isBool && matchPattern(x.getRhs(), m_One()))
          return Text{"!" + of[0].in(Text::Unary), Text::Unary};
        return isBool ? infix("!=", Text::Equality) : infix("^", Text::BitXor);
      })
      .Case([&](arith::CmpFOp cmp) -> Result {
        return comparison(cmp.getPredicate(), of[0], of[1]);
      })
      .Case([&](arith::CmpIOp cmp) -> Result {
        return comparison(cmp.getPredicate(), of[0], of[1],
                          cmp.getLhs().getType(), narrow);
      })
      .Case([&](arith::ShRUIOp shift) -> Result {
        StringRef type = cTypeOf(shift.getType(), narrow);
        return Text{(type + "(" +
                     asUnsigned(of[0], shift.getType(), narrow).code + " >> " +
                     of[1].in(Text::Sum) + ")")
                        .str()};
      })
      .Case([&](arith::BitcastOp cast) -> Result {
        if (cast.getIn().getType().isF32() && cast.getType().isInteger(32))
          return Text{"int(bitsOf(" + of[0].code + "))"};
        if (cast.getIn().getType().isInteger(32) && cast.getType().isF32())
          return Text{"floatOf(u32(" + of[0].code + "))"};
        return std::nullopt;
      })
      .Case([&](arith::SelectOp) -> Result {
        return Text{of[0].in(Text::Or) + " ? " + of[1].in(Text::Or) + " : " +
                        of[2].in(Text::Conditional),
                    Text::Conditional};
      })
      // Whole numbers of 64 bits and indices are one type in C.
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp,
            arith::TruncIOp>([&](auto cast) -> Result {
        StringRef from = cTypeOf(cast.getIn().getType(), narrow),
                  to = cTypeOf(cast.getOut().getType(), narrow);
        return from == to ? Result(of[0]) : converted();
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::ExtFOp,
            arith::TruncFOp>([&](auto) { return converted(); })
      .Case([&](math::ExpOp) { return named("expf"); })
      .Case([&](math::Exp2Op) { return named("pow2"); })
      .Case([&](math::ExpM1Op) { return named("expm1f"); })
      .Case([&](math::LogOp) { return named("logf"); })
      .Case([&](math::Log2Op) { return named("log2f"); })
      .Case([&](math::Log1pOp) { return named("log1pf"); })
      .Case([&](math::SqrtOp) { return named("sqrtf"); })
      .Case([&](math::RsqrtOp) { return named("rsqrtf"); })
      .Case([&](math::AbsFOp) { return named("fabsf"); })
      .Case([&](math::AbsIOp) { return named("magnitude"); })
      .Case([&](math::FloorOp) { return named("floorf"); })
      .Case([&](math::CeilOp) { return named("ceilf"); })
      .Case([&](math::TanhOp) { return named("tanhf"); })
      .Case([&](math::SinOp) { return named("sinf"); })
      .Case([&](math::CosOp) { return named("cosf"); })
      .Case([&](math::PowFOp) { return named("powf"); })
      .Case([&](math::FmaOp) { return named("fmaf"); })
      .Case([&](math::CopySignOp) { return named("copysignf"); })
      .Case([&](math::FPowIOp power) { return powerText(power, of); })
      .Default([](Operation *) -> Result { return std::nullopt; });
}
