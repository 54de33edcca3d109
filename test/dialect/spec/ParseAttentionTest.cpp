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
