//===- ParserErrorsTest.cpp - what the grammar refuses, and how -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecTestHelpers.h"

using namespace attn;

TEST(ParserErrors, Characters) {
  expectError(
      {kernel("dot(q, k) @& 1"), "unexpected character '&'; write 'and'"});
  expectError(
      {kernel("dot(q, k) @| 1"), "unexpected character '|'; write 'or'"});
  expectError({kernel("where(@!1, 2, 3)"),
               "unexpected character '!'; write 'not' or '!='"});
  expectError({kernel("dot(q, k)@$"), "unexpected character '$'; remove it"});
  expectError({kernel("dot(q, k) @\xC2\xB7 2"),
               "unexpected character '\xC2\xB7'; outside comments a spec is "
               "written in ASCII"});
  expectError({std::string("attention t(q, k, v) { @\0 }", 27),
               "unexpected character \\x00; a spec is plain text, remove it"});
}

TEST(ParserErrors, Headers) {
  expectError({"@kernel t(q, k, v) {}",
               "expected a spec, 'attention name(q, k, v) "
               "{ ... }', found 'kernel'"});
  expectError({"attention @(q, k, v) {}",
               "expected the name of the attention, found '('"});
  expectError({"attention t @{}", "expected '(' before the inputs, as in "
                                  "'attention name(q, k, v)', found '{'"});
  expectError(
      {"attention t(@) {}", "expected the name of an input, found ')'"});
  expectError({"attention t(q @k, v) {}",
               "expected ',' or ')' after an input or a parameter, found 'k'; "
               "parameters stand after a ';'"});
  expectError({"attention t(q, k, v) @kappa",
               "expected '{' before the statements, found 'kappa'"});
  expectError(
      {"attention t(q, k, v) { kappa = 1@",
       "expected an operator or the end of the statement, found the end "
       "of the text"});
  expectError({"attention t(q, k, v) {\n@",
               "expected '}' after the statements of 't', found the end of the "
               "text"});
}

TEST(ParserErrors, Parameters) {
  expectError(
      {kernel("1", "@3"), "expected the name of a parameter, found '3'"});
  expectError({kernel("1", "b[head@"), "expected ']' after the axes of 'b', "
                                       "found ')'"});
  expectError({kernel("1", "b[@*]"),
               "expected an integer or a size variable as "
               "the edge of a table, found '*'"});
  expectError({kernel("1", "b[-128@]"),
               "expected ':' and the other edge of the "
               "table, as in '-128:128', found ']'"});
  expectError({kernel("1", "b[@99999999999999999999:1]"),
               "the edge of a table is too large"});
  expectError({kernel("1", "b: @float"),
               "expected 'int' or 'real' as the type of 'b', found 'float'"});
  expectError({kernel("1", "b > @c"),
               "expected a number as the bound of a parameter, found 'c'"});
}

TEST(ParserErrors, Statements) {
  expectError({with("@3 = 4"), "expected a statement, found '3'"});
  expectError({with("kappa @1"), "expected '=' after 'kappa', found '1'"});
  expectError({with("mask @1"), "expected '=' after 'mask', found '1'"});
  expectError({with("a @b"), "expected '=' after 'a', found 'b'"});
  expectError(
      {with("f(@3) = 4"), "expected the name of an argument, found '3'"});
  expectError({with("f(x@; = 4"), "expected ')' after the arguments of 'f', "
                                  "found ';'"});
  expectError({with("normalize @mass"), "expected '=' after 'normalize', as in "
                                        "'normalize = mass', found 'mass'"});
  expectError({with("normalize = @3"), "expected 'mass' or 'none', found '3'"});
  expectError({with("normalize = mass(@3)"),
               "expected 'delta', 'floor' or 'sink', found '3'"});
  expectError(
      {with("normalize = mass(delta @3)"),
       "expected '=' after 'delta', as in 'mass(delta = 1e-9)', found '3'"});
  expectError({with("normalize = mass(delta = 3@;"),
               "expected ')' after the terms of the normaliser, found ';'"});
  expectError({with("features @favor"),
               "expected '=' after 'features', found 'favor'"});
  expectError(
      {with("features = @3"), "expected the name of a feature map, found '3'"});
  expectError({with("features = favor@"),
               "expected '(' after 'favor', as in 'features = favor(m = 256)', "
               "found the end of the line"});
  expectError({with("allow @unsigned"),
               "expected 'signed' after 'allow', found 'unsigned'"});
  expectError({with("return @3"), "expected the name of a result, found '3'"});
  expectError({with("a = 1 @b = 2"),
               "expected an operator or the end of the statement, found 'b'"});
  expectError({with("a = b @= 2"), "unexpected '='; to compare, write '=='"});
}

