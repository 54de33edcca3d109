//===- VerdictTest.cpp - sign and gauge of the kernels that matter --------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "lowering/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace attn;
using namespace mlir;

namespace {
struct Row {
  const char *statements; ///< of a spec in q, k, v and the parameters below
  Verdict nonnegative;
  Gauge gauge;
};

constexpr Verdict Yes = Verdict::Yes, No = Verdict::No,
                  Unproven = Verdict::Unproven;
constexpr Gauge None = Gauge::None, Max = Gauge::Max;

void check(std::initializer_list<Row> rows) {
  for (const Row &row : rows) {
    Kernel kernel(
        "attention t(q, k, v; b >= 0, c, e > 0, m[head] >= 0, h > 0) {\n" +
        std::string(row.statements) + "\nnormalize = none\n}\n");
    ASSERT_TRUE(kernel.op) << row.statements;
    PassManager passes(&kernel.context);
    passes.addNestedPass<func::FuncOp>(createIssueLicencePass());
    ASSERT_TRUE(succeeded(passes.run(*kernel.module))) << row.statements;
    LicenceAttr licence = *kernel.op.getLicence();
    EXPECT_EQ(licence.getNonnegative(), row.nonnegative)
        << row.statements << ": " << licence.getSignReason().str();
    EXPECT_EQ(licence.getGauge(), row.gauge)
        << row.statements << ": " << licence.getGaugeReason().str();
  }
}
} // namespace

TEST(Verdict, Dot) {
  check({{"kappa = dot(q, k)", No, None},
         {"kappa = dot(k, q)*1", No, None},
         {"kappa = -dot(q, k)", No, None},
         {"kappa = dot(q, q)", Yes, None},
         {"kappa = dot(q, k) + c", No, None},
         {"kappa = dot(q, k)*sqdist(q, k)", No, None}});
}

/// The larger of two is at least their mean, the smaller one at most.
TEST(Verdict, Extrema) {
  check({{"s = dot(q, k)\nkappa = max(s, -s)", Yes, None},
         {"s = dot(q, k)\nkappa = max(-s, s)", Yes, None},
         {"s = dot(q, k)\nkappa = -min(s, -s)", Yes, None},
         {"s = dot(q, k) + c\nkappa = max(3*s/2, -(c + dot(q, k))*1.5)", Yes,
          None},
         {"s = dot(q, k)\nkappa = max(s - c, c - s)", Yes, None},
         {"s = dot(q, k)\nkappa = max(1 - s, s)^3", Yes, None},
         {"s = dot(q, k)\nkappa = max(s - 1, -s)", No, None},
         {"s = dot(q, k)\nkappa = max(s, 0.2*s)", No, None},
         {"s = dot(q, k)\nkappa = max(s, b - s)", Yes, None},
         {"kappa = max(i - j, j - i)*1", Yes, None},
         {"s = dot(q, k)\nkappa = min(s, -s)", No, None}});
}

TEST(Verdict, Polynomials) {
  check({{"kappa = (1 + dot(q, k))^2", Yes, None},
         {"kappa = (dot(k, q) + 1)*(1 + dot(q, k))", Yes, None},
         {"s = dot(q, k)\nkappa = 1 + 2*s + s*s", Yes, None},
         {"s = dot(q, k)\nkappa = s*(s + 2) + 1", Yes, None},
         {"kappa = (c + dot(q, k))^2", Yes, None},
         {"s = dot(q, k)\nkappa = c*c + s*(s + 2*c)", Yes, None},
         {"kappa = (c + dot(q, k))^4", Yes, None},
         {"s = dot(q, k)\nkappa = s^4 + 4*c*s^3 + 6*c^2*s^2 + 4*c^3*s + c^4",
          Yes, None},
         {"kappa = (1 + dot(q, k))^3", No, None},
         {"s = dot(q, k)\nkappa = s^3 + 3*s^2 + 3*s + 1", No, None},
         {"s = dot(q, k)\nkappa = s*s^2*s", Yes, None},
         {"s = dot(q, k)\nkappa = s^2 - 1", No, None},
         {"kappa = (1 + dot(q, k))^6", Yes, Max},
         {"s = 1 + dot(q, k)\nkappa = s^3*s^3", Yes, Max},
         {"s = 1 + dot(q, k)\nkappa = (s*s)^3", Yes, Max},
         {"kappa = (1 + dot(q, k))^5", No, Max}});
}

