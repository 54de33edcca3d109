//===- Run.cpp - attnc run ------------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LevelOption.h"
#include "PendingFile.h"
#include "Problem.h"
#include "Progress.h"
#include "ScheduleOption.h"
#include "runtime/Compile.h"
#include "runtime/Kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace attn;

namespace {
struct RunOptions {
  std::string spec, specName;
  std::vector<std::string> in, out;
  Options options;
};
} // namespace

/// The type that a result is stored with: o has that of the query's input, the
/// reference keeps float64 where it was given that.
static Type typeOf(const std::string &result, const GivenInputs &inputs,
                   const std::string &query, bool reference) {
  if (result == "argmax")
    return Type::i32;
  const Array *array = inputs.find(query);
  Type type = array ? array->type : Type::f32;
  if (result == "o")
    return type;
  return reference && type == Type::f64 ? Type::f64 : Type::f32;
}

/// A line of figures for a result that goes to no file.
static void summarise(const std::string &name, const Array &array) {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  int64_t nan = 0;
  for (int64_t n = 0; n < array.size(); ++n) {
    double x = array.real(n);
    nan += std::isnan(x);
    low = std::min(low, x);
    high = std::max(high, x);
    sum += x;
  }
  fmt::print("{} ({}) {}", name, fmt::join(array.shape, ", "),
             nameOf(array.type));
  if (nan)
    fmt::print(": {} of {} are NaN", nan, array.size());
  else if (array.size())
    fmt::print(": min {:.6g}, mean {:.6g}, max {:.6g}", low, sum / array.size(),
               high);
  fmt::print("\n");
}

/// What files of states say: a state means something to its own kernel alone.
static const std::string kStateOf = "attnc state of ";

static std::string stateNote(Kernel &kernel) {
  return fmt::format("{}{:.64} {:016x}", kStateOf, kernel.name(),
                     kernel.getImpl().compilation->fingerprint());
}

/// Refuses the file of another kernel's state. Files that do not say whose they
/// are, of other programs, are taken on trust.
static void checkState(const std::string &note, const std::string &expected) {
  if (note.rfind(kStateOf, 0) != 0 ||
      note.substr(note.rfind(' ')) == expected.substr(expected.rfind(' ')))
    return;
  auto nameIn = [](const std::string &text) {
    return text.substr(kStateOf.size(), text.rfind(' ') - kStateOf.size());
  };
  throw Error(fmt::format(
      "'state' was given by another kernel: its file says {}, whose rows, "
      "kappa, mask, parameters or results are not those of this {}",
      nameIn(note), nameIn(expected)));
}

static int run(const RunOptions &given) {
  checkTarget(given.options.target);
  checkThreads(given.options.threads);
  // Everything about the command line first, then the spec, then the arrays.
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<GivenOutput> places;
  for (const std::string &text : given.out) {
    auto [name, file] = splitAssignment(text, "--out");
    for (const auto &[other, otherFile] : files)
      if (other == name)
        throw UsageError(fmt::format("--out {}: given twice", name));
    files.emplace_back(name, file);
    places.push_back({"--out " + name, file});
  }
  checkOutputs(places, given.spec);
  Kernel kernel =
      Compiler(given.options).compileFile(given.spec, given.specName);
  const std::vector<std::string> &results = kernel.results();
  for (const auto &[name, file] : files)
    if (std::find(results.begin(), results.end(), name) == results.end())
      throw Error(fmt::format("there is no output '{}'; {} returns {}", name,
                              kernel.name(), fmt::join(results, ", ")));
  GivenInputs inputs(given.in);
  std::vector<Argument> arguments = inputs.arguments();
  bool isRecurrent = given.options.schedule == runtime::kRecurrent;
  std::string note = isRecurrent ? stateNote(kernel) : std::string();
  if (const Array *state = inputs.find("state"); state && isRecurrent)
    checkState(state->note, note);

  Kernel::Impl &impl = kernel.getImpl();
  std::vector<std::vector<int64_t>> shapes = impl.shapesOf(arguments);
  std::string query = rolesOf(impl.signature).query;
  std::vector<Array> arrays;
  for (size_t n = 0; n < results.size(); ++n)
    arrays.emplace_back(
        typeOf(results[n], inputs, query, given.options.target == "reference"),
        shapes[n]);
  if (isRecurrent) // behind the results of the spec
    arrays.back().note = note;
  std::vector<Output> outputs;
  for (size_t n = 0; n < results.size(); ++n)
    outputs.push_back({results[n], arrays[n].view()});
  // Opened before the work, so that a wrong place is known at once.
  std::vector<PendingFile> pending;
  for (const auto &[name, file] : files)
    pending.emplace_back(file);

  Progress progress;
  progress.show(fmt::format("run {}: computing", kernel.name()));
  kernel(arguments, outputs);
  progress.clear();

  auto arrayOf = [&](const std::string &name) -> const Array & {
    return arrays[std::find(results.begin(), results.end(), name) -
                  results.begin()];
  };
  for (size_t n = 0; n < files.size(); ++n)
    pending[n].write(formatNpy(arrayOf(files[n].first)));
  commitAll(pending);
  if (files.empty())
    for (size_t n = 0; n < results.size(); ++n)
      summarise(results[n], arrays[n]);
  return 0;
}

void attn::addRun(CLI::App &app, Action &action) {
  CLI::App *verb =
      app.add_subcommand("run", "Run a spec on arrays in .npy files");
  auto given = std::make_shared<RunOptions>();
  verb->add_option("SPEC", given->spec, "a .attn or .mlir file")->required();
  verb->add_option(
          "--in", given->in,
          "NAME=FILE.npy or NAME=NUMBER: an input, a parameter, key_lengths, "
          "query_lengths, offset, or state (--schedule=recurrent; the file of "
          "another kernel's is refused)")
      ->allow_extra_args(false);
  verb->add_option("--out", given->out,
                   "NAME=FILE.npy: where a result goes; without any, figures "
                   "are printed")
      ->allow_extra_args(false);
  addGpuTargetOptions(
      *verb, given->options,
      "cpu; cuda: a GPU; cuda-emulator: the GPU's kernel on the "
      "CPU; or reference: float64, plain and slow");
  verb->add_option("--threads", given->options.threads,
                   "threads; 0: one a core")
      ->capture_default_str();
  addLevelOption(*verb, given->options.level);
  addFastMathOption(*verb, given->options.fastMath);
  addScheduleOption(*verb, given->options.schedule);
  verb->add_option("--spec-name", given->specName,
                   "the spec, where the file holds several");
  verb->footer(
      "Arrays are [N, n], [B, N, n] or [B, H, N, n]; a number stands for a "
      "parameter "
      "that is the\nsame everywhere.\n\nExample:\n"
      "  attnc run examples/yat.attn --in q=q.npy --in k=k.npy --in v=v.npy "
      "\\\n"
      "      --in b_raw=0.3 --in eps_raw=-2 --out o=o.npy --out mass=mass.npy");
  verb->callback([given, verb, &action] {
    action = [given, verb] {
      checkTargetOptions(*verb, given->options.target);
      return run(*given);
    };
  });
}
