//===- WriteSpecTest.cpp - trees as text and back -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/WriteSpec.h"
#include "dialect/spec/Importer.h"
#include "dialect/spec/Parser.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace attn;

namespace {

std::string moduleOf(const Spec &spec) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (std::optional<SpecError> error = importSpecs(spec, "f", context, module))
    return "error: " + error->message;
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

std::string at(const std::string &text, Spec::Place place) {
  std::istringstream lines(text);
  std::string line;
  for (uint32_t n = 0; n < place.line; ++n)
    std::getline(lines, line);
  return line.substr(place.column - 1, place.length);
}

/// Specs of all examples and golden cases: written, they read back as the same
/// module, and every name stands where its place says.
TEST(WriteSpecTest, ReadsBackAsTheSame) {
  std::vector<std::filesystem::path> files = {ATTN_GOLDEN_SPECS};
  for (const auto &entry : std::filesystem::directory_iterator(ATTN_EXAMPLES))
    if (entry.path().extension() == ".attn")
      files.push_back(entry.path());
  size_t count = 0;
  for (const std::filesystem::path &file : files) {
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    std::vector<Spec> specs;
    ASSERT_FALSE(parseSpecs(text.str(), specs)) << file;
    for (Spec &spec : specs) {
      const std::string expected = moduleOf(spec);
      EXPECT_NO_THROW(validateSpec(spec));
      const std::string written = writeSpec(spec);
      SCOPED_TRACE(written);
      std::vector<Spec> again;
      ASSERT_FALSE(parseSpecs(written, again));
      ASSERT_EQ(again.size(), 1u);
      EXPECT_EQ(moduleOf(again[0]), expected);
      for (const Spec::Expression &e : spec.expressions)
        if (!e.name.empty()) {
          EXPECT_EQ(at(written, e.place).substr(0, e.name.size()), e.name);
        }
      for (const Spec::Parameter &parameter : spec.parameters)
        EXPECT_EQ(at(written, parameter.name.place), parameter.name.text);
      EXPECT_EQ(writeSpec(again[0]), written);
      ++count;
    }
  }
  EXPECT_GT(count, 50u);
}

/// Parentheses stand where the tree needs them and nowhere else.
TEST(WriteSpecTest, Parentheses) {
  for (const char *kappa :
       {"a - (b - c)", "a - b - c", "(-a)^2", "-a^2", "a^b^c", "(a^b)^c",
        "a / (b * c)", "a / b * c", "-(a + b)", "a - -b", "2.0 * a", "1e+20",
        "where(not (a < b and b < c), a, b)",
        "where(not a < b and (b < c or c < a), a, b)", "(a + b)^-c",
        "max(a, min(b, c))", "a // 2 % 3"}) {
    std::string text =
        std::string("attention f(q, k, v; a, b, c) {\n  kappa = ") + kappa +
        "\n}\n";
    std::vector<Spec> specs;
    ASSERT_FALSE(parseSpecs(text, specs)) << text;
    EXPECT_EQ(writeSpec(specs[0]), text);
  }
}

} // namespace
