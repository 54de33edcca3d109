//===- ProblemTest.cpp - tests of the arguments made for any kernel -------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem.h"
#include "Cases.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace attn;
using namespace attn::runtime;

static Formal input(FormalKind kind, const char *name) {
  Formal formal;
  formal.kind = kind;
  formal.name = name;
  return formal;
}

static Formal parameter(const char *name,
                        std::initializer_list<const char *> axes,
                        const char *relop = "", double bound = 0,
                        bool integer = false) {
  Formal formal;
  formal.name = name;
  formal.relop = relop;
  formal.bound = bound;
  formal.integer = integer;
  for (const char *text : axes) {
    Axis axis;
    EXPECT_TRUE(parseAxis(text, axis));
    formal.axes.push_back(axis);
  }
  return formal;
}

static Signature signatureOf(const char *q, const char *k, const char *v,
                             std::vector<Formal> parameters) {
  Signature signature;
  signature.name = "test";
  signature.formals = {input(FormalKind::Query, q), input(FormalKind::Key, k),
                       input(FormalKind::Value, v)};
  signature.formals.insert(signature.formals.end(), parameters.begin(),
                           parameters.end());
  return signature;
}

static Recipe recipeOf(ProblemShape shape) {
  Recipe recipe;
  recipe.shape = shape;
  return recipe;
}

static float at(const NamedArray &named, std::vector<int64_t> index) {
  Tensor view = named.view();
  int64_t offset = 0, stride = 1;
  for (size_t axis = index.size(); axis-- > 0;) {
    offset +=
        index[axis] * (view.strides.empty() ? stride : view.strides[axis]);
    stride *= view.shape[axis];
  }
  return static_cast<const float *>(view.data)[offset];
}

TEST(Problem, ParametersHaveTheirAxesAndBounds) {
  Signature signature = signatureOf(
      "q", "k", "v",
      {parameter("b", {"head"}, ">=", 2), parameter("eps", {"batch"}, ">", 0),
       parameter("g", {}, "<", 1), parameter("bias", {"head", "-3:nk"}),
       parameter("W", {"kv_head", "D", "e"}),
       parameter("n", {"batch"}, ">", 4, true)});
  Recipe recipe = recipeOf({3, 4, 2, 5, 7, 8, 6});
  recipe.sizes = {{"D", 8}, {"e", 10}};
  for (bool plain : {false, true})
    for (uint64_t seed : {1, 2, 3}) {
      recipe.plainParameters = plain;
      recipe.seed = seed;
      Problem problem = makeProblem(signature, recipe);
      EXPECT_EQ(problem.find("b")->array.shape, std::vector<int64_t>({4}));
      EXPECT_EQ(problem.find("eps")->array.shape, std::vector<int64_t>({3}));
      EXPECT_EQ(problem.find("g")->array.shape, std::vector<int64_t>());
      EXPECT_EQ(problem.find("bias")->array.shape,
                std::vector<int64_t>({4, 11}));
      EXPECT_EQ(problem.find("W")->array.shape,
                std::vector<int64_t>({2, 8, 10}));
      for (int64_t h = 0; h < 4; ++h)
        EXPECT_GE(at(*problem.find("b"), {h}), 2);
      for (int64_t b = 0; b < 3; ++b) {
        EXPECT_GT(at(*problem.find("eps"), {b}), 0);
        EXPECT_GT(problem.find("n")->array.data<int64_t>()[b], 4);
      }
      EXPECT_LT(at(*problem.find("g"), {}), 1);
    }
}

TEST(Problem, SharedInputsAreOneArray) {
  Signature signature = signatureOf("p", "p", "v", {});
  ProblemShape shape = fitShape({1, 4, 2, 9, 5, 8, 6}, signature);
  EXPECT_EQ(shape.Nk, 9);
  EXPECT_EQ(shape.Hk, 4);
  EXPECT_EQ(shape.Dv, 6);
  Problem problem = makeProblem(signature, recipeOf(shape));
  EXPECT_EQ(problem.arrays.size(), 2u);
  EXPECT_EQ(fitShape({1, 4, 2, 9, 5, 8, 6}, signatureOf("x", "x", "x", {})).Dv,
            8);
}

TEST(Problem, LayoutsShowTheSameNumbers) {
  Signature signature = signatureOf("q", "k", "v", {});
  Recipe recipe = recipeOf({2, 4, 2, 5, 7, 3, 6});
  Problem plain = makeProblem(signature, recipe);
  for (Layout layout : {Layout::Padded, Layout::Transposed, Layout::Reversed,
                        Layout::Columns}) {
    recipe.layout = layout;
    Problem problem = makeProblem(signature, recipe);
    for (NamedArray &named : problem.arrays) {
      EXPECT_FALSE(named.array.strides.empty());
      const std::vector<int64_t> &s = named.array.shape;
      for (int64_t b = 0; b < s[0]; ++b)
        for (int64_t h = 0; h < s[1]; ++h)
          for (int64_t n = 0; n < s[2]; ++n)
            for (int64_t d = 0; d < s[3]; ++d)
              ASSERT_EQ(at(named, {b, h, n, d}),
                        at(*plain.find(named.name), {b, h, n, d}));
    }
    // And packing brings the first one back.
    for (const NamedArray &named : packed(problem).arrays)
      EXPECT_EQ(named.array.bytes, plain.find(named.name)->array.bytes);
  }
}