TEST(ParserErrors, Expressions) {
  expectError({with("a = 1 +@"),
               "expected an expression, found the end of the line; to go on to "
               "the next line, put the expression in parentheses"});
  expectError({kernel("1 < 2 @< 3"),
               "comparisons do not chain; write 'a < b and b < c'"});
  expectError({kernel("1 + @not 2"), "expected an expression, found 'not'; put "
                                     "the negation in parentheses"});
  expectError({kernel("(1 @;"), "expected ')' after the expression in "
                                "parentheses, found ';'"});
  expectError({kernel("dot(q @;"), "expected ')' after the arguments of 'dot', "
                                   "found ';'"});
  expectError({kernel("b[1 @;", "b[4:5]"),
               "expected ']' after the indices of 'b', found ';'"});
  expectError({kernel("rope(q, i, 1 @= 2)"),
               "expected ',' or ')', found '='; to compare, write '=='"});
  expectError(
      {kernel("rope(q, base = 2, @i)"),
       "an argument without a name cannot follow one with a name; move it "
       "to the front"});
  expectError(
      {kernel("@99999999999999999999"),
       "this integer does not fit in 64 bits; write it as a real, as in "
       "'1e20'"});
  for (const char *number : {"@1e999", "@1e-999"})
    expectError({kernel(number),
                 "this number is outside of the range of f32, about 1.2e-38 to "
                 "3.4e38; write 'inf' or 0, or scale the expression"});
  expectError({kernel("1 @x"),
               "expected an operator or the end of the statement, found 'x'"});
}

TEST(ParserErrors, Nesting) {
  std::string deep = "more than 500 levels of nesting; give parts of the "
                     "expression names";
  for (const char *opening : {"(", "-", "not ", "2^", "exp(", "b["}) {
    std::string text;
    for (int n = 0; n < 10000; ++n)
      text += opening;
    std::optional<SpecError> error = firstError(kernel(text + "1"));
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->message, deep) << opening;
  }
}

TEST(ParserErrors, Rendering) {
  SpecError error{"no", {2, 3, 4}};
  EXPECT_EQ(renderError("f.attn", "a\n\tbcdefgh\nx", error),
            "f.attn:2:3: error: no\n\tbcdefgh\n\t ^~~~\n");
  // A place past the end of its line, and a line that is not there.
  EXPECT_EQ(renderError("f", "ab", {"no", {1, 9, 5}}),
            "f:1:9: error: no\nab\n  ^\n");
  EXPECT_EQ(renderError("f", "ab", {"no", {7, 1, 5}}),
            "f:7:1: error: no\n\n^\n");
  EXPECT_EQ(renderError("f", "ab", {"no", {}}), "f: error: no\n");
  // A megabyte in one line is cut around the place.
  std::string line(1000000, 'x');
  std::string text = renderError("f", line, {"no", {1, 500000, 3}});
  EXPECT_LT(text.size(), 400u);
  EXPECT_EQ(text.substr(text.rfind("\n", text.size() - 2)),
            "\n" + std::string(60, ' ') + "^~~\n");
  // Columns do not count a byte order mark, and a line ends before its CR.
  EXPECT_EQ(renderError("f", "\xEF\xBB\xBFxy\r\n", {"no", {1, 2, 1}}),
            "f:1:2: error: no\nxy\n ^\n");
}
