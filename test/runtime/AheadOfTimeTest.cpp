//===- AheadOfTimeTest.cpp - ahead-of-time kernels against the JIT --------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every way of calling a kernel through C gives the bits that the JIT gives;
// that those are right is tested elsewhere.
//
//===----------------------------------------------------------------------===//

#include "CKernel.h"
#include "Problem.h"
#include "Random.h"

#include <gtest/gtest.h>
#include <thread>

using namespace attn;
using namespace attn::runtime;

namespace {

struct Case {
  const char *spec; ///< of examples/, or a text
  ProblemShape shape;
  Layout layout = Layout::Packed;
  std::vector<int64_t> keyLengths = {}, queryLengths = {}, offsets = {};
};

constexpr const char *kAllResults =
    "attention all_results(q, k, v) { kappa = exp(dot(q, k)); mask = causal\n"
    "return o, mass, lse, max, argmax, entropy, weights }";

/// For the names of the tests.
void PrintTo(const Case &c, std::ostream *stream) {
  *stream << c.shape.toString();
}

constexpr const char *kUnitRows =
    "attention unit_rows(q, k, v; b[head] > 0) { q = unit(q); k = unit(k)\n"
    "kappa = (dot(q, k) + 1)^2 / (sqdist(q, k) + b); return o, mass }";
// The value of a key that depends on the query head.
constexpr const char *kPerHead =
    "attention per_head(q, k, v; c[head, d], W[d, e]) { v = v * W\n"
    "kappa = exp(dot(q, k) + dot(c, k)); mask = causal; return o, lse }";

class AheadOfTime : public ::testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const Case &c = GetParam();
    std::string spec = c.spec;
    Options options;
    options.threads = 2;
    Compiler compiler(options);
    kernel = std::make_unique<Kernel>(
        spec.find('{') == std::string::npos
            ? compiler.compileFile(ATTN_EXAMPLES "/" + spec + ".attn")
            : compiler.compile(spec));
    const Signature &signature = kernel->getImpl().signature;
    Recipe recipe;
    recipe.shape = fitShape(c.shape, signature);
    recipe.layout = c.layout;
    recipe.keyLengths = c.keyLengths;
    recipe.queryLengths = c.queryLengths;
    recipe.offsets = c.offsets;
    problem = makeProblem(signature, recipe);
    std::vector<Argument> arguments = problem.arguments();
    StaticSizes sizes =
        kernel->getImpl().prepare(arguments, outputsOf(expected)).binding.sizes;
    c_ = std::make_unique<CKernel>(kernel->getImpl(), sizes);
    for (const NamedArray &named : problem.arrays) {
      Tensor tensor = named.view();
      c_->set(named.name, tensor);
    }
    (*kernel)(arguments, outputsOf(expected));
    std::vector<Output> outputs = outputsOf(actual);
    for (const Output &output : outputs) {
      Tensor tensor = output.tensor;
      tensor.shape = fullShape(output.name);
      c_->set(output.name, tensor);
    }
  }

  /// [B, Hq, Nq, ...], whatever axes q lacks.
  std::vector<int64_t> fullShape(const std::string &name) {
    const ProblemShape &s = problem.shape;
    std::vector<int64_t> shape = kernel->shapeOf(name, problem.arguments());
    bool wide = name == "o" || name == "weights";
    std::vector<int64_t> full = {s.B, s.Hq, s.Nq};
    if (wide)
      full.push_back(shape.back());
    return full;
  }
  std::vector<Output> outputsOf(std::vector<std::vector<float>> &memory) {
    std::vector<Output> outputs;
    const auto &results = kernel->results();
    memory.resize(results.size());
    for (size_t n = 0; n < results.size(); ++n) {
      std::vector<int64_t> shape =
          kernel->shapeOf(results[n], problem.arguments());
      int64_t count = 1;
      for (int64_t extent : shape)
        count *= extent;
      memory[n].assign(count + 1, -77); // and one that nobody may touch
      outputs.push_back({results[n], Tensor(memory[n].data(), shape)});
      if (results[n] == "argmax")
        outputs.back().tensor.type = Type::i32;
    }
    return outputs;
  }
  void giveWorkspace(int64_t bytes) {
    memory.assign(bytes, '\xff'); // NaN, where it is not written
    c_->setWorkspace(memory.data(), bytes);
  }
  void expectSameBits() {
    for (size_t n = 0; n < expected.size(); ++n) {
      ASSERT_EQ(expected[n].size(), actual[n].size());
      EXPECT_EQ(0, std::memcmp(expected[n].data(), actual[n].data(),
                               4 * expected[n].size()))
          << kernel->results()[n];
    }
    for (auto &array : actual)
      std::fill(array.begin(), array.end(), -77);
  }

  std::unique_ptr<Kernel> kernel;
  Problem problem;
  std::unique_ptr<CKernel> c_;
  std::vector<std::vector<float>> expected, actual;
  std::vector<char> memory;
};

