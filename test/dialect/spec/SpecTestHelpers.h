//===- SpecTestHelpers.h - specs in tests -----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_DIALECT_SPEC_SPECTESTHELPERS_H
#define ATTN_TEST_DIALECT_SPEC_SPECTESTHELPERS_H

#include "dialect/spec/Checker.h"
#include "dialect/spec/Parser.h"

#include <gtest/gtest.h>

namespace attn {

/// The first error of a text, parsed and checked; or nothing.
inline std::optional<SpecError> firstError(std::string_view text) {
  std::vector<Spec> specs;
  if (std::optional<SpecError> error = parseSpecs(text, specs))
    return error;
  try {
    for (const Spec &spec : specs)
      checkSpec(spec);
  } catch (SpecError &error) {
    return error;
  }
  return std::nullopt;
}

/// A text with its first error: `@` stands before the place that is blamed.
struct WrongSpec {
  std::string text;
  std::string message;
};

inline void expectError(const WrongSpec &wrong) {
  SCOPED_TRACE(wrong.text);
  std::string text = wrong.text;
  size_t at = text.find('@');
  ASSERT_NE(at, std::string::npos);
  text.erase(at, 1);
  uint32_t line = 1, column = 1;
  for (size_t t = 0; t < at; ++t) {
    column = text[t] == '\n' ? 1 : column + 1;
    line += text[t] == '\n';
  }
  std::optional<SpecError> error = firstError(text);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->message, wrong.message);
  EXPECT_EQ(std::to_string(error->place.line) + ":" +
                std::to_string(error->place.column),
            std::to_string(line) + ":" + std::to_string(column));
  EXPECT_GE(error->place.length, error->place.line == 0 ? 0u : 1u);
}

inline void expectFine(const std::string &text) {
  SCOPED_TRACE(text);
  std::optional<SpecError> error = firstError(text);
  EXPECT_FALSE(error.has_value()) << (error ? error->message : "");
}

/// `attention t(q, k, v; parameters) { kappa = kernel }`
inline std::string kernel(const std::string &kernel,
                          const std::string &parameters = "") {
  return "attention t(q, k, v" + (parameters.empty() ? "" : "; " + parameters) +
         ") { kappa = " + kernel + " }";
}

/// The same with statements in front of `kappa = dot(q, k)`.
inline std::string with(const std::string &statements,
                        const std::string &parameters = "") {
  return "attention t(q, k, v" + (parameters.empty() ? "" : "; " + parameters) +
         ") { " + statements + "\n kappa = dot(q, k) }";
}

} // namespace attn

#endif // ATTN_TEST_DIALECT_SPEC_SPECTESTHELPERS_H
