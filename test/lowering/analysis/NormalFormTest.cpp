//===- NormalFormTest.cpp - forms mean what the IR means ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormEvaluator.h"
#include "Kernels.h"
#include "RandomKernel.h"
#include "lowering/analysis/FormEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <functional>
#include <iostream>

using namespace attn;
using namespace mlir;

namespace {
/// Whether two expressions have one form.
bool same(const std::string &a, const std::string &b) {
  Kernel kernel("attention t(q, k, v; b >= 0, c, e > 0) {\ns = dot(q, k)\n"
                "kappa = where(i < 3, " +
                a + ", " + b +
                ")\n"
                "normalize = none\n}\n");
  ValueRangeAnalysis ranges;
  NormalForm form(kernel.op, ranges);
  auto select = kernel.kappa().getDefiningOp<arith::SelectOp>();
  EXPECT_TRUE(select) << a;
  if (!select)
    return false;
  return (form.scalar(select.getTrueValue()) -
          form.scalar(select.getFalseValue()))
      .isZero();
}
} // namespace

TEST(NormalForm, OneFormForManySpellings) {
  EXPECT_TRUE(same("(s + b)^2", "s*s + b*(2*s + b)"));
  EXPECT_TRUE(same("sqdist(q, k)", "dot(q, q) - 2*s + dot(k, k)"));
  EXPECT_TRUE(same("exp(s)*exp(-s)", "1"));
  EXPECT_TRUE(same("1/(s*s + 2*s*e + e*e)", "(e + s)^-2"));
  EXPECT_TRUE(same("1/(s + e)^3", "(1/(e + s))^3"));
  EXPECT_TRUE(same("sqrt(sqdist(q, k))^2", "sqdist(q, k)"));
  EXPECT_TRUE(same("sqrt(s^2)", "abs(s)"));
  EXPECT_TRUE(same("abs(-s)*abs(s)", "s^2"));
  EXPECT_TRUE(same("sqrt(4*e)", "2*e^0.5"));
  EXPECT_TRUE(same("log(exp(s)*e)", "s + log(e)"));
  EXPECT_TRUE(same("tanh(-s)", "-tanh(s)"));
  EXPECT_TRUE(same("max(s, -s)", "abs(s)"));
  EXPECT_TRUE(same("min(b - s, s - b)", "-abs(s - b)"));
  EXPECT_TRUE(same("max(s, 2)", "relu(s - 2) + 2"));
  EXPECT_TRUE(same("min(s, 0)", "s - relu(s)"));
  EXPECT_TRUE(same("dot(2*q, k*c)", "c*s*2"));
  EXPECT_TRUE(same("dot(q*cos(c*i), k)", "s*cos(-i*c)"));
  EXPECT_TRUE(same("cos(c*(i - j))", "cos(c*i)*cos(c*j) + sin(c*i)*sin(c*j)"));
  EXPECT_TRUE(same("dot(power(q, 3), power(k, 3))", "s^3"));
  EXPECT_TRUE(same("e^(i - j)", "exp(i*log(e))/e^j"));
}

TEST(NormalForm, DifferentThingsStayDifferent) {
  EXPECT_FALSE(same("sqrt(s^2)", "s"));
  EXPECT_FALSE(same("(s^2)^0.5*s", "s^2"));
  EXPECT_FALSE(same("dot(unit(q), unit(k))", "s"));
  EXPECT_FALSE(same("dot(relu(q), relu(k))", "relu(s)"));
  EXPECT_FALSE(same("relu(-s)", "-relu(s)"));
  EXPECT_FALSE(same("dot(rope(q, i), rope(k, j))", "s"));
  EXPECT_FALSE(same("abs(i - j)*s", "(i - j)*s"));
  EXPECT_FALSE(same("1/s^2", "1/s"));
}

namespace {
/// How far rounding may move what is computed: how far noise of 2^9 times the
/// size of rounding moves it in a few draws. Kernels that cancel, or take roots
/// near 0, are allowed what they lose and no others.
constexpr double kNoise = 0x1p-44;
constexpr int kDraws = 6;

double spreadOf(double exact, const std::function<double(uint64_t)> &draw) {
  double spread = std::fabs(exact) * kNoise;
  for (uint64_t seed = 1; seed <= kDraws; ++seed)
    spread = std::max(spread, std::fabs(draw(seed) - exact));
  return spread;
}
} // namespace

/// 1,000 random kernels at random rows.
TEST(NormalForm, EvaluatesAsTheIrDoes) {
  constexpr uint64_t seed = 20250311;
  RandomKernel kernels(seed);
  std::cout << "seed " << seed << "\n";
  int compared = 0;
  for (int n = 0; n < 1000; ++n) {
    std::string spec = kernels.spec();
    if (spec.find("where") != std::string::npos)
      continue; // rounding decides between sides that are equal over the reals
    Kernel kernel(spec);
    ASSERT_TRUE(kernel.op) << spec;
    ValueRangeAnalysis ranges;
    NormalForm form(kernel.op, ranges);
    for (int trial = 0; trial < 6; ++trial) {
      std::normal_distribution<> normal(0, trial < 3 ? 0.5 : 2);
      PointEvaluator::Row q(4), k(4);
      for (double &x : q)
        x = normal(kernels.random);
      for (double &x : k)
        x = normal(kernels.random);
      PointEvaluator point(kernels.random());
      double expected = point.kappa(kernel.op, q, k);
      if (!std::isfinite(expected))
        continue;
      double actual = FormEvaluator(form, point)(form.kappa());
      if (!std::isfinite(actual))
        continue; // a leaf that only the form has, or an overflow on the way
      double slack = spreadOf(expected, [&](uint64_t seed) {
        PointEvaluator noisy = point;
        noisy.clear();
        noisy.setNoise(kNoise, seed);
        return noisy.kappa(kernel.op, q, k);
      });
      slack += spreadOf(actual, [&](uint64_t seed) {
        FormEvaluator noisy(form, point);
        noisy.setNoise(kNoise, seed);
        return noisy(form.kappa());
      });
      if (!(slack < 1e-6 * std::max(1.0, std::fabs(expected))))
        continue; // too little is left of float64's digits to tell
      ++compared;
      ASSERT_NEAR(actual, expected, slack) << spec << form.str(form.kappa());
    }
  }
  EXPECT_GT(compared, 2500);
}

/// Emitted again, a form computes what the kernel computes.
TEST(NormalForm, EmitsWhatItMeans) {
  RandomKernel kernels(7);
  int compared = 0;
  for (int n = 0; n < 300; ++n) {
    std::string spec = kernels.spec();
    Kernel kernel(spec);
    ASSERT_TRUE(kernel.op) << spec;
    ValueRangeAnalysis ranges;
    NormalForm form(kernel.op, ranges);
    OpBuilder builder(kernel.body().getTerminator());
    Value emitted =
        FormEmitter(form, builder, kernel.op.getLoc()).scalar(form.kappa());
    if (!emitted)
      continue; // a row whose map the form has rewritten out of recognition
    std::normal_distribution<> normal(0, 0.5);
    PointEvaluator::Row q(4), k(4);
    for (double &x : q)
      x = normal(kernels.random);
    for (double &x : k)
      x = normal(kernels.random);
    PointEvaluator point(kernels.random());
    double expected = point.kappa(kernel.op, q, k);
    double actual = point.scalar(emitted);
    if (!std::isfinite(expected) || point.largest() > 1e4)
      continue;
    ++compared;
    // Coefficients are rounded to f32.
    ASSERT_NEAR(actual, expected, 1e-5 * point.largest()) << spec;
  }
  EXPECT_GT(compared, 150);
}
