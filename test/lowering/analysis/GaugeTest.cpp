//===- GaugeTest.cpp - kappa = 2^e * r ------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Gauge.h"
#include "Kernels.h"
#include "RandomKernel.h"
#include "lowering/analysis/PointEvaluator.h"
#include "lowering/analysis/ValueRange.h"

#include <cmath>

using namespace attn;
using namespace mlir;

namespace {
/// A kernel whose region holds kappa and its split.
struct SplitKernel : Kernel {
  explicit SplitKernel(const std::string &text) : Kernel(text) {
    OpBuilder builder(&context);
    FailureOr<GaugeSplit> made = splitGauge(kappa(), builder);
    EXPECT_TRUE(succeeded(made));
    split = *made;
  }
  double exponent(PointEvaluator &point) {
    return split.exponent ? point.scalar(split.exponent) : 0;
  }
  double factor(PointEvaluator &point) {
    return split.factor ? point.scalar(split.factor) : 1;
  }
  GaugeSplit split;
};

std::string spec(const std::string &kappa) {
  return "attention t(q, k, v; b >= 0, c, e > 0, n: int > 0) {\n  s = dot(q, "
         "k)\n"
         "  r = sqdist(q, k)\n  kappa = " +
         kappa + "\n  normalize = none\n}\n";
}

PointEvaluator::Row gaussian(std::mt19937_64 &random, double scale) {
  std::normal_distribution<> normal(0, scale);
  PointEvaluator::Row row(4);
  for (double &x : row)
    x = normal(random);
  return row;
}
} // namespace

TEST(Gauge, SplitIsKappa) {
  const char *kappas[] = {"exp(s)",
                          "exp(-s/8)",
                          "exp(s/sqrt(dim) - b*abs(i - j))",
                          "exp(-r/(2*e^2))",
                          "exp(-sqrt(r)/e)",
                          "3*exp(s)*exp(-r)",
                          "exp(s)/exp(r)",
                          "exp(s)/(1 + r)",
                          "(s + c)^2/(r + e)*exp(-b*abs(i - j))",
                          "(exp(s) + exp(-s))/2",
                          "exp(s) + exp(-r) + 1",
                          "exp(s) - exp(-s)",
                          "-exp(s)",
                          "exp(s)^3",
                          "exp(s)^-2",
                          "exp(s)^0.5",
                          "sqrt(exp(s)*(1 + r))",
                          "abs(exp(s) - 1)",
                          "log(1 + exp(3*s))",
                          "max(exp(s), exp(-r))",
                          "min(exp(s), exp(-r))",
                          "max(exp(s), 1 + r)",
                          "min(exp(s)*(1 + r), exp(r))",
                          "max(exp(s) - 1, 0)",
                          "where(s > 0, exp(s), exp(-r))",
                          "where(s > 0, exp(s), 0)",
                          "exp(max(s, 0.2*s))",
                          "exp(s) + where(s > 0, exp(s), 0)",
                          "s^6",
                          "(s + c)^6/(r + e)",
                          "s^5",
                          "s^40",
                          "s^41",
                          "s^-6",
                          "(1 + s^2)^4.5",
                          "(1 + s^2)^-7.25",
                          "s*s*s*s*s*s",
                          "s^3*(s + 1)^3*exp(-r)",
                          "1 + s + s^2/2 + s^3/6 + s^4/24 + s^5/120 + s^6/720",
                          "(exp(s) + s^6)^2",
                          "e^(i - j)",
                          "s*e^(i - j)",
                          "(1 + r)^-b",
                          "elu(s) + 1",
                          "elu(exp(s)) + 1",
                          "exp(s)/(1 + exp(s))",
                          "sigmoid(s)*exp(-r)",
                          "softplus(s)",
                          "tanh(s)*exp(s)",
                          "2^s",
                          "(r + e)^(-1/2)*exp(s)"};
  std::mt19937_64 random(11);
  for (const char *kappa : kappas) {
    SplitKernel kernel(spec(kappa));
    for (int trial = 0; trial < 60; ++trial) {
      PointEvaluator point(random());
      PointEvaluator::Row q = gaussian(random, 1), k = gaussian(random, 1);
      double value = point.kappa(kernel.op, q, trial % 3 == 0 ? q : k);
      double e = kernel.exponent(point), r = kernel.factor(point);
      if (!std::isfinite(value) || std::fabs(value) > 1e30)
        continue;
      // Constants in the exponent are f32, and so are the bits that a power of
      // two is taken from.
      double slack =
          2e-5 * (1 + std::min(std::fabs(e), 1e4) / 64) * std::fabs(value) +
          1e-12;
      EXPECT_NEAR(std::exp2(e) * r, value, slack) << kappa << ": e = " << e;
    }
  }
}