TEST_P(AheadOfTime, ComputesTheBitsOfTheJit) {
  int64_t bytes = c_->workspace();
  ASSERT_GE(bytes, 0) << c_->error(-bytes);
  giveWorkspace(bytes);
  int status = c_->run();
  ASSERT_EQ(status, 0) << c_->error(status);
  expectSameBits();

  // Ranges in any order on two threads, stage by stage.
  giveWorkspace(bytes);
  ASSERT_EQ(c_->prepare(), 0);
  Random random(3);
  for (int64_t stage = 0; stage < c_->stages(); ++stage) {
    int64_t items = c_->items(stage);
    if (stage + 1 < c_->stages() && items > 0) {
      EXPECT_EQ(c_->range(stage + 1, 0, 0), static_cast<int>(CError::Order));
    }
    int64_t middle = random.integer(0, items);
    int results[2];
    std::thread other([&] { results[0] = c_->range(stage, middle, items); });
    results[1] = 0;
    for (int64_t n = middle; n-- > 0;)
      results[1] |= c_->range(stage, n, n + 1);
    other.join();
    EXPECT_EQ(results[0], 0);
    EXPECT_EQ(results[1], 0);
  }
  expectSameBits();

  // In the smallest workspace, one (batch, key head) at a time.
  int64_t full = bytes;
  if (full == 0)
    return;
  int64_t low = 0, high = full;
  while (high - low > 1) {
    int64_t middle = (low + high) / 2;
    giveWorkspace(middle);
    (c_->prepare() ? low : high) = middle;
  }
  giveWorkspace(low);
  EXPECT_EQ(c_->run(), static_cast<int>(CError::Workspace));
  EXPECT_NE(c_->error(c_->run()).find("_workspace says how large"),
            std::string::npos);
  giveWorkspace(high);
  ASSERT_EQ(c_->prepare(), 0);
  const ProblemShape &s = problem.shape;
  if (s.B * s.Hk > 1 && high < full) {
    EXPECT_EQ(c_->stages(), s.B * s.Hk * c_->made.interface.stages);
  }
  ASSERT_EQ(c_->run(), 0);
  expectSameBits();
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, AheadOfTime,
    ::testing::Values(
        Case{"softmax", {2, 4, 2, 100, 130, 64, 64}},
        Case{"softmax", {1, 2, 2, 70, 65, 31, 7}, Layout::Transposed},
        Case{"softmax", {2, 3, 3, 5, 200, 16, 16}, Layout::Reversed},
        Case{"softmax", {2, 4, 2, 33, 40, 8, 24}, Layout::Padded},
        Case{"softmax", {2, 2, 1, 20, 20, 1, 1}, Layout::Broadcast},
        Case{"yat",
             {3, 2, 1, 120, 120, 32, 48},
             Layout::Packed,
             {120, 0, 77},
             {100, 3, 120}},
        Case{"alibi",
             {2, 4, 4, 10, 130, 16, 16},
             Layout::Packed,
             {130, 60},
             {},
             {100, 50}},
        Case{"softcap_sink",
             {2, 2, 2, 64, 64, 16, 16},
             Layout::Packed,
             {},
             {},
             {-3}},
        Case{"yat2m", {1, 4, 2, 50, 60, 16, 16}},
        Case{"t5", {1, 3, 3, 150, 160, 16, 16}},
        Case{"plm", {3, 2, 2, 90, 90, 16, 16}, Layout::Packed, {90, 10, 50}},
        Case{"block", {2, 4, 2, 70, 70, 24, 24}},
        Case{"gat", {2, 4, 2, 30, 100, 8, 16}},
        Case{"nlm", {1, 1, 1, 81, 81, 9, 3}},
        Case{"nadaraya_watson", {1, 1, 1, 40, 60, 3, 1}},
        Case{"yat_mlp", {1, 1, 1, 30, 100, 16, 8}},
        Case{"cosformer", {1, 2, 2, 70, 70, 8, 8}},
        Case{kUnitRows, {2, 4, 2, 50, 100, 16, 16}, Layout::Packed, {100, 31}},
        Case{kPerHead, {2, 4, 2, 70, 100, 16, 16}},
        Case{kAllResults, {2, 2, 1, 70, 80, 8, 8}},
        Case{"softmax", {0, 4, 2, 100, 130, 16, 16}},
        Case{"softmax", {2, 0, 0, 100, 130, 16, 16}},
        Case{"t5", {2, 2, 2, 10, 0, 16, 16}},
        Case{"plm", {2, 2, 2, 10, 0, 16, 16}},
        Case{"block", {1, 2, 2, 0, 0, 16, 16}}),
    [](const auto &info) {
      std::string spec = info.param.spec;
      if (spec.find('{') != std::string::npos) // "attention NAME("
        spec = spec.substr(10, spec.find('(') - 10);
      return spec + "_" + std::to_string(info.index);
    });

} // namespace