TEST(Problem, BroadcastRepeats) {
  Signature signature = signatureOf("q", "k", "v", {});
  Recipe recipe = recipeOf({2, 4, 2, 5, 7, 3, 6});
  recipe.layout = Layout::Broadcast;
  Problem problem = makeProblem(signature, recipe);
  const NamedArray &q = *problem.find("q");
  EXPECT_EQ(q.array.strides[0], 0);
  EXPECT_EQ(q.array.strides[1], 0);
  EXPECT_EQ(at(q, {1, 3, 4, 2}), at(q, {0, 0, 4, 2}));
}

TEST(Problem, EqualKeysAreQueries) {
  Signature signature = signatureOf("q", "k", "v", {});
  Recipe recipe = recipeOf({1, 4, 2, 6, 6, 3, 3});
  recipe.data = RowData::Equal;
  Problem problem = makeProblem(signature, recipe);
  const NamedArray &q = *problem.find("q"), &k = *problem.find("k");
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t j = 0; j < 6; ++j) {
      bool found = false;
      for (int64_t i = 0; i < 6; ++i)
        found |= at(k, {0, h, j, 0}) == at(q, {0, 2 * h, i, 0}) &&
                 at(k, {0, h, j, 2}) == at(q, {0, 2 * h, i, 2});
      EXPECT_TRUE(found);
    }
}

TEST(Problem, ASequenceAloneIsTheSequence) {
  Signature signature = signatureOf(
      "q", "k", "v", {parameter("w", {"head", "batch"}), parameter("c", {})});
  Recipe recipe = recipeOf({3, 2, 2, 5, 7, 3, 6});
  recipe.keyLengths = {1, 2, 3};
  recipe.offsets = {4};
  Problem problem = makeProblem(signature, recipe);
  Problem one = extractSequence(signature, problem, 1);
  EXPECT_EQ(one.find("q")->array.shape, std::vector<int64_t>({1, 2, 5, 3}));
  EXPECT_EQ(at(*one.find("q"), {0, 1, 4, 2}),
            at(*problem.find("q"), {1, 1, 4, 2}));
  EXPECT_EQ(one.find("w")->array.shape, std::vector<int64_t>({2, 1}));
  EXPECT_EQ(at(*one.find("w"), {1, 0}), at(*problem.find("w"), {1, 1}));
  EXPECT_EQ(one.find("key_lengths")->array.data<int64_t>()[0], 2);
  EXPECT_EQ(one.find("offset")->array.data<int64_t>()[0], 4);
}

TEST(Problem, PerturbingMovesByAUnitInTheLastPlace) {
  Signature signature =
      signatureOf("q", "k", "v", {parameter("b", {}, ">=", 0)});
  Problem problem = makeProblem(signature, recipeOf({1, 1, 1, 3, 3, 4, 4}));
  Problem moved = perturbed(signature, problem, 5);
  for (const NamedArray &named : moved.arrays) {
    ASSERT_EQ(named.array.type, Type::f64);
    for (int64_t n = 0; n < named.array.size(); ++n) {
      double x = problem.find(named.name)->array.data<float>()[n];
      EXPECT_LE(std::fabs(named.array.data<double>()[n] - x),
                std::fabs(x) * 0x1.01p-23);
    }
  }
}

TEST(Problem, NormalNumbersAreNormal) {
  Random random(3);
  double sum = 0, square = 0, quartic = 0;
  constexpr int count = 100000;
  for (int n = 0; n < count; ++n) {
    double x = random.normal();
    sum += x;
    square += x * x;
    quartic += x * x * x * x;
  }
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(square / count, 1, 0.02);
  EXPECT_NEAR(quartic / count, 3, 0.1);
}

TEST(Cases, AreTheSameForASeed) {
  Signature signature = signatureOf("q", "k", "v", {});
  std::vector<RowLengths> lengths = {{8, 8, {}}, {4, 2, {}}};
  std::vector<CheckCase> a = makeCases(signature, lengths, 1),
                         b = makeCases(signature, lengths, 1);
  ASSERT_EQ(a.size(), b.size());
  bool differs = false;
  std::vector<CheckCase> c = makeCases(signature, lengths, 2);
  for (size_t n = 0; n < a.size(); ++n) {
    EXPECT_EQ(a[n].describe(), b[n].describe());
    EXPECT_EQ(a[n].recipe.seed, b[n].recipe.seed);
    differs |= a[n].recipe.seed != c[n].recipe.seed;
    EXPECT_TRUE(a[n].recipe.shape.Hk == 0 ||
                a[n].recipe.shape.Hq % a[n].recipe.shape.Hk == 0);
    for (int64_t length : a[n].recipe.keyLengths)
      EXPECT_LE(length, a[n].recipe.shape.Nk);
  }
  EXPECT_TRUE(differs);
}
