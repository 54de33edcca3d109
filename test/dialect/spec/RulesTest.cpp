//===- RulesTest.cpp - the nine rules of the language ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rule by rule, what is fine and what is refused; what a fine spec means is
// tested on the dialect (the .attn files here).
//
//===----------------------------------------------------------------------===//

#include "SpecTestHelpers.h"

using namespace attn;

// 1. Types and sides.
TEST(Rules, TypesAndSides) {
  expectFine(kernel("dot(q * 2, k) + sqdist(unit(q), unit(k)) + i - j + head"));
  expectFine(kernel("dot(q, q) * sqdist(k, k)"));
  expectFine(with("q = q * i + unit(q) / dot(q, q); k = k * j"));
  std::string pair = "a query row and a key row make no row; only 'dot' and "
                     "'sqdist' pair them, as in 'dot(q, k)'";
  expectError({kernel("dot(@q + k, q)"), pair});
  expectError({kernel("dot(@concat(q, k), q)"), pair});
  expectError({kernel("dot(@outer(k, q), q)"), pair});
  expectError({kernel("dot(@where(1 < 2, q, k), q)"), pair});
  expectError(
      {kernel("dot(@q * j, k)"),
       "a row of the query side takes no scalar that depends on the key; "
       "scale the result of 'dot' or 'sqdist' instead"});
  expectError(
      {kernel("dot(q, @rope(k, i))"),
       "a row of the key side takes no scalar that depends on the query; "
       "scale the result of 'dot' or 'sqdist' instead"});
  std::string rows =
      "; rows are q, k, v, inputs, and parameters with one size axis";
  expectError({kernel("@dot(q, 3)"), "'dot' takes rows, not an int" + rows});
  expectError(
      {kernel("@sqdist(1.5, k)"), "'sqdist' takes rows, not a real" + rows});
  expectError({kernel("dot(@unit(causal), k)"),
               "'unit' takes rows, not a condition" + rows});
  expectError({kernel("dot(@concat(q, i), k)"),
               "'concat' takes rows, not an int" + rows});
  expectError({kernel("dot(@outer(q, i), k)"),
               "'outer' takes rows, not an int" + rows});
  expectError({kernel("dot(@power(i, 2), k)"),
               "'power' takes rows, not an int" + rows});
  expectError({kernel("@dim(i)"), "'dim' takes rows, not an int" + rows});
  expectError({kernel("dot(q, @rope(k, q))"),
               "the position of 'rope' is a number, "
               "not a row; write 'rope(q, i)' or 'rope(k, j)'"});
  expectError({kernel("@causal + 1"),
               "'+' takes numbers, not a condition; write "
               "'where(condition, 1, 0)'"});
  expectError({kernel("@exp(i < j)"),
               "'exp' takes numbers, not a condition; write "
               "'where(condition, 1, 0)'"});
  expectError(
      {kernel("where(@1 and causal, 1, 0)"),
       "'and' takes conditions, not an int; compare it with something, as "
       "in 'x != 0'"});
  expectError(
      {kernel("where(@not q, 1, 0)"),
       "'not' takes conditions, not a row; compare it with something, as in "
       "'x != 0'"});
  expectError(
      {kernel("@where(i, 1, 0)"),
       "the first argument of 'where' takes conditions, not an int; compare "
       "it with something, as in 'x != 0'"});
  expectError(
      {kernel("where(@q < 1, 1, 0)"),
       "comparisons take numbers, not a row; compare scalars, or use relu, "
       "min and max on rows"});
  expectError({kernel("where(@causal == causal, 1, 0)"),
               "comparisons take numbers, not a condition"});
}

