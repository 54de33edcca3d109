//===- EmulatedExamples.cpp - examples in 16 bits, against float64 --------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Relative L2 errors of o against the interpreter on the rounded inputs:
// 4e-3 in bf16, 1e-3 in f16. ATTN_EMULATE_ALL=1 runs the whole matrix.
//
//===----------------------------------------------------------------------===//

#include "Compare.h"
#include "Problem.h"
#include "runtime/Arrays.h"
#include "runtime/Kernel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

using namespace attn;

namespace {

const int64_t counts[] = {1, 17, 64, 129, 257};
const int64_t lengths[] = {16, 64, 80, 128};
const Type types[] = {Type::bf16, Type::f16};

Kernel compileFor(const std::string &path, const char *target,
                  const char *architecture = "") {
  Options options;
  options.target = target;
  options.level = architecture;
  return Compiler(options).compileFile(path);
}

/// The rows of q, k and v in a type; the problem keeps what they became.
void roundRows(Problem &problem, const InputRoles &roles, Type type) {
  for (NamedArray &named : problem.arrays) {
    if (named.name != roles.query && named.name != roles.key &&
        named.name != roles.value)
      continue;
    Array rounded(type, named.array.shape);
    int64_t from = runtime::sizeOf(named.array.type),
            to = runtime::sizeOf(type);
    for (int64_t n = 0; n < rounded.size(); ++n)
      runtime::storeReal(
          type, rounded.bytes.data() + n * to,
          runtime::loadReal(named.array.type,
                            named.array.bytes.data() + n * from));
    named.array = std::move(rounded);
  }
}

std::vector<double> compute(const Kernel &kernel, const Problem &problem,
                            Type type) {
  std::vector<Argument> arguments = problem.arguments();
  std::vector<Array> arrays;
  std::vector<Output> outputs;
  size_t o = 0;
  for (const std::string &name : kernel.results())
    arrays.emplace_back(name == "o"        ? type
                        : name == "argmax" ? Type::i32
                                           : Type::f32,
                        kernel.shapeOf(name, arguments));
  for (size_t n = 0; n < arrays.size(); ++n) {
    if (kernel.results()[n] == "o")
      o = n;
    outputs.push_back({kernel.results()[n], arrays[n].view()});
  }
  kernel(arguments, outputs);
  std::vector<double> values(arrays[o].size());
  for (size_t n = 0; n < values.size(); ++n)
    values[n] = runtime::loadReal(type, arrays[o].bytes.data() +
                                            n * runtime::sizeOf(type));
  return values;
}

void check(const std::string &path, const char *architecture, Type type,
           int64_t count, int64_t length) {
  SCOPED_TRACE(std::string(architecture) + ", " + runtime::nameOf(type) +
               ", N = " + std::to_string(count) +
               ", D = " + std::to_string(length));
  Kernel emulated = compileFor(path, "cuda-emulator", architecture),
         reference = compileFor(path, "reference");
  const runtime::Signature &signature = emulated.getImpl().signature;
  Recipe recipe;
  recipe.shape = fitShape({1, 4, 2, count, count, length, length}, signature);
  recipe.seed = static_cast<uint64_t>(count + length);
  // A denominator that crosses zero has no digits to compare: positions stay
  // below M, where no weight is negative.
  if (signature.name == "cosformer")
    recipe.settings = {{"M", 600}};
  Problem problem = makeProblem(signature, recipe);
  roundRows(problem, rolesOf(signature), type);
  std::vector<double> expected = compute(reference, problem, Type::f64),
                      got = compute(emulated, problem, type);
  double difference = 0, norm = 1e-300;
  for (size_t n = 0; n < expected.size(); ++n) {
    difference += (got[n] - expected[n]) * (got[n] - expected[n]);
    norm += expected[n] * expected[n];
  }
  EXPECT_LE(std::sqrt(difference / norm), type == Type::bf16 ? 4e-3 : 1e-3);
}

class EmulatedExamples : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> examples() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(ATTN_EXAMPLES))
    if (entry.path().extension() == ".attn")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace

TEST_P(EmulatedExamples, InSixteenBits) {
  std::string path = std::string(ATTN_EXAMPLES) + "/" + GetParam() + ".attn";
  if (std::getenv("ATTN_EMULATE_ALL")) {
    for (const char *architecture : {"sm_80", "sm_90a"})
      for (Type type : types)
        for (int64_t count : counts)
          for (int64_t length : lengths)
            check(path, architecture, type, count, length);
    return;
  }
  // Two of the forty: over the examples every pair of values is met. And one
  // where four warps multiply together.
  std::vector<std::string> all = examples();
  size_t n = std::find(all.begin(), all.end(), GetParam()) - all.begin();
  check(path, "sm_80", types[n % 2], counts[n % 5], lengths[n / 5 % 4]);
  check(path, "sm_80", types[(n + 1) % 2], counts[(n + 2) % 5],
        lengths[(n / 5 + 1) % 4]);
  check(path, "sm_90a", types[n / 2 % 2], counts[(n + 1) % 5],
        lengths[(n / 5 + 2) % 4]);
}
INSTANTIATE_TEST_SUITE_P(All, EmulatedExamples, ::testing::ValuesIn(examples()),
                         [](const auto &info) { return info.param; });
