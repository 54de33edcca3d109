//===- SpecializeTest.cpp - a kernel for known row lengths ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/Specialize.h"
#include "dialect/spec/Importer.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Matchers.h"
#include <gtest/gtest.h>

using namespace attn;
using namespace mlir;

namespace {

constexpr int64_t kAny = ShapedType::kDynamic;

struct Specialised {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  bool succeeded = false;
  std::string diagnostics;

  /// Extents of q, k, v, of the parameters, and of o; lengths stay as they are.
  Specialised(StringRef text, ArrayRef<SmallVector<int64_t>> inputs,
              ArrayRef<SmallVector<int64_t>> outputs) {
    ParsedAttention parsed = parseAttention(text, "t.attn", context);
    EXPECT_TRUE(bool(parsed)) << parsed.error;
    module = std::move(parsed.module);
    SmallVector<SmallVector<int64_t>> extents(inputs.begin(), inputs.end());
    extents.resize(extents.size() + 3);
    extents.append(outputs.begin(), outputs.end());
    DiagnosticText said(text, "t.attn", context);
    succeeded = succeeds(extents);
    diagnostics = said.take();
  }
  bool succeeds(ArrayRef<SmallVector<int64_t>> extents) {
    return mlir::succeeded(specialize(function(), extents));
  }
  func::FuncOp function() { return *module->getOps<func::FuncOp>().begin(); }
  template <typename Op> SmallVector<Op> all() {
    SmallVector<Op> found;
    module->walk([&](Op op) { found.push_back(op); });
    return found;
  }
};

int64_t lengthOf(Value row) { return cast<RowType>(row.getType()).getLength(); }

} // namespace

TEST(Specialize, RowsOfEveryOp) {
  Specialised s("attention t(q, k, v; W[kv_head, D, d], a[d]) {\n"
                "  q = power(unit(q), 2); k = rope(concat(k * W, a * 2), j)\n"
                "  v = outer(v, v)\n"
                "  kappa = exp(dot(q, k) / dim)\n"
                "}",
                {{3}, {5}, {4}, {kAny, 5, 4}, {2}}, {{16}});
  ASSERT_TRUE(s.succeeded) << s.diagnostics;
  EXPECT_EQ(lengthOf(s.all<UnitOp>()[0].getResult()), 3);
  EXPECT_EQ(lengthOf(s.all<PowerOp>()[0].getResult()), 6); // binom(4, 2)
  EXPECT_EQ(lengthOf(s.all<ProjectOp>()[0].getResult()), 4);
  EXPECT_EQ(lengthOf(s.all<ParamRowOp>()[0].getResult()), 2);
  EXPECT_EQ(lengthOf(s.all<attn::MapOp>()[0].getResult()), 2);
  EXPECT_EQ(lengthOf(s.all<ConcatOp>()[0].getResult()), 6);
  EXPECT_EQ(lengthOf(s.all<RopeOp>()[0].getResult()), 6);
  EXPECT_EQ(lengthOf(s.all<OuterOp>()[0].getResult()), 16);
  auto attention = s.all<AttentionOp>()[0];
  EXPECT_EQ(lengthOf(attention.getKappa().getArgument(0)), 6);
  EXPECT_EQ(lengthOf(attention.getKappa().getArgument(1)), 6);
  EXPECT_EQ(attention.getMappedRow(2).getLength(), 16);
  // Nothing asks for a length any more: dot(q, k) is divided by the constant 6.
  EXPECT_TRUE(s.all<DimOp>().empty());
  auto divide = s.all<arith::DivFOp>()[0];
  FloatAttr six;
  ASSERT_TRUE(matchPattern(divide.getRhs(), m_Constant(&six)));
  EXPECT_EQ(six.getValueAsDouble(), 6);
}