// 2. Reserved words.
TEST(Rules, ReservedWords) {
  expectFine("attention dim(q, k, v) { kappa = 1 }"); // spec names are free
  expectFine(kernel("mass + o + delta", "mass, o, delta"));
  expectFine(with("return max, argmax; normalize = mass(floor = 1)"));
  expectError(
      {"attention bad1(q, k, v; @dim[head]) { kappa = 1 }",
       "'dim' is reserved, it is the length of a row; choose another name "
       "for the parameter"});
  expectError(
      {"attention t(q, k, @exp) {}",
       "'exp' is reserved, it is a built-in function; choose another name "
       "for the input"});
  expectError({with("@causal = 1"),
               "'causal' is reserved, it is a mask; choose "
               "another name for the value"});
  expectError({with("@exp(x) = x"),
               "'exp' is reserved, it is a built-in function; "
               "choose another name for the function"});
  expectError({with("f(@i) = i"),
               "'i' is reserved, it is the position of the query; "
               "choose another name for the argument"});
  expectError({kernel("1", "b[@dim]"),
               "'dim' is reserved, it is the length of a row; "
               "choose another name for the size"});
  expectError({kernel("1", "b[@k]"),
               "'k' is the row of a role; choose another name for the size"});
  expectError({kernel("1", "@q"),
               "'q' is the row of a role; choose another name for "
               "the parameter"});
  expectError({kernel("1", "@offset"),
               "'offset' is an argument that every attention "
               "has; choose another name for the parameter"});
  expectError({kernel("@exp"), "'exp' is a function; write 'exp(...)'"});
  expectError(
      {kernel("@window"), "'window' is a function; write 'window(...)'"});
  expectError({kernel("@causal(3)"),
               "'causal' is a mask and takes no arguments; write 'causal'"});
  expectError({kernel("@signed"), "'signed' is reserved, it is the word of a "
                                  "statement, and has no value"});
  // Every index clamps to its axis; k is a row, never an index; dim is q's
  // length.
  expectFine(
      kernel("b[i - j] + c[nk, head] + dim + dim(k)", "b[-3:M], c[nk, M]"));
  expectError({kernel("@b[k]", "b[4:5]"),
               "an index is an int, not a row; write i or j for a position"});
  expectError({kernel("@b[1.5]", "b[4:5]"),
               "an index is an int, not a real; write 'floor(...)'"});
  expectError(
      {"attention t(x, v) { a = @dim; q = x; k = x; kappa = 1 }",
       "'dim' is the length of q, which is not known here; write 'dim(x)' "
       "for the length of another row"});
  expectFine("attention t(x, v) { a = dim(x); q = x; k = x; kappa = a }");
}

