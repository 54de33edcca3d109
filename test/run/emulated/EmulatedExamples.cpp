//===- EmulatedExamples.cpp - examples of all types, against float64 ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Relative L2 errors of o against the interpreter on the rounded inputs:
// 4e-3 in bf16, 1e-3 in f16, 2e-5 in f32. ATTN_EMULATE_ALL=1 runs the whole
// matrix of examples, masks, types, numbers and lengths of rows, and prints the
// largest error of each and where it is.
//
//===----------------------------------------------------------------------===//

#include "Compare.h"
#include "Problem.h"
#include "runtime/Arrays.h"
#include "runtime/Kernel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <regex>
#include <sstream>

using namespace attn;

namespace {

const int64_t counts[] = {1, 17, 64, 129, 257};
const int64_t lengths[] = {16, 64, 80, 128};
const Type types[] = {Type::bf16, Type::f16, Type::f32};
/// The first is the example's own.
const char *const masks[] = {"", "none", "causal", "window(20, 3)"};

std::string read(const std::string &name) {
  std::ifstream stream(std::string(ATTN_EXAMPLES) + "/" + name + ".attn");
  std::ostringstream whole;
  whole << stream.rdbuf();
  return whole.str();
}

double boundOf(Type type) {
  return type == Type::bf16 ? 4e-3 : type == Type::f16 ? 1e-3 : 2e-5;
}

double largestOf(Type type) {
  return type == Type::f16 ? 65504 : std::numeric_limits<float>::max();
}

const std::regex maskLine("\n *mask *= *([^\n]*)");

/// The mask of an example.
std::string maskOf(const std::string &text) {
  std::smatch own;
  return std::regex_search(text, own, maskLine) ? own[1].str() : "none";
}

/// The example under another mask.
std::string withMask(std::string text, const std::string &mask) {
  if (mask.empty())
    return text;
  const std::string line = "\n  mask = " + mask;
  return std::regex_search(text, maskLine)
             ? std::regex_replace(text, maskLine, line)
             : text.replace(text.rfind('}'), 1, line.substr(1) + "\n}");
}

/// An example on both targets, and what it made of all it was asked.
class Example {
public:
  /// Throws where the example is none under that mask.
  Example(const std::string &name, const std::string &mask,
          const std::string &architecture)
      : text(withMask(read(name), mask)), reference(compileFor("reference")),
        emulated(compileFor("cuda-emulator", architecture)),
        architecture(architecture) {}
  ~Example() {
    for (const auto &[type, found] : reports)
      std::printf("%s, mask %s, %s, %s: %.2g of %.0e, N = %d, D = %d; %d "
                  "problems, %d with results beyond the type\n",
                  emulated.name().c_str(), maskOf(text).c_str(),
                  architecture.c_str(), runtime::nameOf(type), found.worst,
                  boundOf(type), static_cast<int>(found.count),
                  static_cast<int>(found.length), found.problems, found.beyond);
  }
  void check(Type type, int64_t count, int64_t length);

private:
  struct Report {
    double worst = 0;
    int64_t count = 0, length = 0; ///< where that is
    int problems = 0;
    int beyond = 0; ///< problems with results that the type does not hold
  };
  Kernel compileFor(const char *target,
                    const std::string &architecture = {}) const {
    Options options;
    options.target = target;
    options.level = architecture;
    return Compiler(options).compile(text);
  }

  std::string text;
  Kernel reference, emulated; ///< programs are kept for the next number of rows
  std::string architecture;
  std::map<Type, Report> reports;
};

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

void Example::check(Type type, int64_t count, int64_t length) {
  SCOPED_TRACE(architecture + ", " + runtime::nameOf(type) + ", mask " +
               maskOf(text) + ", N = " + std::to_string(count) +
               ", D = " + std::to_string(length));
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
  std::vector<double> expected = compute(reference, problem, Type::f64);
  Report &report = reports[type];
  ++report.problems;
  // A growing weight of keys to come, as retention has without its mask.
  for (double x : expected)
    if (std::fabs(x) > largestOf(type)) {
      ++report.beyond;
      return;
    }
  std::vector<double> got = compute(emulated, problem, type);
  double difference = 0, norm = 1e-300;
  for (size_t n = 0; n < expected.size(); ++n) {
    difference += (got[n] - expected[n]) * (got[n] - expected[n]);
    norm += expected[n] * expected[n];
  }
  double error = std::sqrt(difference / norm);
  EXPECT_LE(error, boundOf(type));
  if (error > report.worst || std::isnan(error)) {
    report.worst = error;
    report.count = count;
    report.length = length;
  }
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

TEST_P(EmulatedExamples, WithinBounds) {
  if (std::getenv("ATTN_EMULATE_ALL")) {
    for (const char *architecture : {"sm_80", "sm_90a"})
      for (const char *mask : masks) {
        if (mask == maskOf(read(GetParam())))
          continue; // its own: the same program
        std::optional<Example> example;
        try {
          example.emplace(GetParam(), mask, architecture);
        } catch (const Error &refusal) { // before there is a target
          ASSERT_STRNE(mask, "") << refusal.what();
          std::printf("%s is not there under mask %s: %s\n", GetParam().c_str(),
                      mask, refusal.what());
          continue;
        }
        for (Type type : types)
          for (int64_t length : lengths)
            for (int64_t count : counts)
              example->check(type, count, length);
      }
    return;
  }
  // Two of the forty in 16 bits: over the examples every pair of values is met.
  // And one where four warps multiply together. f32 is what attnc check
  // computes in.
  std::vector<std::string> all = examples();
  size_t n = std::find(all.begin(), all.end(), GetParam()) - all.begin();
  Example example(GetParam(), "", "sm_80");
  example.check(types[n % 2], counts[n % 5], lengths[n / 5 % 4]);
  example.check(types[(n + 1) % 2], counts[(n + 2) % 5],
                lengths[(n / 5 + 1) % 4]);
  Example(GetParam(), "", "sm_90a")
      .check(types[n / 2 % 2], counts[(n + 1) % 5], lengths[(n / 5 + 2) % 4]);
}
INSTANTIATE_TEST_SUITE_P(All, EmulatedExamples, ::testing::ValuesIn(examples()),
                         [](const auto &info) { return info.param; });