TEST(Specialize, FoldsWhatLengthsDecide) {
  Specialised s("attention t(q, k, v; B[-M:M]) {\n"
                "  kappa = exp(dot(q, k) / sqrt(dim) + B[i - j] + dim(v))\n"
                "}",
                {{64}, {64}, {32}, {9}}, {{32}});
  ASSERT_TRUE(s.succeeded) << s.diagnostics;
  EXPECT_TRUE(s.all<math::SqrtOp>().empty());
  EXPECT_TRUE(s.all<DimOp>().empty());
  EXPECT_TRUE(s.all<memref::DimOp>().empty());
  FloatAttr eight;
  ASSERT_TRUE(
      matchPattern(s.all<arith::DivFOp>()[0].getRhs(), m_Constant(&eight)));
  EXPECT_EQ(eight.getValueAsDouble(), 8);
  // M = (9 - 1) / 2: the index is clamped to -4 and 4.
  APInt edge;
  ASSERT_TRUE(
      matchPattern(s.all<arith::MinSIOp>()[0].getRhs(), m_ConstantInt(&edge)));
  EXPECT_EQ(edge.getSExtValue(), 4);
  ASSERT_TRUE(
      matchPattern(s.all<arith::MaxSIOp>()[0].getRhs(), m_ConstantInt(&edge)));
  EXPECT_EQ(edge.getSExtValue(), -4);
  // Constants stay in the region: the function holds one attention and a
  // return.
  EXPECT_EQ(s.function().getBody().front().getOperations().size(), 2u);
}

TEST(Specialize, ArgumentTypes) {
  Specialised s("attention t(q, k, v; b[head]) { kappa = exp(dot(q, k) * b)\n"
                "return o, mass, weights }",
                {{8}, {8}, {4}, {}}, {{4}, {}, {}});
  ASSERT_TRUE(s.succeeded) << s.diagnostics;
  auto type = [&](unsigned n) {
    std::string text;
    llvm::raw_string_ostream(text) << s.function().getArgumentTypes()[n];
    return text;
  };
  EXPECT_EQ(type(0), "memref<?x?x?x8xf32, strided<[?, ?, ?, 1], offset: ?>>");
  EXPECT_EQ(type(2), "memref<?x?x?x4xf32, strided<[?, ?, ?, 1], offset: ?>>");
  EXPECT_EQ(type(3), "memref<?xf32, strided<[?], offset: ?>>");
  EXPECT_EQ(type(7), "memref<?x?x?x4xf32, strided<[?, ?, ?, 1], offset: ?>>");
  EXPECT_EQ(type(8), "memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>");
  EXPECT_EQ(type(9), "memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>>");
}

TEST(Specialize, UnequalLengthsAreReportedAtTheExpression) {
  Specialised s("attention t(q, k, v; a[d]) {\n"
                "  kappa = exp(dot(a, q) + dot(q, k))\n"
                "}",
                {{64}, {64}, {64}, {32}}, {{64}});
  EXPECT_FALSE(s.succeeded);
  EXPECT_EQ(
      s.diagnostics,
      "t.attn:2:15: error: 'attn.dot' op needs rows of equal length, got 32 "
      "and 64\n"
      "  kappa = exp(dot(a, q) + dot(q, k))\n"
      "              ^\n");
}

TEST(Specialize, ImpossibleLengthsFail) {
  Specialised odd(
      "attention t(q, k, v) { q = rope(q, i); kappa = exp(dot(q, k)) }",
      {{7}, {7}, {7}}, {{7}});
  EXPECT_FALSE(odd.succeeded);
  EXPECT_NE(odd.diagnostics.find("1:28: error: 'attn.rope' op rotates pairs"),
            std::string::npos)
      << odd.diagnostics;
  Specialised large(
      "attention t(q, k, v) { q = power(q, 60); kappa = dot(q, q) }",
      {{512}, {512}, {512}}, {{512}});
  EXPECT_FALSE(large.succeeded);
  EXPECT_NE(large.diagnostics.find("too many channels"), std::string::npos);
  Specialised few("attention t(q, k, v) { kappa = exp(dot(q, k)) }", {{8}}, {});
  EXPECT_FALSE(few.succeeded);
}
