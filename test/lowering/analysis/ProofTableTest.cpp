//===- ProofTableTest.cpp - the kernels that matter, in four spellings ----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel is written as a person would, permuted, re-parenthesised, and
// expanded or factored; all four get the same verdicts. What is expected is
// from the literature, not from the code.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "lowering/Passes.h"
#include "lowering/analysis/Proofs.h"

#include "mlir/Pass/PassManager.h"

using namespace attn;
using namespace mlir;

namespace {
constexpr Verdict Yes = Verdict::Yes, No = Verdict::No,
                  Open = Verdict::Unproven;

struct Expected {
  Verdict nonnegative, mercer, universal, separable;
  std::string rank = {};            ///< of a separable kernel, in D
  std::string mercerCondition = {}; ///< where the verdict hangs on a parameter
  std::string universalCondition = {};
};

std::string joined(const Proof &proof) {
  std::string text;
  for (const std::string &reason : proof.reasons)
    text += "\n  " + reason;
  return text;
}

void expectVerdict(const Proof &proof, Verdict expected,
                   const std::string &what) {
  EXPECT_EQ(proof.verdict, expected)
      << stringifyProperty(proof.property).str() << " of " << what << " is "
      << stringifyVerdict(proof.verdict).str() << joined(proof);
  EXPECT_FALSE(proof.reasons.empty()) << what;
}

void check(const Expected &expected,
           std::initializer_list<const char *> spellings) {
  for (const char *statements : spellings) {
    Kernel kernel("attention t(q, k, v; b >= 0, p > 0, n < 0, c, e > 0, m >= 0,"
                  " h > 0, g > 0) {\ns = dot(q, k); r = sqdist(q, k)\n" +
                  std::string(statements) + "\nnormalize = none\n}\n");
    ASSERT_TRUE(kernel.op) << statements;
    PassManager passes(&kernel.context);
    passes.addNestedPass<func::FuncOp>(createIssueLicencePass());
    ASSERT_TRUE(succeeded(passes.run(*kernel.module))) << statements;
    FailureOr<KernelProofs> proofs = proveKernel(kernel.op);
    ASSERT_TRUE(succeeded(proofs)) << statements;
    expectVerdict(proofs->of(Property::NonNegative), expected.nonnegative,
                  statements);
    expectVerdict(proofs->of(Property::Mercer), expected.mercer, statements);
    expectVerdict(proofs->of(Property::Universal), expected.universal,
                  statements);
    expectVerdict(proofs->of(Property::Separable), expected.separable,
                  statements);
    if (!expected.rank.empty() && proofs->separable.map) {
      EXPECT_EQ(proofs->separable.map->formula, expected.rank) << statements;
    }
    EXPECT_EQ(proofs->of(Property::Mercer).condition, expected.mercerCondition)
        << statements;
    if (!expected.universalCondition.empty()) {
      EXPECT_EQ(proofs->of(Property::Universal).condition,
                expected.universalCondition)
          << statements;
    }
  }
}
} // namespace

//===----------------------------------------------------------------------===//
// Kernels of the dot
//===----------------------------------------------------------------------===//

TEST(ProofTable, Dot) {
  check({No, Yes, No, Yes, "D"},
        {"kappa = s", "kappa = dot(k, q)", "kappa = dot(2*q, k/4)*2",
         "kappa = (1 + s) - 1"});
}

TEST(ProofTable, Polynomials) {
  check({Yes, Yes, No, Yes, "(D^2 + 3*D + 2)/2"},
        {"kappa = (1 + s)^2", "kappa = (dot(k, q) + 1)*(1 + s)",
         "kappa = 1 + s*(2 + s)", "kappa = 1 + 2*s + s*s"});
  check({No, Yes, No, Yes, "(D^3 + 6*D^2 + 11*D + 6)/6"},
        {"kappa = (b + s)^3", "kappa = (s + b)*(b + s)^2",
         "kappa = (b + s)*((b + s)*(s + b))",
         "kappa = s^3 + 3*b*s^2 + 3*b*b*s + b^3"});
  check({No, No, No, Yes, "", "yes if c >= 0"},
        {"kappa = (c + s)^3", "kappa = (s + c)^2*(c + s)",
         "kappa = (s + c)*((s + c)*(s + c))",
         "kappa = c^3 + 3*c^2*s + (3*c*s^2 + s^3)"});
  check({Yes, No, No, Yes, "", "yes if c >= 0"},
        {"kappa = (c + s)^2", "kappa = (s + c)*(c + s)",
         "kappa = c*(c + s) + s*(c + s)", "kappa = s^2 + 2*c*s + c^2"});
  check({Yes, No, No, Yes, "(D^2 + 3*D + 2)/2"},
        {"kappa = (s - 1)^2", "kappa = (1 - s)^2", "kappa = (s - 1)*(s - 1)",
         "kappa = s*s - 2*s + 1"});
  check({Yes, No, No, Yes},
        {"kappa = (n + s)^4", "kappa = (s + n)^4", "kappa = ((s + n)^2)^2",
         "kappa = (s*s + 2*n*s + n*n)^2"});
}

