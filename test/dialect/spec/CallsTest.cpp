//===- CallsTest.cpp - calls of functions, and what is written as one -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is fine and what is refused; the rules of the language as a whole are in
// RulesTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "SpecTestHelpers.h"

using namespace attn;

TEST(Calls, Functions) {
  expectFine(
      with("f(x) = x + 1; g(x, y) = f(x) * f(y); a = g(1, 2); q = f(q)"));
  expectError({with("f(x, @x) = x"),
               "two arguments are called 'x'; choose another name"});
  expectError({with("f(x) = x; a = @f(1, 2)"), "'f' takes 1 arguments, not 2"});
  expectError({with("f(x) = x; a = f(@x = 2)"),
               "the arguments of 'f' have no names; write them in order"});
  expectError({with("f(x) = x; a = @f"), "'f' is a function; write 'f(...)'"});
  expectError(
      {with("f(x) = @x(2); a = f(1)"),
       "'x' is an argument, not a function; to multiply, write 'x * (...)'"});
  expectError({kernel("@b(2)", "b"),
               "'b' is not a function; to multiply, write 'b * "
               "(...)', to index, 'b[...]'"});
  std::string tower = "f0(x) = x\n";
  for (int n = 1; n <= 101; ++n)
    tower +=
        "f" + std::to_string(n) + "(x) = f" + std::to_string(n - 1) + "(x)\n";
  std::optional<SpecError> error = firstError(with(tower + "a = f101(1)"));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->message,
            "more than 100 functions inside each other; write it with "
            "fewer");
  std::string parameters = "a0";
  for (int n = 1; n <= 64; ++n)
    parameters +=
        ", " + std::string(n == 64 ? "@" : "") + "a" + std::to_string(n);
  expectError({with("f(" + parameters + ") = 1"),
               "a function has at most 64 arguments"});
}

TEST(Calls, BuiltinArguments) {
  expectFine(kernel("dot(rope(q, i), rope(k, j, 500000, interleaved = 1))"));
  expectError({kernel("@dot(q)"),
               "'dot' does not take 1 arguments; write 'dot(q, k)'"});
  expectError({kernel("@exp(1, 2)"),
               "'exp' does not take 2 arguments; write 'exp(x)'"});
  expectError({kernel("exp(@x = 2)"),
               "'exp' has no argument called 'x'; write 'exp(x)'"});
  std::string rope = "; write 'rope(x, i, base = 10000, interleaved = 0)'";
  expectError(
      {kernel("dot(@rope(q), k)"), "'rope' does not take 1 arguments" + rope});
  expectError({kernel("dot(@rope(q, base = 2), k)"),
               "'rope' needs a row and a position; write 'rope(x, i)'"});
  expectError({kernel("dot(rope(q, i, @bass = 2), k)"),
               "'rope' has no argument called 'bass'" + rope});
  expectError(
      {kernel("dot(rope(q, i, 2, @base = 2), k)"), "'base' is given twice"});
  expectError(
      {kernel("dot(@rope(q, i, base = 0), k)"),
       "the base of 'rope' is a positive constant, as in 'base = 10000'"});
  expectError({kernel("dot(@rope(q, i, interleaved = 2), k)"),
               "'interleaved' is 0 or 1"});
  expectError(
      {with("mask = @prefix(1.5)"),
       "'prefix' takes ints, not a real; declare the parameter as in 'w: int "
       ">= 0'"});
  expectError(
      {with("mask = @window(w, 0)", "w"),
       "'window' takes ints, not a real; declare the parameter as in 'w: int "
       ">= 0'"});
  expectFine(with("mask = document(ids)", "ids[batch, nk]: int"));
  std::string ids = "declared as in 'ids[batch, nk]: int'";
  expectError(
      {with("mask = document(@3)"),
       "'document' takes the name of a parameter with one axis of positions, " +
           ids});
  expectError(
      {with("mask = document(@W)", "W[nk, d]"),
       "'document' takes a parameter with one axis of positions, " + ids});
  expectError({with("mask = document(@x)"), "unknown name 'x'"});
}

