//===- InterpreterTest.cpp - the reference on MLIR text -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;

namespace attn {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One query head over two or more keys, D = 2, Dv = 1; regions from the test.
class ReferenceTest : public ::testing::Test {
protected:
  ReferenceTest() {
    context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect,
                        math::MathDialect, memref::MemRefDialect>();
  }

  /// Runs attention with kappa (over rows %a, %b) and more regions around it.
  LogicalResult run(std::string kappa, std::string normalize = "mass",
                    std::string after = "", std::string attributes = "") {
    std::string in = "memref<?x?x?x?xf32, strided<[?, ?, ?, ?], offset: ?>>";
    std::string out = "memref<?x?x?xf32, strided<[?, ?, ?], offset: ?>>";
    std::string lengths = "memref<?xi64, strided<[?], offset: ?>>";
    std::string parameter = "memref<?xf32, strided<[?], offset: ?>>";
    std::string text =
        "func.func @f(%q: " + in + ", %k: " + in + ", %v: " + in +
        ", %p: " + parameter + ", %kl: " + lengths + ", %ql: " + lengths +
        ", %off: " + lengths + ", %o: " + in + ", %mass: " + out +
        ", %lse: " + out + ", %max: " + out + ") {\n" +
        "%zero = arith.constant 0 : index\n" +
        "attn.attention ins(%q, %k, %v : " + in + ", " + in + ", " + in +
        ") lengths(%kl, %ql, %off : " + lengths + ", " + lengths + ", " +
        lengths + ") outs(%o, %mass, %lse, %max : " + in + ", " + out + ", " +
        out + ", " + out +
        ") results [#attn.result<o>, #attn.result<mass>, #attn.result<lse>, "
        "#attn.result<max>] normalize<" +
        normalize + "> " + attributes +
        " kappa {\n^bb0(%a: !attn.row<?xf32>, %b: !attn.row<?xf32>):\n" +
        kappa + "\nattn.yield %w : f32\n}\n" + after + "\nreturn\n}\n";
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return failure();
    int64_t nq = q.size() / 2, nk = k.size() / 2;
    o.assign(nq, kNaN), mass = lse = max = std::vector<double>(nq, kNaN);
    auto wide = [](std::vector<double> &x) {
      return Tensor(x.data(), attn::Type::f64, {1, 1, int64_t(x.size())});
    };
    auto vector = [](std::vector<int64_t> &x) {
      return Tensor(x.data(), attn::Type::i64, {int64_t(x.size())});
    };
    return interpret(
        *module->getOps<func::FuncOp>().begin(),
        {Tensor(q.data(), {1, 1, nq, 2}), Tensor(k.data(), {1, 1, nk, 2}),
         Tensor(v.data(), {1, 1, nk, 1}), Tensor(p.data(), {int64_t(p.size())}),
         vector(keyLengths), vector(queryLengths), vector(offset),
         Tensor(o.data(), attn::Type::f64, {1, 1, nq, 1}), wide(mass),
         wide(lse), wide(max)},
        noise);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<float> q = {1, 2}, k = {1, 0, 0, 1}, v = {10, 20}, p = {0};
  std::vector<int64_t> keyLengths, queryLengths, offset;
  std::vector<double> o, mass, lse, max;
  Noise noise;
};

const char kExpDot[] =
    "%s = attn.dot %a, %b : !attn.row<?xf32>, !attn.row<?xf32>\n"
    "%w = math.exp %s : f32";
const char kSeesUpToI[] = "mask {\n%i = attn.index i\n%j = attn.index j\n"
                          "%m = arith.cmpi sle, %j, %i : index\n"
                          "attn.yield %m : i1\n}";

TEST_F(ReferenceTest, Softmax) {
  ASSERT_TRUE(succeeded(run(kExpDot))); // logits 1 and 2
  double e = std::exp(1), e2 = std::exp(2);
  EXPECT_NEAR(mass[0], e + e2, 1e-13);
  EXPECT_NEAR(o[0], (10 * e + 20 * e2) / (e + e2), 1e-13);
  EXPECT_NEAR(lse[0], std::log(e + e2), 1e-14);
  EXPECT_NEAR(max[0], e2, 1e-14);
}

TEST_F(ReferenceTest, LogitsOfTenThousand) {
  q = {10000, 10001};
  ASSERT_TRUE(succeeded(run(kExpDot)));
  EXPECT_NEAR(o[0], (10 * std::exp(-1) + 20) / (1 + std::exp(-1)), 1e-10);
  EXPECT_NEAR(lse[0], 10001 + std::log1p(std::exp(-1)), 1e-10);
  EXPECT_EQ(mass[0], kInfinity);
  q = {-10000, -10001};
  ASSERT_TRUE(succeeded(run(kExpDot)));
  EXPECT_NEAR(o[0], (10 + 20 * std::exp(-1)) / (1 + std::exp(-1)), 1e-10);
  EXPECT_EQ(mass[0], 0);
}

TEST_F(ReferenceTest, NoneMultipliesByTheGaugeLast) {
  q = {0, 1};
  k = {0, 700, 0, -2000};
  ASSERT_TRUE(succeeded(run(kExpDot, "none")));
  EXPECT_NEAR(o[0] / std::exp(700), 10, 1e-10);
  k = {0, -2000, 0, -2000};
  ASSERT_TRUE(succeeded(run(kExpDot, "none")));
  EXPECT_EQ(o[0], 0);
}

TEST_F(ReferenceTest, BottomRightAlignment) {
  q = {0, 0, 0, 0};
  k = {0, 0, 0, 0, 0, 0};
  v = {3, 6, 12};
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", kSeesUpToI)));
  EXPECT_EQ(o[0], 4.5); // of 2 queries and 3 keys the first stands at 1
  EXPECT_EQ(o[1], 7);
  offset = {0};
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", kSeesUpToI)));
  EXPECT_EQ(o[0], 3);
  offset = {-1};
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", kSeesUpToI)));
  EXPECT_EQ(o[0], 0); // sees nothing
  EXPECT_EQ(mass[0], 0);
  EXPECT_EQ(lse[0], -kInfinity);
  offset = {};
  queryLengths = {1}; // the row left stands at the last key
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", kSeesUpToI)));
  EXPECT_EQ(o[0], 7);
  EXPECT_EQ(o[1], 0);
  EXPECT_EQ(lse[1], -kInfinity);
}

TEST_F(ReferenceTest, ADerivedQueryLengthSetsTheOffsetOnly) {
  q = {0, 0, 0, 0};
  v = {3, 6};
  keyLengths = {1}; // Nq = Nk: query_len is 1 too, the offset 0
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", kSeesUpToI)));
  EXPECT_EQ(o[0], 3);
  EXPECT_EQ(o[1], 3); // computed all the same
}

TEST_F(ReferenceTest, NothingUnderTheMaskIsSeen) {
  k = {1, 0, kNaN, kNaN};
  v = {10, kNaN};
  offset = {0};
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", kSeesUpToI)));
  EXPECT_EQ(o[0], 10);
  offset = {};
  keyLengths = {1};
  ASSERT_TRUE(succeeded(run(kExpDot)));
  EXPECT_EQ(o[0], 10);
}

TEST_F(ReferenceTest, SinkDeltaAndFloor) {
  q = {0, 0};
  std::string terms =
      "normalizer {\n%t = memref.load %p[%zero] : memref<?xf32, "
      "strided<[?], offset: ?>>\nattn.yield %t : f32\n}";
  auto attributes = [](std::string term) {
    return "attributes {terms = [#attn.term<" + term + ">]}";
  };
  p = {std::log(2.0f)};
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", terms, attributes("sink"))));
  EXPECT_NEAR(o[0], 7.5, 1e-6); // 30 / (2 + 2)
  EXPECT_NEAR(mass[0], 4, 1e-6);
  keyLengths = {0};
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", terms, attributes("sink"))));
  EXPECT_EQ(o[0], 0);
  EXPECT_EQ(lse[0], double(p[0]));
  keyLengths = {};
  p = {1};
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", terms, attributes("delta"))));
  EXPECT_NEAR(o[0], 10, 1e-14);
  EXPECT_EQ(mass[0], 2);
  p = {5};
  ASSERT_TRUE(succeeded(run(kExpDot, "mass", terms, attributes("floor"))));
  EXPECT_NEAR(o[0], 6, 1e-14);
  EXPECT_EQ(mass[0], 2);
}

TEST_F(ReferenceTest, RowsInsideKappaAndSigns) {
  k = {3, 1, -1, 5};
  // dot(a * |a|^2, b) with every level of dependence: 5 and 45.
  ASSERT_TRUE(
      succeeded(run("%n = attn.sqnorm %a : !attn.row<?xf32>\n"
                    "%c = attn.map %a : !attn.row<?xf32> {\n^bb0(%x: f32):\n"
                    "%y = arith.mulf %x, %n : f32\nattn.yield %y : f32\n}\n"
                    "%d = attn.map %b : !attn.row<?xf32> {\n^bb0(%x: f32):\n"
                    "%y = arith.negf %x : f32\nattn.yield %y : f32\n}\n"
                    "%w = attn.dot %c, %d : !attn.row<?xf32>, !attn.row<?xf32>",
                    "none")));
  EXPECT_EQ(o[0], -(25.0 * 10 + 45 * 20));
  EXPECT_EQ(mass[0], -70);
  EXPECT_TRUE(std::isnan(lse[0]));
}

TEST_F(ReferenceTest, AnIndexIntoAnEmptyParameterReadsZero) {
  p.clear(); // what it is clamped to is not there, and nothing sees it
  ASSERT_TRUE(succeeded(run("%j = attn.index j\n%c = memref.load %p[%j] : "
                            "memref<?xf32, strided<[?], offset: ?>>\n"
                            "%w = math.exp %c : f32")));
  EXPECT_EQ(mass[0], 2);
}

TEST_F(ReferenceTest, NoiseIsThatOfRoundingToF32) {
  // As a step of dot, as its result and as an exponent, 20 moves by 2^-24 * 20.
  q = {10, 20};
  ASSERT_TRUE(succeeded(run(kExpDot)));
  double exact = mass[0], o0 = o[0], largest = 0;
  for (noise.seed = 1; noise.seed < 100; ++noise.seed) {
    ASSERT_TRUE(succeeded(run(kExpDot)));
    double moved = std::abs(mass[0] / exact - 1);
    EXPECT_GT(moved, 0);
    largest = std::max(largest, moved);
    EXPECT_LT(std::abs(o[0] - o0), 10 * 64 * 0x1p-24);
  }
  EXPECT_LT(largest, 64 * 0x1p-24);
  EXPECT_GT(largest, 5 * 0x1p-24);
}

// Rows that a map makes and pairs take move by noise of their own: of
// dot(2 q, k) with k a unit row, by as much as their one element.
TEST_F(ReferenceTest, NoiseOfMadeRows) {
  const std::string twice = " = attn.map %a : !attn.row<?xf32> {\n"
                            "^bb0(%x: f32):\n%two = arith.addf %x, %x : f32\n"
                            "attn.yield %two : f32\n}\n";
  auto largestMove = [&](const std::string &kappa) {
    noise = {};
    EXPECT_TRUE(succeeded(run(kappa)));
    double exact = mass[0], largest = 0;
    noise.madeRows = halfUnit(kTf32Digits);
    for (noise.seed = 1; noise.seed < 100; ++noise.seed) {
      EXPECT_TRUE(succeeded(run(kappa)));
      largest = std::max(largest, std::abs(mass[0] / exact - 1));
    }
    return largest;
  };
  q = {1, 0};
  k = {1, 0};
  v = {10};
  double made = largestMove("%r" + twice +
                            "%w = attn.dot %r, %b : !attn.row<?xf32>, "
                            "!attn.row<?xf32>");
  EXPECT_GT(made, 0.8 * 0x1p-11);
  EXPECT_LT(made, 1.01 * 0x1p-11);
  // Rows as they are given are not moved, nor is what is only on the way.
  EXPECT_LT(largestMove("%w = attn.dot %a, %b : !attn.row<?xf32>, "
                        "!attn.row<?xf32>"),
            0x1p-20);
  EXPECT_LT(largestMove("%r" + twice +
                        "%n = attn.sqnorm %r : !attn.row<?xf32>\n"
                        "%s = attn.dot %a, %b : !attn.row<?xf32>, "
                        "!attn.row<?xf32>\n"
                        "%w = arith.mulf %n, %s : f32"),
            0x1p-20);
}

// As if rows were rounded, and kappa the product of two rounded features: of
// q.k with one element each by 4 units, and by 2 where no row is in it.
TEST_F(ReferenceTest, NoiseOfFeatures) {
  q = {1, 0};
  k = {1, 0};
  v = {10};
  for (auto [kappa, most] :
       {std::pair("%w = attn.dot %a, %b : !attn.row<?xf32>, !attn.row<?xf32>",
                  4.),
        std::pair("%w = arith.constant 3.0 : f32", 2.)}) {
    noise = {};
    ASSERT_TRUE(succeeded(run(kappa)));
    double exact = mass[0], largest = 0;
    noise.features = halfUnit(kTf32Digits);
    for (noise.seed = 1; noise.seed < 200; ++noise.seed) {
      ASSERT_TRUE(succeeded(run(kappa)));
      largest = std::max(largest, std::abs(mass[0] / exact - 1));
    }
    EXPECT_LT(largest, 1.01 * most * 0x1p-11);
    EXPECT_GT(largest, 0.6 * most * 0x1p-11);
  }
}

TEST_F(ReferenceTest, AnIndexOutsideIsAnError) {
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error = diagnostic.str();
    return success();
  });
  std::string kappa =
      "%j = attn.index j\n%w = memref.load %p[%j] : memref<?xf32, "
      "strided<[?], offset: ?>>";
  EXPECT_TRUE(failed(run(kappa)));
  EXPECT_NE(error.find("an index is outside of the parameter"),
            std::string::npos);
  EXPECT_TRUE(failed(run("%s = attn.sqnorm %a : !attn.row<?xf32>\n"
                         "%w = math.asin %s : f32")));
  EXPECT_NE(error.find("does not know"), std::string::npos);
}

} // namespace
} // namespace attn