TEST(ProofTable, Exponentials) {
  check({Yes, Yes, Yes, No},
        {"kappa = exp(s/8)", "kappa = exp(dot(k, q)*0.125)",
         "kappa = exp(dot(q/2, k/4))", "kappa = exp(s/16)^2"});
  check({Yes, No, No, Open},
        {"kappa = exp(-s/8)", "kappa = exp(-dot(k, q)/8)",
         "kappa = exp(dot(-q, k/8))", "kappa = 1/exp(s/8)"});
  check({Yes, Yes, No, Open},
        {"kappa = (exp(s) + exp(-s))/2", "kappa = 0.5*exp(-s) + exp(s)*0.5",
         "kappa = 0.5*(exp(-s)*(1 + exp(2*s)))",
         "kappa = exp(s)*(0.5 + exp(-2*s)/2)"});
  check({No, Yes, No, Open},
        {"kappa = exp(s) - exp(-s)", "kappa = -exp(-s) + exp(s)",
         "kappa = exp(-s)*(exp(2*s) - 1)", "kappa = exp(s)*(1 - exp(-2*s))"});
}

TEST(ProofTable, BoundedFunctionsOfTheDot) {
  check({Yes, No, No, No},
        {"kappa = sigmoid(s)", "kappa = sigmoid(dot(k, q))",
         "kappa = 1/(1 + exp(-s))", "kappa = 0.5/(0.5 + exp(-s)/2)"});
  check({No, No, No, No}, {"kappa = tanh(s)", "kappa = tanh(dot(k, q))",
                           "kappa = -tanh(-s)", "kappa = tanh(2*s/2)"});
  check({Yes, No, No, No},
        {"kappa = exp(30*tanh(s/30))", "kappa = exp(tanh(s/30)*30)",
         "kappa = exp(15*tanh(s/30))*exp(15*tanh(s/30))",
         "kappa = exp(15*tanh(s/30))^2"});
}

TEST(ProofTable, ReluSquared) {
  check({Yes, No, No, Open},
        {"kappa = relu(s)^2", "kappa = max(0, s)*relu(s)",
         "kappa = (max(s, 0)*max(s, 0))", "kappa = relu(2*s)^2/4"});
}

TEST(ProofTable, Quotients) {
  const char *sphere = "q = unit(q); k = unit(k); s2 = dot(q, k)\n";
  for (const char *kappa :
       {"1/(2 - s2)", "(2 - dot(k, q))^-1", "2/(4 - 2*s2)", "0.5/(1 - s2*0.5)"})
    check({Yes, Yes, Yes, No},
          {(std::string(sphere) + "kappa = " + kappa).c_str()});
}

//===----------------------------------------------------------------------===//
// Kernels of the distance
//===----------------------------------------------------------------------===//

TEST(ProofTable, Radial) {
  check({Yes, Yes, Yes, No},
        {"kappa = exp(-r/(2*h^2))", "kappa = exp(-0.5*(r/(h*h)))",
         "kappa = exp((2*s - dot(q, q) - dot(k, k))/(2*h^2))",
         "kappa = exp(-dot(q, q)/(2*h^2))*exp(-dot(k, k)/(2*h^2))*exp(s/h^2)"});
  check({Yes, Yes, Yes, No},
        {"kappa = exp(-sqrt(r)/h)", "kappa = exp(-(r^0.5)*(1/h))",
         "kappa = 1/exp(sqrt(sqdist(k, q))/h)",
         "kappa = exp(-sqrt(dot(q, q) + dot(k, k) - 2*s)/h)"});
  check({Yes, Yes, Yes, No},
        {"kappa = 1/sqrt(r + h^2)", "kappa = (h*h + r)^-0.5",
         "kappa = sqrt(1/(r + h*h))",
         "kappa = 1/sqrt(dot(q, q) + (h*h + dot(k, k)) - 2*s)"});
  check({Yes, Yes, Yes, No},
        {"kappa = (r + e)^(-p)", "kappa = 1/(e + r)^p",
         "kappa = exp(-p*log(r + e))", "kappa = ((r + e)^-1)^p"});
  check({Yes, Yes, Yes, No},
        {"kappa = (1 + r/(2*p*h^2))^(-p)", "kappa = 1/(r/(2*(p*h)*h) + 1)^p",
         "kappa = exp(-p*log(1 + 0.5*r/(p*h*h)))",
         "kappa = (1 + (dot(q, q) + dot(k, k) - 2*s)/(2*p*h^2))^(-p)"});
}