TEST(Gauge, RandomKernels) {
  RandomKernel kernels(3);
  for (int n = 0; n < 300; ++n) {
    std::string text = kernels.spec();
    SplitKernel kernel(text);
    for (int trial = 0; trial < 6; ++trial) {
      PointEvaluator point(kernels.random());
      PointEvaluator::Row q = gaussian(kernels.random, 0.5);
      double value = point.kappa(kernel.op, q, gaussian(kernels.random, 0.5));
      double e = kernel.exponent(point), r = kernel.factor(point);
      if (!std::isfinite(value) || point.largest() > 1e4)
        continue;
      EXPECT_NEAR(std::exp2(e) * r, value, 1e-5 * (1 + std::fabs(value)))
          << text << "e = " << e << ", r = " << r;
    }
  }
}

TEST(Gauge, FactorsStayModerate) {
  // Values far outside f32: the exponent takes them in. What stays in the
  // factor is of degree 4 at most.
  for (const char *kappa :
       {"exp(-r)", "exp(s) + exp(-s)", "s^6", "(s + c)^40/(r + e)",
        "s^7*exp(-r)", "s*s*s*s*s*s*s*s", "(1 + r)^-9", "exp(s)^3",
        "sqrt(exp(s))*exp(r)", "exp(s) + (1 + r)^12"}) {
    SplitKernel kernel(spec(kappa));
    std::mt19937_64 random(5);
    for (int trial = 0; trial < 40; ++trial) {
      PointEvaluator point(random());
      point.kappa(kernel.op, gaussian(random, 30), gaussian(random, 30));
      EXPECT_LT(std::fabs(kernel.factor(point)), 1e16) << kappa;
      EXPECT_GT(std::fabs(kernel.factor(point)), 1e-16) << kappa;
    }
  }
}

TEST(Gauge, ZerosStayExact) {
  for (const char *kappa :
       {"s^6", "s^5*exp(r)", "s^41", "(s^2)^4.5", "s^6 + s^8"}) {
    SplitKernel kernel(spec(kappa));
    PointEvaluator point(1);
    EXPECT_EQ(point.kappa(kernel.op, {0, 0, 0, 0}, {1, 2, 3, 4}), 0) << kappa;
    EXPECT_EQ(kernel.factor(point), 0) << kappa;
    EXPECT_EQ(kernel.exponent(point), -INFINITY) << kappa;
  }
}

TEST(Gauge, NaNStaysNaN) {
  for (const char *kappa :
       {"exp(s)", "s^6", "exp(s) + exp(-s)", "s^40", "s^7*s"}) {
    SplitKernel kernel(spec(kappa));
    PointEvaluator point(1);
    point.kappa(kernel.op, {NAN, 0, 0, 0}, {1, 2, 3, 4});
    EXPECT_TRUE(
        std::isnan(std::exp2(kernel.exponent(point)) * kernel.factor(point)))
        << kappa;
  }
}

/// The operations that the split added, by name.
static unsigned added(const std::string &kappa, StringRef name) {
  Kernel before(spec(kappa));
  SplitKernel after(spec(kappa));
  auto count = [&](Block &block) {
    return llvm::count_if(block, [&](Operation &op) {
      return op.getName().getStringRef() == name;
    });
  };
  return count(after.body()) - count(before.body());
}

TEST(Gauge, FoldsLog2EIntoTheScale) {
  // One multiply by scale * log2(e), wherever the constant stands.
  for (const char *kappa :
       {"exp(s)", "exp(s/8)", "exp(-0.5*s)", "exp(2*(s/8))"}) {
    SplitKernel kernel(spec(kappa));
    EXPECT_FALSE(kernel.split.factor) << kappa;
    EXPECT_EQ(added(kappa, "arith.mulf"), 1u) << kappa;
    EXPECT_EQ(added(kappa, "math.exp2"), 0u) << kappa;
  }
  // s/e: the reciprocal of e is made once, the pair pays one multiply.
  EXPECT_EQ(added("exp(-r/e)", "arith.mulf"), 1u);
  EXPECT_EQ(added("exp(-r/e)", "arith.divf"), 1u);
  // An algebraic kernel is left as it is.
  SplitKernel yat(spec("(s + c)^2/(r + e)"));
  EXPECT_FALSE(yat.split.exponent);
  EXPECT_EQ(yat.split.factor, yat.kappa());
}

TEST(Gauge, DecidingLeavesTheRegionAsItWas) {
  Kernel kernel(spec("exp(s) + s^6"));
  size_t size = kernel.body().getOperations().size();
  EXPECT_EQ(decideGauge(kernel.kappa()).gauge, Gauge::Max);
  EXPECT_EQ(kernel.body().getOperations().size(), size);
}
