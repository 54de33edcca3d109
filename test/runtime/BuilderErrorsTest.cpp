//===- BuilderErrorsTest.cpp - what C++ expressions may not say -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors of compiling show the spec as text, and the place in it, as long as
// the text can be written out; what is no spec at all is refused while it is
// built.
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace attn;

namespace {

std::string errorOf(const Spec &spec) {
  try {
    Compiler().compile(spec);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(BuilderErrorsTest, NumbersOutsideOfF32) {
  for (double number : {1e300, 1e-300, 1e-45}) {
    std::string error = errorOf(attention(
        "f", {}, [&](Row q, Row k) { return Kappa(number * exp(dot(q, k))); }));
    EXPECT_EQ(error.find("<spec f>:2:11: error: this number is outside of the "
                         "range of f32"),
              0u)
        << error;
    error = errorOf(
        attention("f", {param("b") < number}, [&](Row q, Row k, Real b) {
          return Kappa(exp(b * dot(q, k)));
        }));
    EXPECT_EQ(error.find("<spec f>:1:26: error: the bound of 'b' is outside of "
                         "the range of f32"),
              0u)
        << error;
  }
}

TEST(BuilderErrorsTest, ErrorsPointIntoTheText) {
  std::string signedError =
      errorOf(attention("bad", {}, [](Row q, Row k) { return dot(q, k) * 2; }));
  EXPECT_NE(signedError.find("<spec bad>:2:11: error: kappa is not proven "
                             "non-negative"),
            std::string::npos)
      << signedError;
  EXPECT_NE(signedError.find("  kappa = dot(q, k) * 2\n          ^"),
            std::string::npos)
      << signedError;
  try {
    Compiler().compile(attention(
        "sides", {}, [](Row q, Row k) { return exp(dot(q + k, q)); }));
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.file(), "<spec sides>");
    EXPECT_EQ(error.line(), 2);
    EXPECT_EQ(error.column(), 19); // of q + k
  }
  EXPECT_NE(errorOf(attention("f", {param("dim", head)},
                              [](Row q, Row k, Real b) {
                                return exp(dot(q, k) + b);
                              }))
                .find("<spec f>:1:22: error: 'dim' is reserved"),
            std::string::npos);
  EXPECT_EQ(errorOf(attention("f", {param("b b")},
                              [](Row q, Row k, Real b) { return b; })),
            "<spec f>: error: a parameter is called 'b b'; a name is a letter, "
            "then letters, digits and underscores");
}

/// Trees that a program filled by hand are checked before they are walked.
TEST(BuilderErrorsTest, MalformedTreesAreRefused) {
  Spec good = attention("f", {}, [](Row q, Row k) { return exp(dot(q, k)); });
  ASSERT_EQ(errorOf(good), "no error");
  Spec late = good;
  late.expressions.back().operands[0] = 17;
  EXPECT_NE(errorOf(late).find("uses one that does not stand before it"),
            std::string::npos);
  Spec empty = good;
  empty.statements[0].value = Spec::kNone;
  EXPECT_NE(errorOf(empty).find("has no value"), std::string::npos);
  Spec wide = good;
  wide.expressions[0].operands = {};
  wide.expressions.back().kind = Spec::Expression::Operation;
  wide.expressions.back().op = Spec::Operator::Add;
  EXPECT_NE(errorOf(wide).find("the wrong number of operands"),
            std::string::npos);
  EXPECT_NE(errorOf(Spec()).find("a spec is called ''"), std::string::npos);
}

std::string thrownBy(void (*build)()) {
  try {
    build();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(BuilderErrorsTest, MistakesOfTheCaller) {
  EXPECT_EQ(thrownBy([] {
              attention("f", {param("b")}, [](Row, Row) { return Real(1); });
            }),
            "'f' declares 1 parameters, so its function takes q, k and those, "
            "or q, k, v and those; it takes 2 arguments");
  EXPECT_EQ(thrownBy([] {
              attention("f", {param("b", "D")},
                        [](Row, Row, Real b) { return b; });
            }),
            "the parameter 'b' has 1 explicit axes; take it as a Row, or index "
            "it");
  EXPECT_EQ(thrownBy([] {
              attention("f", {param("b")}, [](Row, Row, Int b) { return b; });
            }),
            "the parameter 'b' is real; declare it with intParam to take it as "
            "an Int");
  EXPECT_EQ(
      thrownBy([] { (void)(param("b") > 0).bounded(Spec::Operator::Less, 1); }),
      "the parameter 'b' has a bound already; a declaration has one");
  EXPECT_EQ(thrownBy([] {
              Attention f("f", {"x"});
              Row q = f.q;
            }),
            "'q' is not known yet in 'f': no input is called so, and it is not "
            "assigned");
  EXPECT_EQ(thrownBy([] {
              Attention f("f"), g("g");
              f.kappa = exp(dot(f.q, g.k));
            }),
            "'k' belongs to another attention than 'f'");
  EXPECT_EQ(thrownBy([] {
              Attention f("f");
              Row before = f.q;
              f.q = unit(f.q);
              f.kappa = exp(dot(before, f.k));
            }),
            "this uses a 'q' from before its last assignment in 'f'; take the "
            "role again, or name what was made of the older one with 'let' "
            "before the assignment");
  EXPECT_EQ(thrownBy([] {
              Attention f("f");
              f.kappa = exp(dot(f.q, f.k));
              f.q = unit(f.q);
            }),
            "'q' is assigned after kappa in 'f'; kappa sees the rows as last "
            "assigned, so give it last");
}

/// Neither the stack nor the text is as long as an expression may be.
TEST(BuilderErrorsTest, LongAndSharedExpressions) {
  Spec shared = attention("f", {}, [](Row q, Row k) {
    Real s = dot(q, k) / sqrt(dim);
    for (int n = 0; n < 60; ++n)
      s = (s + s) / 2; // 2^60 terms if it were written out
    return exp(s);
  });
  EXPECT_EQ(toText(shared), "");
  float q[] = {1}, k[] = {1, 0}, v[] = {3, 5}, o[1];
  Options options;
  options.target = "reference";
  Compiler(options).compile(shared)(
      {{"q", {q, {1, 1}}}, {"k", {k, {2, 1}}}, {"v", {v, {2, 1}}}},
      {{"o", {o, {1, 1}}}});
  EXPECT_NEAR(o[0], (3 * std::exp(1.0) + 5) / (std::exp(1.0) + 1), 1e-5);

  // Errors have no place then, and say whose they are.
  std::string error = errorOf(attention("h", {}, [](Row q, Row k) {
    Real s = dot(q, k);
    for (int n = 0; n < 60; ++n)
      s = s + s;
    return s;
  }));
  EXPECT_EQ(error.substr(0, 17), "<spec h>: error: ") << error;
  EXPECT_NE(error.find("not proven non-negative"), std::string::npos) << error;

  Spec deep = attention("g", {}, [](Row q, Row k) {
    Real s = dot(q, k);
    for (int n = 0; n < 100000; ++n)
      s = s + n;
    return exp(s);
  });
  EXPECT_EQ(errorOf(deep).substr(0, 17), "<spec g>: error: ");
}

} // namespace