TEST(ProofTable, Yat) {
  check({Yes, Yes, Yes, No},
        {"kappa = (s + p)^2/(r + e)", "kappa = (s + p)*((p + s)/(e + r))",
         "kappa = (s*s + 2*p*s + p^2)/(e + r)",
         "kappa = s*s/(e + r) + 2*p*s/(r + e) + p^2/(r + e)"});
  check({Yes, Yes, No, Open, "", "", "yes on compact sets of rows without 0"},
        {"kappa = s^2/(r + e)", "kappa = s/(e + r)*s",
         "kappa = s*(s*(1/(r + e)))",
         "kappa = s*s/(dot(q, q) + dot(k, k) - 2*s + e)"});
  check({Yes, Yes, Open, Open, "", "",
         "yes if b > 0, or on compact sets of rows without 0"},
        {"kappa = (s + b)^2/(r + e)", "kappa = (b + s)*((b + s)/(e + r))",
         "kappa = (s*s + 2*b*s + b^2)/(e + r)",
         "kappa = (s*s + b*(2*s + b))*(e + r)^-1"});
  check({Yes, No, No, Open},
        {"kappa = (s + n)^2/(r + e)", "kappa = (n + s)^2*(1/(r + e))",
         "kappa = (s + n)*((s + n)/(e + r))",
         "kappa = (s*s + 2*n*s + n^2)/(e + r)"});
  check({Yes, Yes, Yes, No},
        {"kappa = (s + p)^4/(r + e)", "kappa = ((p + s)^2)^2/(e + r)",
         "kappa = (s + p)^2*((s + p)^2/(r + e))",
         "kappa = (s*s + 2*p*s + p*p)^2/(r + e)"});
  check({No, Yes, Yes, No},
        {"kappa = (s + p)^3/(r + e)", "kappa = (s + p)*(p + s)^2/(e + r)",
         "kappa = (s + p)^2*((s + p)/(r + e))",
         "kappa = (s^3 + 3*p*s^2 + 3*p^2*s + p^3)/(r + e)"});
  check({Yes, Yes, Yes, No},
        {"q = unit(q); k = unit(k); t = dot(q, k)\nkappa = t^2/(2 - 2*t + e)",
         "q = unit(q); k = unit(k); t = dot(q, k)\nkappa = t*t/(e + 2*(1 - t))",
         "q = unit(q); k = unit(k); t = dot(q, k)\nkappa = t*(t/(2 + e - 2*t))",
         "q = unit(q); k = unit(k)\nkappa = dot(q, k)^2/(sqdist(q, k) + e)"});
}

TEST(ProofTable, DotTimesDistance) {
  check({No, No, No, Yes}, {"kappa = s*r", "kappa = r*dot(k, q)",
                            "kappa = s*(dot(q, q) + dot(k, k) - 2*s)",
                            "kappa = s*dot(q, q) + s*dot(k, k) - 2*s^2"});
}

//===----------------------------------------------------------------------===//
// Feature maps written by hand
//===----------------------------------------------------------------------===//

TEST(ProofTable, Maps) {
  check({Yes, Yes, No, Yes, "D"},
        {"phi(x) = elu(x) + 1\nkappa = dot(phi(q), phi(k))",
         "phi(x) = 1 + elu(x)\nkappa = dot(phi(k), phi(q))",
         "phi(x) = 2*(elu(x) + 1)\nkappa = dot(phi(q), phi(k))/4",
         "phi(x) = relu(x) + exp(min(x, 0))\nkappa = dot(phi(q), phi(k))"});
  check({Yes, Yes, No, Yes, "D"},
        {"kappa = dot(relu(q), relu(k))", "kappa = dot(max(0, k), relu(q))",
         "kappa = dot(2*relu(q), relu(k)/2)",
         "kappa = dot(relu(q)/4, relu(k)/4)*16"});
  check({Yes, Yes, No, Yes, "D"},
        {"kappa = dot(relu(q)^2, relu(k)^2)",
         "kappa = dot(relu(k)*relu(k), relu(q)^2)",
         "phi(x) = relu(x)*max(x, 0)\nkappa = dot(phi(q), phi(k))",
         "phi(x) = 2*relu(x)^2\nkappa = dot(phi(q), phi(k))/4"});
  check({Yes, Yes, No, Yes, "D"},
        {"kappa = dot(exp(q), exp(k))", "kappa = dot(exp(k), exp(q))",
         "kappa = dot(exp(q/2)^2, exp(k/2)^2)",
         "kappa = dot(exp(q/2)*exp(q/2), exp(k/2)*exp(k/2))"});
  check({Yes, Yes, No, Yes, "2*D^2 + D"},
        {"f(x) = concat(relu(x), relu(-x))\n"
         "kappa = dot(outer(f(q), f(q)), outer(f(k), f(k)))",
         "f(x) = concat(relu(-x), relu(x))\n"
         "kappa = dot(outer(f(k), f(k)), outer(f(q), f(q)))",
         "f(x) = concat(relu(x), relu(-x))\nkappa = dot(f(q), f(k))^2",
         "f(x) = concat(relu(x), relu(-x))\n"
         "kappa = dot(power(f(q), 2), power(f(k), 2))"});
}

