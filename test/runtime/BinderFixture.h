//===- BinderFixture.h - a signature, and calls of it -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_RUNTIME_BINDERFIXTURE_H
#define ATTN_TEST_RUNTIME_BINDERFIXTURE_H

#include "runtime/Arrays.h"
#include "runtime/Binder.h"

#include <gtest/gtest.h>

namespace attn::runtime {

using Extents = std::vector<int64_t>;

/// Memory that all tests point into; what matters are shapes.
class BinderTest : public ::testing::Test {
protected:
  BinderTest() : memory(1 << 16, 1.0f) {
    signature.name = "test";
    add(FormalKind::Query, "q");
    add(FormalKind::Key, "k");
    add(FormalKind::Value, "v");
  }

  Formal &add(FormalKind kind, const std::string &name) {
    signature.formals.emplace_back();
    signature.formals.back().kind = kind;
    signature.formals.back().name = name;
    if (kind == FormalKind::Output)
      signature.results.push_back(name);
    return signature.formals.back();
  }

  void addParam(const std::string &name, const std::vector<std::string> &axes,
                const std::string &relop = "", double bound = 0,
                bool integer = false) {
    Formal &formal = add(FormalKind::Param, name);
    for (const std::string &text : axes) {
      formal.axes.emplace_back();
      ASSERT_TRUE(parseAxis(text, formal.axes.back())) << text;
    }
    formal.relop = relop;
    formal.bound = bound;
    formal.integer = integer;
  }

  void addLengths() {
    add(FormalKind::KeyLengths, "key_lengths");
    add(FormalKind::QueryLengths, "query_lengths");
    add(FormalKind::Offset, "offset");
  }

  Tensor rows(std::vector<int64_t> shape, int64_t at = 0) {
    return Tensor(memory.data() + at, std::move(shape));
  }

  std::vector<Argument> inputs(std::vector<int64_t> q, std::vector<int64_t> k,
                               std::vector<int64_t> v) {
    return {{"q", rows(q)}, {"k", rows(k)}, {"v", rows(v)}};
  }
  /// B = 2, Hq = 4, Hk = 2, Nq = 3, Nk = 5, D = 8, Dv = 6.
  std::vector<Argument> usual(std::vector<Argument> more = {}) {
    auto arguments = inputs({2, 4, 3, 8}, {2, 2, 5, 8}, {2, 2, 5, 6});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  Binding bind(const std::vector<Argument> &arguments, bool reference = false) {
    return bindInputs(signature, arguments, {reference});
  }

  /// The message of the error that `bind` ends in.
  std::string errorOf(const std::vector<Argument> &arguments,
                      bool reference = false) {
    try {
      bind(arguments, reference);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  std::string errorOfOutputs(const std::vector<Output> &outputs) {
    Binding binding = bind(usual());
    try {
      bindOutputs(binding, signature, outputs, 6, {});
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  Signature signature;
  std::vector<float> memory;
};

} // namespace attn::runtime

#endif // ATTN_TEST_RUNTIME_BINDERFIXTURE_H