// 3. Roles and names.
TEST(Rules, RolesAndNames) {
  expectFine("attention t(x) { q = x * 2; k = x; v = x; kappa = dot(q, k) }");
  expectFine("attention t(q, k) { v = k; kappa = dot(q, k) }");
  expectFine(with("q = unit(q); q = rope(q, i); k = rope(k, j); v = v * j"));
  expectFine(
      "attention t(x, k, v; W[D, D]) { q = x * W; q = q + x; kappa = 1 }");
  expectError({with("q = @3"), "'q' is a row, and this is an int"});
  expectError(
      {with("q = @q * j"),
       "a row of the query side takes no scalar that depends on the key; "
       "scale the result of 'dot' or 'sqdist' instead"});
  expectError(
      {"attention t(x, y; a) { q = x * @j; k = x; v = y; kappa = 1 }",
       "q is of the query side and cannot depend on the key; it may use 'i' "
       "and inputs that are not k or v"});
  std::string key =
      " is of the key side and cannot depend on the query; it may use "
      "'j' and inputs that are not q";
  expectError({"attention t(q, v) { k = @q; kappa = 1 }", "k" + key});
  expectError(
      {"attention t(q, k, x) { s = x * i; v = @s; kappa = 1 }", "v" + key});
  expectError(
      {with("q = @a", "a[d]"),
       "'q' comes from no input; a role is made from one input, as in 'q = x "
       "* W'"});
  expectError(
      {"attention t(x, y, v) { q = @x + y; k = x; kappa = 1 }",
       "'q' comes from two inputs; a role is made from one, concatenate them "
       "beforehand"});
  expectError(
      {"attention @t(q, v) { kappa = 1 }",
       "'t' has no k: no input is called 'k' and it is not assigned; write "
       "'k = ...'"});
  expectError(
      {"attention t(x, v) { a = @q; q = x }",
       "'q' is not known here: no input has this name and it is not assigned "
       "above; write 'q = ...' first"});
  expectError(
      {"attention t(q, k, @x) { v = k; kappa = 1 }",
       "the input 'x' is not used; assign it to q, k or v, or remove it"});
  expectError(
      {"attention t(q, k, v, @x) { kappa = 1 }",
       "an attention has at most three inputs; parameters stand after a ';'"});
  // Other names: once, before use.
  std::string below =
      "' is defined further down, or by itself; define it before it "
      "is used";
  expectError({with("a = @b; b = 1"), "'b" + below});
  expectError({with("a = @a + 1"), "'a" + below});
  expectError({with("f(x) = @f(x)"), "'f" + below});
  expectError({"attention t(q, k, v) { kappa = @a; a = 1 }", "'a" + below});
  expectError({with("a = 1; @a = 2"),
               "'a' is defined twice; choose another name for the value"});
  expectError({with("@b = 2", "b"),
               "'b' is defined twice; choose another name for the value"});
  expectError({kernel("1", "b, c[@b]"),
               "'b' is defined twice; choose another name for the size"});
  expectError({with("a = @sqroot(3)"),
               "unknown function 'sqroot'; did you mean "
               "'sqrt'?"});
  expectError(
      {with("a = @esp", "eps"), "unknown name 'esp'; did you mean 'exp'?"});
  expectError({with("f(x) = @y"), "unknown name 'y'"});
  expectError({kernel("@b[1]"), "unknown name 'b'"});
  expectError({kernel("@q[1]"),
               "'q' has no indices; only parameters with axes do, as "
               "in 'bias[i - j]'"});
}

// 4. What kappa and the mask see.
TEST(Rules, KappaAndMask) {
  expectFine("attention t(q, k, v) { kappa = dot(q, k); q = unit(q) }");
  expectFine(
      with("mask = causal and (window(3, 0) or doc[i] == doc[j] or head == 2)",
           "doc[batch, nk]: int"));
  expectFine(with("mask = none; n = dim(q); q = unit(q)"));
  expectFine("attention t(q, k, v; W[D, d]) { c = dim; q = q * W; k = k * W\n"
             "kappa = dot(q, k) / c }");
  expectError({kernel("@i < j"),
               "kappa is a real, and this is a condition; write "
               "'where(condition, 1, 0)'"});
  expectError({kernel("@q"),
               "kappa is a real, and this is a row; pair rows with "
               "'dot' or 'sqdist'"});
  expectError(
      {kernel("dot(@v, k)"),
       "kappa sees q and k, not v; for the same data under both names, write "
       "'k = x; v = x'"});
  expectError({"attention t(x, v) { q = x; k = x; kappa = dot(q, @x) }",
               "kappa sees the rows q and k, not inputs; write q or k"});
  expectError(
      {"attention t(q, k, v) { s = dot(q, k); q = unit(q); kappa = exp(@s) }",
       "kappa sees the rows as last assigned, and this was made from an older "
       "one; define it after the last assignment of q and k"});
  expectError({with("mask = @i - j"),
               "a mask is a condition, and this is an int; "
               "compare it with something, as in 'j <= i'"});
  expectError(
      {with("mask = dot(@q, k) > 0"),
       "a mask sees positions, parameters, batch and head, never rows; put it "
       "into kappa with 'where'"});
  expectError(
      {"attention @t(q, k, v) { }", "'t' has no kernel; write 'kappa = ...'"});
  expectError({kernel("1\n @kappa = 2"), "'kappa' is given twice; keep one"});
  expectError(
      {with("mask = none; @mask = none"), "'mask' is given twice; keep one"});
}