TEST(Calls, NormaliserAndResults) {
  expectFine(
      with("normalize = mass(sink = s * head, delta = 1, floor = d); return o, "
           "mass, lse, max, argmax, entropy, weights",
           "s[head], d"));
  expectError({with("normalize = @sum"),
               "unknown normaliser 'sum'; write 'mass' or "
               "'none'"});
  expectError({with("normalize = none(@delta = 1)"),
               "without a denominator there is no 'delta'; write 'normalize = "
               "mass(...)'"});
  expectError(
      {with("normalize = mass(@eps = 1)"),
       "unknown term 'eps'; the denominator takes delta, floor and sink"});
  expectError({with("normalize = mass(sink = 1, @sink = 2)"),
               "'sink' is given twice; keep one"});
  expectError({with("normalize = mass(sink = @q)"),
               "'sink' is a number, and this is a "
               "row"});
  expectError(
      {with("normalize = mass(sink = 2 * @i)"),
       "'sink' is one number a head and sequence; it may use parameters, head "
       "and batch"});
  expectError(
      {with("normalize = mass(floor = @-1)"),
       "'floor' bounds the size of the denominator from below and is not "
       "negative"});
  expectError(
      {with("return o, @mess"),
       "unknown result 'mess'; did you mean 'mass'?; there are o, mass, lse, "
       "max, argmax, entropy and weights"});
  expectError({with("return o, @o"), "'o' is returned twice; keep one"});
}

TEST(Calls, Features) {
  expectError(
      {with("features = @flavor(m = 256)"),
       "unknown feature map 'flavor'; did you mean 'favor'?; there are taylor, "
       "favor, rff, slay and maclaurin"});
  expectError({with("features = favor(m = @0)"),
               "'m' is the number of random rows, from 1 to 65536; write 256, "
               "say"});
  expectError({with("features = favor(@n = 3)"),
               "'favor' has no argument 'n'; it takes m, orthogonal, seed and "
               "hyperbolic"});
  expectError(
      {with("features = favor(3, @m = 3)"), "'m' is given twice; keep one"});
  expectError({with("features = rff(seed = 1, @seed = 1)"),
               "'seed' is given twice; keep one"});
  for (const char *value : {"@dim", "@2.5", "@nk"})
    expectError({with(std::string("features = favor(m = ") + value + ")"),
                 "'m' is the number of random rows, an integer that is known "
                 "when the kernel is compiled; write a number"});
  expectError({with("features = favor(orthogonal = @2)"),
               "'orthogonal' is a flag; write 0 or 1"});
  expectError({with("features = slay(poly = @1)"),
               "'poly' is 'exact', all products of two coordinates, or "
               "'anchors', as many random estimates as there are features"});
  expectError({with("features = slay(nodes = @33)"),
               "'nodes' is the number of quadrature nodes, from 1 to 32; write "
               "2, say"});
  expectError(
      {with("features = taylor(2, @3)"), "'taylor' takes order, and no more"});
  expectError({with("features = maclaurin(order = @0)"),
               "'order' is the degree of the polynomial, from 1 to 16; write "
               "4, say"});
  expectError({with("features = taylor()\n@features = taylor()"),
               "'features' is given twice; keep one"});
}

TEST(Calls, Expansion) {
  // Names and functions share what they stand for.
  std::string names = "a0 = x\n", functions = "f0(x) = exp(x)\n";
  for (int n = 1; n <= 90; ++n) {
    std::string here = std::to_string(n), before = std::to_string(n - 1);
    names += "a" + here + " = a" + before + " + a" + before + "\n";
    functions += "f" + here + "(x) = f" + before + "(x) * f" + before + "(x)\n";
  }
  std::vector<Spec> specs;
  ASSERT_FALSE(
      parseSpecs(with(names + functions + "b = f90(a90)", "x"), specs));
  EXPECT_LT(checkSpec(specs[0]).graph().size(), 200u);
  // What does not share is bounded.
  std::string tower = "f0(x, y) = x + y\n";
  for (int n = 1; n <= 60; ++n) {
    std::string here = std::to_string(n), before = std::to_string(n - 1);
    tower += "f" + here + "(x, y) = f" + before + "(x + " + here + ", y) + f" +
             before + "(x, y * " + here + ")\n";
  }
  std::optional<SpecError> error =
      firstError(with(tower + "b = f60(x, x)", "x"));
  ASSERT_TRUE(error.has_value());
  EXPECT_NE(error->message.find("write it with fewer"), std::string::npos);
}