TEST(Verdict, TaylorSums) {
  check({{"kappa = 1", Yes, None},
         {"s = dot(q, k)/4\nkappa = 1 + s", No, None},
         {"s = dot(q, k)/4\nkappa = 1 + s + s^2/2", Yes, None},
         {"s = dot(q, k)/4\nkappa = s^2/2 + (1 + s)", Yes, None},
         {"s = dot(q, k)/4\nkappa = 1 + s*(1 + s/2)", Yes, None},
         {"s = dot(q, k)/4\nkappa = ((1 + s)^2 + 1)/2", Yes, None},
         {"s = dot(q, k)/sqrt(dim)\nkappa = 1 + s + s^2/2", Yes, None},
         {"s = dot(q, k)/4\nkappa = 1 + s + s^2/2 + s^3/6", No, None},
         {"s = dot(q, k)/4\nkappa = 1 + s + s^2/2 + s^3/6 + s^4/24", Yes, None},
         {"s = dot(q, k)/4\nkappa = 1 + s*(1 + s/2*(1 + s/3*(1 + s/4)))", Yes,
          None},
         {"s = dot(q, k)/4\nkappa = 1 + s + s^2/2 + s^3/6 + s^4/24 + s^5/120 + "
          "s^6/720",
          Yes, Max}});
}

TEST(Verdict, Exponentials) {
  check({{"kappa = exp(dot(q, k)/sqrt(dim))", Yes, Max},
         {"kappa = exp(-dot(q, k)/8)", Yes, Max},
         {"kappa = exp(dot(q, k) - m*abs(i - j))", Yes, Max},
         {"kappa = exp(dot(q, k))*exp(-m*abs(j - i))", Yes, Max},
         {"kappa = exp(30*tanh(dot(q, k)/30))", Yes, None},
         {"kappa = exp(tanh(0.1*dot(q, k))*60)", Yes, None},
         {"kappa = exp(61*tanh(dot(q, k)/30))", Yes, Max},
         {"kappa = exp(40*tanh(dot(q, k)))*exp(40*tanh(dot(k, q)))", Yes, Max},
         {"q = unit(q); k = unit(k)\nkappa = exp(dot(q, k))", Yes, None},
         {"kappa = exp(dot(unit(q), unit(k))/0.02)", Yes, None},
         {"kappa = exp(-sqdist(unit(q), unit(k)))", Yes, None},
         {"kappa = exp(max(dot(q, k), 0.2*dot(q, k)))", Yes, Max},
         {"s = dot(q, k)\nkappa = (exp(s) + exp(-s))/2", Yes, Max},
         {"s = dot(q, k)\nkappa = 0.5*exp(-s) + exp(s)*0.5", Yes, Max},
         {"s = dot(q, k)\nkappa = exp(s) - exp(-s)", No, Max}});
}

TEST(Verdict, Distances) {
  check({{"kappa = exp(-sqdist(q, k)/(2*h^2))", Yes, Max},
         {"kappa = exp(-0.5*(sqdist(q, k)/(h*h)))", Yes, Max},
         {"kappa = exp(-sqrt(sqdist(q, k))/h)", Yes, Max},
         {"kappa = 1/(sqdist(q, k) + e)", Yes, None},
         {"kappa = (e + sqdist(k, q))^-1", Yes, None},
         {"kappa = 1/(dot(q, q) + dot(k, k) - 2*dot(q, k) + e)", Yes, None},
         {"kappa = (sqdist(q, k) + e)^-0.5", Yes, None},
         {"kappa = 1/sqrt(sqdist(q, k) + e)", Yes, None},
         {"kappa = (1 + sqdist(q, k)/(2*h))^-h", Yes, Max},
         {"kappa = (1 + sqdist(q, k)/4)^-2", Yes, None},
         {"kappa = (1 + sqdist(q, k)/4)^-9", Yes, Max}});
}