// 5. Numbers.
TEST(Rules, Numbers) {
  expectFine(with(
      "mask = i // 3 == j % 2 and i // W < -7 // -2 and (i + 1) // (W * 2) "
      "> 0 and i // nk < nq and j % dim == 0 and j // dim(k) == floor(1.5)",
      "W: int > 0"));
  for (const char *bound : {"> 0", ">= 1", "< 0", "<= -1", "!= 0", "== 3"})
    expectFine(with("mask = i // W < 3", std::string("W: int ") + bound));
  expectFine(kernel("b[i // n] + x^2 + x^-1 + 2^0.5 + b[abs(i - j)^2]",
                    "b[0:9], n: int > 0, x"));
  for (const char *bound : {"", ">= 0", "> -1", "<= 0", "< 1", "!= 1", "== 0"})
    expectError(
        {with("mask = @i // W < 3", std::string("W: int ") + bound),
         "the divisor of '//' may be zero; declare a bound that excludes it, "
         "as in 'W: int > 0'"});
  expectError(
      {with("mask = @i % (i - j) == 0"),
       "the divisor of '%' may be zero; divide by a constant, by nq, nk or "
       "dim, or by a parameter declared as in 'w: int > 0'"});
  expectError({with("mask = @i % (2 - 2) == 0"), "the divisor of '%' is zero"});
  expectError({kernel("@1.5 // 2"),
               "'//' takes ints, not a real; write 'floor(a / b)'"});
  expectError({kernel("@q % 2"),
               "'%' takes ints, not a row; write 'a - b * floor(a / "
               "b)'"});
  expectError({kernel("@(-2)^0.5"),
               "the base of '^' is negative and the exponent is no "
               "constant integer; write an integer exponent"});
  expectError({kernel("dot(@2^q, k)"), "an exponent is a number, not a row"});
  expectError(
      {kernel("@9223372036854775807 + 1"),
       "this integer does not fit in 64 bits; write a real, as in '1e20'"});
  expectError({kernel("dot(q * @floor(q), k)"),
               "'floor' makes an int and takes no "
               "row"});
  expectError(
      {kernel("1", "n: int @> 0.5"), "the bound of an int is an integer"});
}

// Reals are f32: no number becomes an infinity or 0 on its way.
TEST(Rules, NumbersOutsideOfF32) {
  std::string outside = "this number is outside of the range of f32, about "
                        "1.2e-38 to 3.4e38; write 'inf' or 0, or scale the "
                        "expression";
  for (const char *number :
       {"@1e300", "@1e-300", "@3.5e38", "@1e-38", "@1e-45", "@-1e39",
        "@10.0^39", "@1e200*1e200", "@1e-200*1e-200", "@exp(1000)",
        "@exp(-1000)", "@softplus(-200)", "@sigmoid(-1000)"})
    for (const char *kappa : {"dot(q, k) * ", "exp(dot(q, k)) + j + "})
      expectError({kernel(kappa + std::string(number)), outside});
  expectError({kernel("dot(q, k)^@1e300"), outside});
  expectError({kernel("@1e300 * (dot(q, k) + 1e-300)"), outside});
  expectError({with("k = k * @1e-300"), outside});
  expectError({with("v = v + @1e300"), outside});
  expectError({with("c = @1e-300; q = q * c"), outside});
  expectError({with("f(x) = x * @1e300; q = f(q)"), outside});
  expectError({with("mask = i < @1e300"), outside});
  expectError({with("normalize = mass(delta = @1e-300)"), outside});
  for (const char *number :
       {"0.0", "-0.0", "inf", "-inf", "3.4028235e38", "1.17549435e-38",
        "(1e300/1e299)", "log(0)", "9223372036854775807", "sigmoid(1000)"})
    expectFine(kernel("dot(q, k) * " + std::string(number)));
  // Bounds are compared with numbers of f32.
  std::string bound = "the bound of 'b' is outside of the range of f32, about "
                      "1.2e-38 to 3.4e38; write 0, or leave it out";
  for (const char *relop : {"< 1e300", "> -1e39", ">= 1e-300", "!= 1e-45"})
    expectError({kernel("b", "b @" + std::string(relop)), bound});
  expectFine(kernel("b", "b > 0.0, c <= 1e38"));
}

