//===- Checker.cpp - compiled code against the reference ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "Machine.h"
#include "Noise.h"
#include "Pieces.h"
#include "Progress.h"
#include "Visibility.h"
#include "lowering/Target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

using namespace attn;
using namespace attn::runtime;

static Options optionsFor(const CheckOptions &given, const std::string &target,
                          int threads) {
  Options options = given.options;
  options.target = target;
  options.threads = threads;
  if (target == "reference") { // has no levels, and computes as it is written
    options.level.clear();
    options.schedule.clear();
  }
  return options;
}

static Kernel compileFor(const CheckOptions &given, const std::string &target) {
  return Compiler(optionsFor(given, target, 1))
      .compileFile(given.spec, given.specName);
}

Checker::Checker(const CheckOptions &given)
    : given(given), compiled(compileFor(given, given.options.target)),
      reference(compileFor(given, "reference")),
      onTwo(compiled.getImpl().compilation,
            optionsFor(given, given.options.target, 2)),
      signature(reference.getImpl().signature),
      settings(parseSettings(given.set)),
      exact(exactKernel(given.spec, given.specName, given.options)) {}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// A row-major copy.
static Array rowMajorOf(const Array &array) {
  Problem one;
  one.arrays.push_back({"", array});
  return packed(one).arrays[0].array;
}

Results Checker::compute(const Kernel &kernel,
                         const std::vector<Argument> &arguments, bool strided,
                         const Runner &runner) {
  Kernel::Impl &impl = kernel.getImpl();
  std::vector<std::vector<int64_t>> shapes = impl.shapesOf(arguments);
  Results results;
  std::vector<Output> outputs;
  for (size_t n = 0; n < signature.results.size(); ++n) {
    const std::string &name = signature.results[n];
    Type type = name == "argmax"       ? Type::i32
                : impl.rules.reference ? Type::f64
                : name == "o"          ? given.type
                                       : Type::f32;
    Array array(type, shapes[n]);
    if (strided && shapes[n].size() == 4 &&
        !impl.rules.reference) // [B, N, H, n]
      array.strides = {shapes[n][1] * shapes[n][2] * shapes[n][3], shapes[n][3],
                       shapes[n][1] * shapes[n][3], 1};
    // What nobody writes must show.
    std::memset(array.bytes.data(), 0xff, array.bytes.size());
    outputs.push_back(
        {name, results.emplace(name, std::move(array)).first->second.view()});
  }
  Runner run = runner ? runner : [&](const Prepared &made) { impl.run(made); };
  if (impl.rules.recurrent)
    runInPieces(impl, arguments, outputs, run);
  else
    run(impl.prepare(arguments, outputs));
  for (auto &[name, array] : results)
    array = rowMajorOf(array);
  if (isRecurrent())
    blankPastEnds(results, arguments, rolesOf(signature));
  return results;
}

void Checker::fail(const std::string &what) {
  ++group->failures;
  failures.push_back(context + ": " + what);
}

