//===- SeparableTest.cpp - derived feature maps ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "lowering/analysis/LinearMasks.h"

using namespace attn;
using namespace mlir;

namespace {
/// The features multiplied out, as a form.
Polynomial multipliedOut(NormalForm &form, const FeatureMap &map) {
  Polynomial sum;
  for (const FeatureBlock &block : map.blocks) {
    Polynomial product = form.multiply(block.query, block.key);
    for (auto [pair, degree] : llvm::zip(map.rows, block.degrees))
      for (unsigned n = 0; n < degree; ++n)
        product = form.multiply(product,
                                form.dot({NormalForm::number(1), pair.first},
                                         {NormalForm::number(1), pair.second}));
    sum = sum + product;
  }
  Polynomial decay = form.exp(map.decay - form.mirrored(map.decay));
  return form.multiply(sum, decay);
}

struct Row {
  const char *statements;
  const char *formula;
  size_t blocks;
  const char *masks = "none causal strict_causal document";
};

void check(const Row &row) {
  Kernel kernel("attention t(q, k, v; b >= 0, c, e > 0, g > 0, m >= 0) {\n"
                "s = dot(q, k)\n" +
                std::string(row.statements) + "\nnormalize = none\n}\n");
  ASSERT_TRUE(kernel.op) << row.statements;
  ValueRangeAnalysis ranges;
  NormalForm form(kernel.op, ranges);
  SeparableVerdict verdict = deriveFeatures(form);
  ASSERT_EQ(verdict.verdict, Verdict::Yes)
      << row.statements << ": " << verdict.reasons.front();
  EXPECT_EQ(verdict.map->formula, row.formula) << row.statements;
  EXPECT_EQ(verdict.map->blocks.size(), row.blocks) << row.statements;
  EXPECT_TRUE((multipliedOut(form, *verdict.map) - form.kappa()).isZero())
      << row.statements << "\n"
      << form.str(multipliedOut(form, *verdict.map)) << "\n"
      << form.str(form.kappa());
  for (const FeatureBlock &block : verdict.map->blocks) {
    EXPECT_EQ(form.axesOf(block.query) & KeyAxis, 0U) << row.statements;
    EXPECT_EQ(form.axesOf(block.key) & QueryAxis, 0U) << row.statements;
  }
  MaskKind mask = classifyMask(form);
  LinearMasks masks = linearMasks(form, verdict, mask);
  std::string legal;
  for (const std::string &name : masks.legal)
    legal += (legal.empty() ? "" : " ") + name;
  EXPECT_EQ(legal, row.masks) << row.statements << ": " << masks.refusal;
}
} // namespace

TEST(Separable, PolynomialsOfTheDot) {
  check({"kappa = s", "D", 1});
  check({"kappa = (c + s)^2", "(D^2 + 3*D + 2)/2", 3});
  check({"kappa = 1 + s + s^2/2 + s^3/6 + s^4/24",
         "(D^4 + 10*D^3 + 35*D^2 + 50*D + 24)/24", 5});
  check({"kappa = s^2 - s", "(D^2 + 3*D)/2", 2});
}

TEST(Separable, FunctionsOfOneSide) {
  // |q - k|^2 = |q|^2 + |k|^2 - 2 q.k: two scalars and D channels.
  check({"kappa = sqdist(q, k)", "D + 2", 3});
  check({"kappa = (1 + dot(q, q))*s*(2 + dot(k, k))", "D", 1});
  check({"kappa = s/(dot(q, q) + e)/sqrt(dot(k, k) + e)", "D", 1});
  check({"kappa = s*dot(q, q) + s*dot(k, k)", "2*D", 2});
  check({"kappa = dot(unit(q), unit(k))^2", "(D^2 + D)/2", 1});
}

TEST(Separable, SumsAndProducts) {
  check({"kappa = dot(relu(q), relu(k)) + s^2", "(D^2 + 3*D)/2", 2});
  check({"kappa = dot(relu(q), relu(k))*s", "D^2", 1});
  check({"kappa = dot(concat(q, relu(q)), concat(k, relu(k)))", "2*D", 2});
  check({"kappa = dot(outer(q, relu(q)), outer(k, relu(k)))", "D^2", 1});
}

TEST(Separable, Decay) {
  const char *causal = "causal strict_causal";
  check({"kappa = s*g^(i - j)", "D", 1, causal});
  check({"kappa = (1 + s)^2*exp(-m*(i - j))", "(D^2 + 3*D + 2)/2", 3, causal});
  // Not a common decay: features that grow without bound.
  check({"kappa = s*g^(i - j) + 1", "D + 1", 2, ""});
  check({"kappa = s*cos(m*(i - j))", "2*D", 2});
}

TEST(Separable, UnboundedExponents) {
  check({"kappa = dot(exp(q), exp(k))", "D", 1, ""});
  check({"kappa = dot(elu(q) + 1, elu(k) + 1)", "D", 1});
  check({"kappa = s*exp(-dot(q, q))*exp(-dot(k, k))", "D", 1});
  check({"kappa = s*exp(dot(q, q))", "D", 1, ""});
}

TEST(Separable, OrderedMasksSeeThroughAbs) {
  Kernel kernel("attention t(q, k, v; m >= 0) {\n"
                "kappa = dot(q, k)*exp(-m*abs(i - j))\nmask = causal\n"
                "normalize = none\n}\n");
  ValueRangeAnalysis ranges;
  NormalForm plain(kernel.op, ranges);
  EXPECT_EQ(deriveFeatures(plain).verdict, Verdict::Unproven);
  NormalForm ordered(kernel.op, ranges, /*ordered=*/true);
  SeparableVerdict verdict = deriveFeatures(ordered);
  ASSERT_EQ(verdict.verdict, Verdict::Yes);
  EXPECT_FALSE(verdict.map->decay.isZero());
}

TEST(Separable, Masks) {
  auto kind = [](const std::string &mask) {
    Kernel kernel("attention t(q, k, v; w: int >= 0, doc[batch, nk]: int) {\n"
                  "kappa = dot(q, k)\nmask = " +
                  mask + "\nnormalize = none\n}\n");
    ValueRangeAnalysis ranges;
    NormalForm form(kernel.op, ranges);
    MaskKind kind = classifyMask(form);
    return kind.name + (kind.legal ? "" : ": no") +
           (kind.ordered ? ", ordered" : "");
  };
  EXPECT_EQ(kind("causal"), "causal, ordered");
  EXPECT_EQ(kind("i >= j"), "causal, ordered");
  EXPECT_EQ(kind("j - 1 < i"), "causal, ordered");
  EXPECT_EQ(kind("strict_causal"), "strict_causal, ordered");
  EXPECT_EQ(kind("document(doc)"), "document");
  EXPECT_EQ(kind("doc[j] == doc[i] and i >= j"),
            "causal and document, ordered");
  EXPECT_EQ(kind("causal and window(w, 0)"), "window: no, ordered");
  EXPECT_EQ(kind("prefix(w)"), "arbitrary: no");
  EXPECT_EQ(kind("causal or j < w"), "arbitrary: no");
  EXPECT_EQ(kind("i % 2 == 0"), "arbitrary: no");
}
