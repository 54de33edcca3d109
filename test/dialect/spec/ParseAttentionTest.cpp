//===- ParseAttentionTest.cpp - either kind of text -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Importer.h"

#include "dialect/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace attn;
using namespace mlir;

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

static std::string errorOf(StringRef text) {
  MLIRContext context;
  return parseAttention(text, "f", context).error;
}

TEST(ParseAttention, SpecsAndMlirGiveTheSameModule) {
  MLIRContext context;
  ParsedAttention spec =
      parseAttention("# Two kernels.\n"
                     "attention a(q, k, v) { kappa = exp(dot(q, k)) }\n"
                     "attention b(x; c[head] > 0) { q = x; k = x; v = x\n"
                     "kappa = c / (sqdist(q, k) + c) }\n",
                     "f.attn", context);
  ASSERT_TRUE(bool(spec)) << spec.error;
  std::string text = print(*spec.module);
  EXPECT_EQ(std::distance(spec.module->getOps<func::FuncOp>().begin(),
                          spec.module->getOps<func::FuncOp>().end()),
            2);
  for (StringRef prefix : {"", "\n\n", "// note\n", "\xEF\xBB\xBF"}) {
    MLIRContext other;
    ParsedAttention mlir =
        parseAttention((prefix + text).str(), "f.mlir", other);
    ASSERT_TRUE(bool(mlir)) << mlir.error;
    EXPECT_EQ(print(*mlir.module), text);
  }
}

TEST(ParseAttention, ErrorsArePrintedWithTheLine) {
  EXPECT_EQ(errorOf("attention a(q, k, v) {\n  kappa = expo(dot(q, k))\n}\n"),
            "f:2:11: error: unknown function 'expo'; did you mean 'exp'?\n"
            "  kappa = expo(dot(q, k))\n"
            "          ^~~~~~~~~~~~~~~\n");
  EXPECT_EQ(
      errorOf("# only a comment\n"),
      "f: error: the text contains no spec; write 'attention name(q, k, v) { "
      "kappa = ... }'\n");
  EXPECT_EQ(
      errorOf("attention a(q, k, v) { kappa = 1 }\n"
              "attention a(q, k, v) { kappa = 1 }\n"),
      "f:2:11: error: 'a' is already defined in line 1; choose another name\n"
      "attention a(q, k, v) { kappa = 1 }\n"
      "          ^\n");
  std::string wrong = errorOf("module { func.func @f() { attn.nothing } }");
  EXPECT_EQ(wrong.substr(0, 14), "f:1:27: error:") << wrong;
  EXPECT_NE(wrong.find("\nmodule { func"), std::string::npos) << wrong;
  EXPECT_EQ(errorOf(StringRef("module {\0}", 10)),
            "f: error: the text contains a NUL byte\n");
}

/// The verifier's diagnostics too are the caller's text, and nothing is left of
/// them in the context.
TEST(ParseAttention, DiagnosticText) {
  MLIRContext context;
  StringRef text = "attention a(q, k, v) {\n  kappa = dot(q, k)\n}\n";
  ParsedAttention parsed = parseAttention(text, "f", context);
  ASSERT_TRUE(bool(parsed));
  DiagnosticText said(text, "f", context);
  parsed.module->walk([](DotOp op) { op.emitError("look here"); });
  EXPECT_EQ(said.take(),
            "f:2:11: error: look here\n  kappa = dot(q, k)\n          ^\n");
  EXPECT_EQ(said.take(), "");
}

/// A spec need not come from text: the tree alone is imported, without places.
TEST(ParseAttention, TreesWithoutText) {
  Spec spec;
  spec.name.text = "built";
  for (const char *input : {"q", "k", "v"})
    spec.inputs.push_back({input, {}});
  auto variable = [&](const char *name) {
    Spec::Expression e;
    e.kind = Spec::Expression::Variable;
    e.name = name;
    return spec.add(e);
  };
  Spec::Expression dot;
  dot.kind = Spec::Expression::Call;
  dot.name = "dot";
  dot.operands = {variable("q"), variable("k")};
  Spec::Id shared = spec.add(dot);
  Spec::Expression square;
  square.kind = Spec::Expression::Operation;
  square.op = Spec::Operator::Multiply;
  square.operands = {shared, shared};
  Spec::Statement kappa;
  kappa.kind = Spec::Statement::Kappa;
  kappa.value = spec.add(square);
  spec.statements.push_back(kappa);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::optional<SpecError> error =
      importSpecs({spec}, "program", context, module);
  ASSERT_FALSE(error.has_value()) << error->message;
  ParsedAttention text = parseAttention(
      "attention built(q, k, v) { kappa = dot(q, k) * dot(q, k) }", "f",
      context);
  EXPECT_EQ(print(*module), print(*text.module));
  // Errors have no place to point to.
  spec.inputs.pop_back();
  error = importSpecs({spec}, "program", context, module);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(renderError("program", "", *error).substr(0, 29),
            "program: error: 'built' has n");
}