bool Checker::sameBits(const Results &a, const Results &b,
                       const std::string &what) {
  for (const auto &[name, array] : a) {
    const Array &other = b.at(name);
    if (array.bytes == other.bytes)
      continue;
    int64_t size = sizeOf(array.type), n = 0;
    while (std::memcmp(array.bytes.data() + n * size,
                       other.bytes.data() + n * size, size) == 0)
      ++n;
    fail(fmt::format("{} changes the bits of {}{} from {:.9g} to {:.9g}", what,
                     name, indexText(array.shape, n), elementOf(array, n),
                     elementOf(other, n)));
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// The checks
//===----------------------------------------------------------------------===//

void Checker::compareWithReference(const CheckCase &made,
                                   const Problem &problem) {
  Results got =
      compute(compiled, problem, made.recipe.layout != Layout::Packed);
  Results expected = compute(reference, problem);
  if (exact)
    approximation.add(made.group, expected, compute(*exact, problem));
  std::vector<Results> moved;
  Noise noise = compiled.getImpl().noiseOf(given.type);
  for (uint64_t seed : {1, 2}) {
    noise.seed = made.recipe.seed + seed;
    moved.push_back(compute(
        reference, perturbed(signature, problem, noise.seed), false,
        [&](const Prepared &prepared) { runWithNoise(prepared, noise); }));
  }
  Results rounded;
  bool roundsWeights = compiled.getImpl().roundsWeights(given.type);
  if (roundsWeights) {
    Noise weights;
    weights.weightDigits = given.type == Type::bf16 ? kBf16Digits : kF16Digits;
    rounded = compute(reference, problem, false, [&](const Prepared &prepared) {
      runWithNoise(prepared, weights);
    });
  }
  for (const std::string &name : signature.results) {
    std::vector<const Array *> others;
    for (const Results &results : moved)
      others.push_back(&results.at(name));
    Comparison result =
        compare(name, got.at(name), expected.at(name), others,
                compiled.getImpl().roundsWeights(got.at(name).type)
                    ? normBound(got.at(name).type)
                    : 0,
                roundsWeights ? &rounded.at(name) : nullptr);
    if (name == "argmax" && result.ratio() > 1)
      // Near ties may go either way: they do in the reference, too.
      for (const Array *other : others)
        if (other->bytes != expected.at(name).bytes)
          result = Comparison();
    group->illConditioned += result.illConditioned;
    Comparison &worst = group->worst[name];
    if (result.ratio() >= worst.ratio())
      worst = result;
    if (result.ratio() > 1)
      fail(fmt::format("{}{}: error {:.2g}, bound {:.2g}", name, result.place,
                       result.error, result.bound));
  }
}

void Checker::checkHidden(const CheckCase &made, const Problem &problem) {
  Problem spoiled = packed(problem);
  Random random(made.recipe.seed + 7);
  std::vector<std::vector<char>> keys = spoilKeys(signature, spoiled, random);
  Results before = compute(compiled, problem),
          after = compute(compiled, spoiled);
  bool shared =
      rolesOf(signature).queryIsKey() || rolesOf(signature).queryIsValue();
  // Rows that see a changed key may change; they are made equal before
  // comparing.
  std::vector<Argument> arguments = problem.arguments();
  Visibility visibility(reference, arguments);
  for (int64_t b = 0; b < visibility.batch(); ++b)
    for (int64_t h = 0; h < visibility.queryHeads(); ++h)
      visibility.forEachRow(
          b, h, [&](int64_t i, const std::vector<char> &flags) {
            bool sees = shared && keys[b][i];
            for (size_t j = 0; j < flags.size() && !sees; ++j)
              sees = flags[j] && keys[b][j];
            if (!sees)
              return;
            for (auto &[name, array] : after) {
              int64_t rows = visibility.batch() * visibility.queryHeads() *
                             visibility.queries();
              int64_t size = array.bytes.size() / rows;
              int64_t at =
                  ((b * visibility.queryHeads() + h) * visibility.queries() +
                   i) *
                  size;
              std::memcpy(array.bytes.data() + at,
                          before.at(name).bytes.data() + at, size);
            }
          });
  sameBits(before, after, "changing keys and values that the row cannot see");
}

void Checker::checkBits(const CheckCase &made, const Problem &problem) {
  Results first = compute(compiled, problem);
  if (!sameBits(first,
                compute(compiled, problem, false,
                        [&](const Prepared &prepared) { onTwo.run(prepared); }),
                "a second thread"))
    return;
  if (made.recipe.layout != Layout::Packed &&
      !sameBits(first, compute(compiled, packed(problem)),
                "packing the arrays"))
    return;
  if (problem.shape.B < 2)
    return;
  // Sequence 0 alone, which is also what is left when the others change.
  Results alone = compute(compiled, extractSequence(signature, problem, 0));
  for (auto &[name, array] : first) {
    array.shape[0] = 1;
    array.bytes.resize(array.size() * sizeOf(array.type));
  }
  sameBits(first, alone, "taking the sequence out of its batch");
}

void Checker::runCase(size_t number, const CheckCase &made) {
  if (groups.empty() || groups.back().name != made.group)
    groups.push_back({made.group, 0, 0, 0, {}});
  group = &groups.back();
  ++group->cases;
  context = fmt::format("case {} ({})", number, made.describe());
  try {
    Problem problem = makeProblem(signature, made.recipe);
    compareWithReference(made, problem);
    if (made.hidden)
      checkHidden(made, problem);
    if (made.bits)
      checkBits(made, problem);
  } catch (const Error &error) {
    throw Error(fmt::format("{}\n  in {}", error.what(), context));
  }
}

/// The row lengths that the kernel takes, found by asking.
std::vector<RowLengths> Checker::acceptedLengths() {
  std::vector<RowLengths> accepted;
  std::string refusal;
  for (const RowLengths &lengths : candidateLengths(signature)) {
    Recipe recipe;
    recipe.settings = settings;
    recipe.shape = fitShape({1, 1, 1, 1, 1, lengths.D, lengths.Dv}, signature);
    recipe.sizes = lengths.sizes;
    recipe.plainParameters = true;
    Problem problem = makeProblem(signature, recipe);
    try {
      reference.getImpl().shapesOf(problem.arguments());
    } catch (const Error &error) {
      if (refusal.empty())
        refusal = error.what();
      continue;
    }
    bool known = std::any_of(
        accepted.begin(), accepted.end(), [&](const RowLengths &other) {
          return other.D == lengths.D && other.Dv == lengths.Dv &&
                 other.sizes == lengths.sizes;
        });
    if (!known && accepted.size() < 8)
      accepted.push_back(lengths);
  }
  if (accepted.empty())
    throw Error(refusal);
  return accepted;
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

void Checker::printTable() const {
  fmt::print("{:<12} {:>5}", "class", "cases");
  for (const std::string &name : signature.results)
    fmt::print("  {:>17}", name);
  fmt::print("\n");
  int unpromised = 0;
  for (const Group &group : groups) {
    unpromised += group.illConditioned;
    fmt::print("{:<12} {:>5}", group.name, group.cases);
    for (const std::string &name : signature.results) {
      auto it = group.worst.find(name);
      if (it == group.worst.end() || it->second.bound == 0)
        fmt::print("  {:>17}", "-");
      else if (it->second.error == 0)
        fmt::print("  {:>17}", "exact");
      else
        fmt::print("  {:>17}", fmt::format("{:.1e} / {:.0e}", it->second.error,
                                           it->second.bound));
    }
    fmt::print("{}\n", group.failures
                           ? fmt::format("  {} FAILED", group.failures)
                           : "");
  }
  fmt::print("worst error / its bound; relative, lse absolute above 1\n");
  if (exact)
    approximation.print();
  if (unpromised)
    fmt::print("{} results are ill-conditioned in part: float32 inputs fix no "
               "digit there\n",
               unpromised);
}

int Checker::run() {
  double begin = now();
  std::vector<CheckCase> cases =
      makeCases(signature, acceptedLengths(), given.seed);
  size_t step =
      given.most > 0
          ? std::max<size_t>(1, (cases.size() + given.most - 1) / given.most)
          : 1;
  if (given.only >= static_cast<int64_t>(cases.size()))
    throw UsageError(fmt::format("--case {}: there are cases 0 to {}",
                                 given.only, cases.size() - 1));
  Progress progress;
  size_t done = 0;
  for (size_t n = 0; n < cases.size(); ++n) {
    if (given.only >= 0 ? static_cast<int64_t>(n) != given.only : n % step != 0)
      continue;
    progress.show(fmt::format("check {}: case {} of {}", compiled.name(), n,
                              cases.size()));
    cases[n].recipe.settings = settings;
    cases[n].recipe.type = given.type;
    if (isRecurrent())
      makeTokens(cases[n].recipe);
    runCase(n, cases[n]);
    ++done;
  }
  progress.clear();
  if (given.only >= 0)
    fmt::print("case {}: {}\n", given.only, cases[given.only].describe());
  fmt::print("{}: {} cases, {} ({}) against reference, seed {}, {:.1f} s\n",
             compiled.name(), done, given.options.target,
             compiled.getImpl().levelName(), given.seed, now() - begin);
  printTable();
  for (const std::string &failure : failures)
    fmt::print(stderr, "{}: error: {}\n", given.spec, failure);
  if (!failures.empty()) {
    fmt::print(stderr,
               "one case alone: attnc check {}{} --seed {} --case NUMBER\n",
               given.spec,
               given.specName.empty() ? "" : " --spec-name " + given.specName,
               given.seed);
    return 1;
  }
  return 0;
}

int Checker::runGiven() {
  GivenInputs inputs(given.in);
  std::vector<Argument> arguments = inputs.arguments();
  Results got = compute(compiled, arguments),
          expected = compute(reference, arguments);
  fmt::print("{}: {} ({}) against reference on the arrays given, "
             "|difference| / |expected|\n",
             compiled.name(), given.options.target,
             compiled.getImpl().levelName());
  // Rounded storage is not what is asked about here: the bounds are f32's.
  constexpr double bound = 1e-4;
  bool passed = true;
  for (const std::string &name : signature.results) {
    double error = relativeError(got.at(name), expected.at(name));
    passed &= name == "argmax" || !(error > bound);
    fmt::print("{:<8} {:.2g}\n", name, error);
  }
  if (exact) {
    approximation.add("given data", expected, compute(*exact, arguments));
    approximation.print();
  }
  if (!passed)
    fmt::print(stderr, "{}: error: above {:g}\n", given.spec, bound);
  return passed ? 0 : 1;
}