TEST(Verdict, Yat) {
  check(
      {{"kappa = (dot(q, k) + b)^2/(sqdist(q, k) + e)", Yes, None},
       {"kappa = (b + dot(k, q))*(dot(q, k) + b)/(e + sqdist(k, q))", Yes,
        None},
       {"s = dot(q, k)\nkappa = (s*s + 2*c*s + c*c)/(sqdist(q, k) + e)", Yes,
        None},
       {"s = dot(q, k)\nr = sqdist(q, k) + e\nkappa = s*s/r + 2*c*s/r + c*c/r",
        Yes, None},
       {"kappa = dot(q, k)^2/(sqdist(q, k) + e)", Yes, None},
       {"kappa = (dot(q, k) - b)^2/(sqdist(q, k) + e)", Yes, None},
       {"kappa = (dot(q, k) + b)^2*(sqdist(q, k) + e)^-1", Yes, None},
       {"kappa = (dot(q, k) + b)^2/(sqdist(q, k) + softplus(c))", Yes, None},
       {"kappa = (dot(q, k) + b)^4/(sqdist(q, k) + e)", Yes, None},
       {"kappa = (dot(q, k) + b)^6/(sqdist(q, k) + e)", Yes, Max},
       {"kappa = (dot(q, k) + b)^3/(sqdist(q, k) + e)", No, None},
       {"kappa = (dot(q, k) + b)^2/(sqdist(q, k) + c)", No, None},
       {"q = unit(q); k = unit(k)\ns = dot(q, k)\nkappa = s^2/(2.01 - 2*s)",
        Yes, None},
       {"q = unit(q); k = unit(k)\ns = dot(q, k)\nkappa = s*s/(2*(1 - s) + "
        "0.01)",
        Yes, None},
       {"kappa = (dot(q, k) + b)^2/(sqdist(q, k) + e)*exp(-m*abs(i - j))", Yes,
        Max}});
}

TEST(Verdict, BoundedFunctions) {
  check({{"kappa = sigmoid(dot(q, k))", Yes, None},
         {"kappa = 1/(1 + exp(-dot(q, k)))", Yes, None},
         {"kappa = 1/(exp(-dot(q, k)) + 1)", Yes, None},
         {"kappa = tanh(dot(q, k))", No, None},
         {"kappa = 1 + tanh(dot(q, k))", Yes, None},
         {"kappa = 1 - tanh(dot(q, k))^2", Yes, None},
         {"kappa = relu(dot(q, k))^2", Yes, None},
         {"s = dot(q, k)\nkappa = where(s > 0, s, 0)^2", Yes, None},
         {"s = dot(q, k)\nkappa = where(s < 0, -s, s)", Yes, None},
         {"kappa = abs(dot(q, k))", Yes, None},
         {"kappa = softplus(dot(q, k))", Yes, None},
         {"kappa = log(1 + exp(dot(q, k)))", Yes, None},
         {"kappa = cos(h*(i - j)) + 1", Yes, None},
         {"kappa = cos(h*(i - j))", No, None},
         {"q = unit(q); k = unit(k)\nkappa = 1/(1.5 - dot(q, k))", Yes, None},
         {"q = unit(q); k = unit(k)\nkappa = 1/(0.5 - dot(q, k))", No, None}});
}

TEST(Verdict, FeatureMaps) {
  check({{"phi(x) = elu(x) + 1\nkappa = dot(phi(q), phi(k))", Yes, None},
         {"phi(x) = elu(x) + 1\nq = phi(q); k = phi(k)\nkappa = dot(k, q)", Yes,
          None},
         {"phi(x) = max(x, 0) + exp(min(x, 0))\nkappa = dot(phi(q), phi(k))",
          Yes, None},
         {"kappa = dot(relu(q), relu(k))", Yes, None},
         {"kappa = dot(max(q, 0), k*where(j >= 0, 1, 0))", No, None},
         {"kappa = dot(relu(q)*relu(q), relu(k)*relu(k))", Yes, None},
         {"kappa = dot(exp(q), exp(k))", Yes, None},
         {"q = rope(relu(q), i); k = rope(relu(k), j)\nkappa = dot(q, k)", No,
          None},
         {"q = concat(relu(q), relu(-q)); k = concat(relu(k), relu(-k))\n"
          "kappa = dot(q, k)",
          Yes, None},
         {"kappa = dot(power(q, 2), power(k, 2))", Yes, None},
         {"q = power(q, 2); k = power(k, 2)\nkappa = dot(q, k)", Yes, None},
         {"kappa = dot(power(q, 3), power(k, 3))", No, None},
         {"s = dot(q, k)\nkappa = exp(s) - s", Unproven, Max},
         {"kappa = dot(q, k)*exp(-m*abs(i - j))", No, Max},
         {"kappa = dot(relu(q)*cos(c*i), relu(k)*cos(c*j))", No, None}});
}
