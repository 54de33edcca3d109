//===- ParserTest.cpp - text to tree --------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpecTestHelpers.h"

using namespace attn;

/// The last expression of a text's kappa, fully parenthesised.
static std::string print(const Spec &spec, Spec::Id id) {
  static const char *const operators[] = {
      "-", "+", "not ", "+", "-",  "*",  "/",  "//",    "%",
      "^", "<", "<=",   ">", ">=", "==", "!=", " and ", " or "};
  const Spec::Expression &e = spec.expressions[id];
  auto operand = [&](size_t t) { return print(spec, e.operands[t]); };
  switch (e.kind) {
  case Spec::Expression::Integer:
    return std::to_string(e.integer);
  case Spec::Expression::Real:
    return "r" + std::to_string(e.real);
  case Spec::Expression::Variable:
    return e.name;
  case Spec::Expression::Operation: {
    std::string op = operators[static_cast<int>(e.op)];
    return e.operands.size() == 1 ? "(" + op + operand(0) + ")"
                                  : "(" + operand(0) + op + operand(1) + ")";
  }
  default: {
    std::string text = e.name + (e.kind == Spec::Expression::Call ? "(" : "[");
    size_t positional = e.operands.size() - e.argumentNames.size();
    for (size_t t = 0; t < e.operands.size(); ++t)
      text +=
          (t ? "," : "") +
          (t < positional ? "" : e.argumentNames[t - positional].text + "=") +
          operand(t);
    return text + (e.kind == Spec::Expression::Call ? ")" : "]");
  }
  }
}

static std::string tree(const std::string &expression) {
  std::vector<Spec> specs;
  std::optional<SpecError> error = parseSpecs(kernel(expression), specs);
  if (error)
    return error->message;
  return print(specs[0], specs[0].statements[0].value);
}

TEST(Parser, Precedence) {
  EXPECT_EQ(tree("1 + 2 * 3"), "(1+(2*3))");
  EXPECT_EQ(tree("1 - 2 - 3"), "((1-2)-3)");
  EXPECT_EQ(tree("a / b // c % d * e"), "((((a/b)//c)%d)*e)");
  EXPECT_EQ(tree("-x^2"), "(-(x^2))");
  EXPECT_EQ(tree("a^b^c"), "(a^(b^c))");
  EXPECT_EQ(tree("a^-b^c"), "(a^(-(b^c)))");
  EXPECT_EQ(tree("2^-1 * 3"), "((2^(-1))*3)");
  EXPECT_EQ(tree("- -x + +y"), "((-(-x))+(+y))");
  EXPECT_EQ(tree("a or b and not c < d + 1 or e"),
            "((a or (b and (not (c<(d+1))))) or e)");
  EXPECT_EQ(tree("not not a and b"), "((not (not a)) and b)");
  EXPECT_EQ(tree("a < b and c >= d and e != f or g == h"),
            "((((a<b) and (c>=d)) and (e!=f)) or (g==h))");
  EXPECT_EQ(tree("(a + b) * (c)"), "((a+b)*c)");
}

TEST(Parser, Atoms) {
  EXPECT_EQ(tree("f(a, b[1, i - j], base = 2)"), "f(a,b[1,(i-j)],base=2)");
  EXPECT_EQ(tree("f()"), "f()");
  EXPECT_EQ(tree("1. + .5 + 1e2 + 2.5E-1"),
            "(((r1.000000+r0.500000)+r100.000000)+r0.250000)");
  EXPECT_EQ(tree("x_1y"), "x_1y");
  EXPECT_EQ(tree("f(\n a\n +\n b)"), "f((a+b))");
}

TEST(Parser, Parameters) {
  std::vector<Spec> specs;
  ASSERT_FALSE(
      parseSpecs("attention t(p, v; b[head, -M:128, d]: int >= -2.5, c)\n"
                 "{ kappa = 1 }",
                 specs));
  const Spec::Parameter &b = specs[0].parameters[0];
  EXPECT_EQ(specs[0].inputs[1].text, "v");
  ASSERT_EQ(b.axes.size(), 3u);
  EXPECT_EQ(b.axes[0].name.text, "head");
  EXPECT_EQ(b.axes[1].name.text, "");
  EXPECT_TRUE(b.axes[1].low.negated);
  EXPECT_EQ(b.axes[1].low.variable.text, "M");
  EXPECT_EQ(b.axes[1].high.number, 128);
  EXPECT_TRUE(b.integer);
  EXPECT_EQ(b.relop, Spec::Operator::GreaterEqual);
  EXPECT_EQ(b.bound, -2.5);
  EXPECT_FALSE(specs[0].parameters[1].relop.has_value());
}

TEST(Parser, SeparatorsCommentsAndEncodings) {
  std::vector<Spec> specs;
  ASSERT_FALSE(parseSpecs("\xEF\xBB\xBF# \xCE\xBA, and a NUL-free comment\r\n"
                          "attention a\r\n(q, k,\r\n v)\r\n{;;\r\n"
                          "x = 1; y = 2 # two\r\n\r\nkappa = (x +\r\n y)\r\n}"
                          "attention b(q,k,v){kappa=1}",
                          specs));
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].statements.size(), 3u);
  EXPECT_EQ(specs[0].statements[2].place.line, 8u);
  EXPECT_EQ(specs[0].statements[1].place.column, 8u);
  EXPECT_EQ(specs[1].name.text, "b");
  specs.clear();
  EXPECT_FALSE(parseSpecs("", specs));
  EXPECT_FALSE(parseSpecs("# nothing", specs));
  EXPECT_FALSE(parseSpecs("attention e(q) {}", specs));
  EXPECT_EQ(specs.size(), 1u);
}

TEST(Parser, Statements) {
  std::vector<Spec> specs;
  using Statement = Spec::Statement;
  ASSERT_FALSE(
      parseSpecs("attention a(q, k, v) { f(x, y) = x; allow signed\n"
                 "normalize = mass(delta = 1, sink = 2); return o, max\n"
                 "features = favor(m = 256); mask = none }",
                 specs));
  const std::vector<Statement> &statements = specs[0].statements;
  ASSERT_EQ(statements.size(), 6u);
  EXPECT_EQ(statements[0].kind, Statement::Define);
  EXPECT_EQ(statements[0].names[1].text, "y");
  EXPECT_EQ(statements[1].kind, Statement::AllowSigned);
  EXPECT_EQ(statements[2].kind, Statement::Normalize);
  EXPECT_EQ(statements[2].arguments[1].name.text, "sink");
  EXPECT_EQ(statements[3].kind, Statement::Return);
  EXPECT_EQ(statements[3].names[1].text, "max");
  EXPECT_EQ(statements[4].kind, Statement::Features);
  EXPECT_EQ(statements[5].kind, Statement::Mask);
}

/// A chain of operators is a loop in the parser, the checker and the graph.
TEST(Parser, MegabyteSpecs) {
  std::string sum = "x0";
  for (int n = 0; n < 200000; ++n)
    sum += " + x0";
  std::vector<Spec> specs;
  ASSERT_FALSE(parseSpecs(kernel(sum, "x0"), specs));
  EXPECT_EQ(specs[0].expressions.size(), 400001u);
  expectError({kernel("@" + sum, "x0"),
               "this expression is more than 1000 "
               "operations deep; write it with fewer"});

  std::string names = "a0 = x\n";
  for (int n = 1; n < 60000; ++n)
    names += "a" + std::to_string(n) + " = a" + std::to_string(n % 500 / 2) +
             " + " + std::to_string(n) + "\n";
  EXPECT_GT(names.size(), 900000u);
  expectFine(with(names, "x"));
}