// 6. Rows, scalars and matrices.
TEST(Rules, RowsAndMatrices) {
  expectFine(kernel("dot(q * k0 + 1, exp(k * W) / 2)", "k0[d], W[head, d, d]"));
  expectFine(kernel("dot(q + E[i], k * T[j, 3])", "E[nq, d], T[nk, M, d, d]"));
  expectError({kernel("dot(@W * q, k)", "W[d, d]"),
               "a matrix times a row; the row stands on the left, 'x * W'"});
  expectError(
      {kernel("@dot(q, k) * W", "W[d, d]"),
       "'*' does not take a matrix; a matrix is multiplied from the left by a "
       "row, 'x * W'"});
  expectError(
      {kernel("dot(q + @W, k)", "W[head, d, e, f]"),
       "'W' has 3 axes left, and a matrix has two; index the others, as in "
       "'W[...]'"});
  expectError(
      {kernel("dot(q, @n)", "n[d]: int"),
       "'n' is an array of ints and rows are real; index it, as in 'n[j]', or "
       "declare it real"});
  expectError(
      {kernel("dot(q, @a)", "a[d, head]"),
       "the axis 'head' of 'a' stands behind those of the row or matrix; "
       "declare it first"});
  expectError(
      {kernel("@b", "b[-1:1]"), "'b' is an array; index it, as in 'b[i - j]'"});
  expectError(
      {kernel("@b", "b[nk]"), "'b' is an array; index it, as in 'b[j]'"});
  expectError({kernel("@b[1]", "b[d, nk]"),
               "'b' has an axis of positions left; index it"});
  expectError(
      {kernel("@b[1, 2]", "b[head, nk]"),
       "'b' has 1 axes to index, not 2; head, kv_head and batch are never "
       "written"});
  expectError(
      {kernel("dot(@power(q, i), k)"),
       "the degree of 'power' is a constant integer from 1 to 64; '^' raises "
       "every coordinate"});
}

// 7. Axes and heads.
TEST(Rules, AxesAndHeads) {
  expectFine(kernel("a + b + head + kv_head", "a[head], b[kv_head, batch]"));
  expectFine(
      with("q = q * a; k = k * b; k = k * kv_head", "a[head], b[kv_head]"));
  std::string head = "a key has no query head; write 'kv_head', or declare the "
                     "parameter with '[kv_head]'";
  expectError({with("k = k * @a", "a[head]"), head});
  expectError({with("v = v * @head"), head});
  expectError({kernel("1", "b[head, @head]"), "the axis 'head' stands twice"});
  expectError({kernel("1", "b[@3:2]"),
               "this table is empty; write the smaller edge "
               "first, as in '-128:128'"});
  expectError({kernel("1", "b[@-M:K]"),
               "the size 'M' follows from no axis; give a "
               "parameter the axis 'M'"});
  expectError({kernel("1", "b[@M:M]"),
               "the size 'M' follows from no axis; give a "
               "parameter the axis 'M'"});
  expectError({kernel("1", "b[1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,@1:2]"),
               "a parameter has at most 8 axes"});
}

// 8. is about where row maps run; see the schedule. 9. One error, the first.
TEST(Rules, FirstErrorOnly) {
  expectError({with("a = @unknown1; b = unknown2"), "unknown name 'unknown1'"});
}