TEST(ProofTable, DifferentMaps) {
  check({No, No, No, Yes, "D"},
        {"kappa = dot(relu(q), k)", "kappa = dot(k, relu(q))",
         "kappa = dot(2*relu(q), k/2)", "kappa = dot(relu(q), 2*k)/2"});
  // In the roles all is well.
  Kernel kernel("attention t(q, k, v) {\nq = relu(q)\nkappa = dot(q, k)\n"
                "normalize = none\n}\n");
  FailureOr<KernelProofs> proofs = proveKernel(kernel.op);
  ASSERT_TRUE(succeeded(proofs));
  const Proof &mercer = proofs->of(Property::Mercer);
  EXPECT_EQ(mercer.verdict, Yes);
  EXPECT_NE(mercer.reasons.back().find("the roles"), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Sums, products, differences, positions
//===----------------------------------------------------------------------===//

TEST(ProofTable, SumsAndProducts) {
  check({Yes, Yes, Yes, No},
        {"kappa = exp(s) + (1 + s)^2", "kappa = (1 + s)^2 + exp(dot(k, q))",
         "kappa = 1 + (2*s + (s*s + exp(s)))",
         "kappa = 2*(exp(s)/2 + 0.5*(s + 1)^2)"});
  check({Yes, Yes, Yes, No},
        {"kappa = exp(s)*(1 + s)^2", "kappa = (1 + s)*exp(s)*(s + 1)",
         "kappa = (1 + s)*((1 + s)*exp(s))",
         "kappa = exp(s) + 2*s*exp(s) + s*s*exp(s)"});
  check({Open, Yes, Open, Open},
        {"kappa = exp(s) - s", "kappa = -s + exp(s)",
         "kappa = (exp(s) - 2*s) + s", "kappa = exp(-s)*exp(2*s) - s"});
  check({No, No, No, Yes}, {"kappa = s^2 - s", "kappa = s*s - dot(k, q)",
                            "kappa = s*(s - 1)", "kappa = (s - 2)*s + s"});
  check({No, Yes, No, Yes, "D + 1"},
        {"kappa = (1 + s)^2 - s^2", "kappa = -s*s + (s + 1)*(1 + s)",
         "kappa = ((1 + s) - s)*((1 + s) + s)", "kappa = 1 + 2*s"});
}

TEST(ProofTable, Positions) {
  check({Yes, Yes, Yes, No},
        {"kappa = exp(s - m*abs(i - j))", "kappa = exp(-m*abs(j - i) + s)",
         "kappa = exp(s)*exp(-m*abs(i - j))",
         "kappa = exp(s)/exp(m*abs(j - i))"});
  check({No, No, No, Yes, "D"},
        {"kappa = s*g^(i - j)", "kappa = g^(i - j)*dot(k, q)",
         "kappa = s*(g^i*g^(-j))", "kappa = s*exp((i - j)*log(g))"});
  check({No, Yes, No, Yes, "2*D"},
        {"kappa = s*cos(m*(i - j))", "kappa = cos(m*(j - i))*s",
         "kappa = s*cos(m*i - m*j)",
         "kappa = s*cos(m*i)*cos(m*j) + s*sin(m*i)*sin(m*j)"});
  const char *maps = "u = relu(q); w = relu(k)\n";
  std::string cosformer[] = {
      std::string(maps) + "kappa = dot(concat(u*cos(m*i), u*sin(m*i)), "
                          "concat(w*cos(m*j), w*sin(m*j)))",
      std::string(maps) + "kappa = dot(concat(sin(m*j)*w, cos(m*j)*w), "
                          "concat(sin(m*i)*u, cos(m*i)*u))",
      std::string(maps) + "kappa = dot(u*cos(m*i), w*cos(m*j)) + "
                          "dot(u*sin(m*i), w*sin(m*j))",
      std::string(maps) + "kappa = dot(u, w)*cos(m*(i - j))"};
  for (const std::string &text : cosformer)
    check({No, Yes, No, Yes, "2*D"}, {text.c_str()});
}
