//===- ScalarTextTest.cpp - scalar operations as C expressions ------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cuda/ScalarText.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace attn;

namespace {
class ScalarText : public ::testing::Test {
protected:
  ScalarText() : b(&context) {
    context.loadDialect<arith::ArithDialect, math::MathDialect>();
    module = ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToStart(module->getBody());
  }
  Value real(double v) {
    return arith::ConstantOp::create(b, b.getUnknownLoc(),
                                     b.getF32FloatAttr(v));
  }
  Value index(int64_t v) {
    return arith::ConstantIndexOp::create(b, b.getUnknownLoc(), v);
  }
  template <typename Op, typename... Args>
  std::string text(std::vector<Text> of, Args &&...args) {
    auto op = Op::create(b, b.getUnknownLoc(), std::forward<Args>(args)...);
    std::optional<Text> made = scalarText(*op.getOperation(), of);
    return made ? made->code : "none";
  }
  std::string constant(double v) {
    return constantText(b.getF32FloatAttr(v)).code;
  }

  MLIRContext context;
  OpBuilder b;
  OwningOpRef<ModuleOp> module;
};
const Text sum{"a + b", Text::Sum}, x{"x"}, minus{"-x", Text::Unary};
} // namespace

TEST_F(ScalarText, Parentheses) {
  Value v = real(1);
  EXPECT_EQ(text<arith::MulFOp>({sum, x}, v, v), "(a + b) * x");
  EXPECT_EQ(text<arith::SubFOp>({sum, sum}, v, v), "a + b - (a + b)");
  EXPECT_EQ(text<arith::AddFOp>({sum, x}, v, v), "a + b + x");
  EXPECT_EQ(text<arith::DivFOp>({x, Text{"a * b", Text::Product}}, v, v),
            "x / (a * b)");
  EXPECT_EQ(text<arith::NegFOp>({minus}, v), "-(-x)"); // never --x
  EXPECT_EQ(text<arith::SubFOp>({x, minus}, v, v), "x - -x");
  Value c =
      arith::ConstantOp::create(b, b.getUnknownLoc(), b.getBoolAttr(true));
  EXPECT_EQ(text<arith::SelectOp>(
                {Text{"p ? q : r", Text::Conditional}, x, sum}, c, v, v),
            "(p ? q : r) ? x : a + b");
  EXPECT_EQ(
      text<arith::XOrIOp>({Text{"a < b", Text::Relation}, Text{"true"}}, c, c),
      "!(a < b)");
}

TEST_F(ScalarText, Comparisons) {
  Value v = real(1);
  using P = arith::CmpFPredicate;
  EXPECT_EQ(text<arith::CmpFOp>({sum, x}, P::OLT, v, v), "a + b < x");
  // Not ordered counts as less.
  EXPECT_EQ(text<arith::CmpFOp>({sum, x}, P::ULT, v, v), "!(a + b >= x)");
  EXPECT_EQ(text<arith::CmpFOp>({x, x}, P::UNO, v, v), "x != x || x != x");
}

// The bits of floats, as a running power of two takes them.
TEST_F(ScalarText, Bits) {
  Value v = real(1), n = arith::ConstantOp::create(b, b.getUnknownLoc(),
                                                   b.getI32IntegerAttr(23));
  EXPECT_EQ(text<arith::BitcastOp>({sum}, b.getI32Type(), v),
            "int(bitsOf(a + b))");
  EXPECT_EQ(text<arith::BitcastOp>({x}, b.getF32Type(), n), "floatOf(u32(x))");
  EXPECT_EQ(text<arith::ShRUIOp>({sum, Text{"23"}}, n, n),
            "int(u32(a + b) >> 23)");
  using P = arith::CmpIPredicate;
  EXPECT_EQ(text<arith::CmpIOp>({sum, x}, P::uge, n, n),
            "u32(a + b) >= u32(x)"); // -1 is the largest
  EXPECT_EQ(text<arith::CmpIOp>({sum, x}, P::ult, index(1), index(2)),
            "u64(a + b) < u64(x)");
  EXPECT_EQ(text<arith::CmpIOp>({sum, x}, P::sge, n, n), "a + b >= x");
}

TEST_F(ScalarText, Constants) {
  EXPECT_EQ(constant(0), "0.f");
  EXPECT_EQ(constant(-2), "-2.f");
  EXPECT_EQ(constant(0.1f), "0.1f");
  EXPECT_EQ(constant(1.17549435e-38f), "1.1754944e-38f");
  EXPECT_EQ(constant(-INFINITY), "-infinity()");
  EXPECT_EQ(constantText(b.getF64FloatAttr(10000)).code, "10000.");
}

TEST_F(ScalarText, Calls) {
  Value v = real(1), n = index(3);
  // Templates see one type on both sides.
  EXPECT_EQ(text<arith::MinSIOp>({x, Text{"64", Text::Primary, true}}, n, n),
            "least(x, i64(64))");
  EXPECT_EQ(text<math::ExpOp>({sum}, v), "expf(a + b)");
  Value two =
      arith::ConstantOp::create(b, b.getUnknownLoc(), b.getI32IntegerAttr(2));
  Value minusThree =
      arith::ConstantOp::create(b, b.getUnknownLoc(), b.getI32IntegerAttr(-3));
  EXPECT_EQ(text<math::FPowIOp>({sum, x}, v, two), "square(a + b)");
  EXPECT_EQ(text<math::FPowIOp>({x, x}, v, minusThree), "power<-3>(x)");
  EXPECT_EQ(text<math::ErfOp>({x}, v), "none");
}
