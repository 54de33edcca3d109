//===- Bench.cpp - attnc bench --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LevelOption.h"
#include "Machine.h"
#include "Meaning.h"
#include "Problem.h"
#include "Progress.h"
#include "ScheduleOption.h"
#include "TypeOption.h"
#include "Visibility.h"
#include "runtime/Compile.h"
#include "runtime/Kernel.h"
#include "runtime/cuda/LaunchArguments.h"

#include <fmt/format.h>

#include <algorithm>

using namespace attn;
using namespace attn::runtime;

namespace {
struct BenchOptions {
  std::vector<std::string> specs, set;
  std::string shape = "1,8,8,2048,2048,64,64", data = "normal";
  Type type = Type::f32;
  std::string format = "text", specName;
  int64_t repeat = 0;
  double seconds = 2;
  Options options;
};

/// One spec with its arguments, results and times.
struct Entry {
  std::string name;
  Kernel kernel;
  Problem problem;
  std::vector<Array> results;
  Prepared prepared;
  std::unique_ptr<Kernel::Impl> alone; ///< runs it on one thread
  double flops = 0, workspace = 0, compile = 0;
  std::vector<double> seconds, secondsAlone; ///< on all threads, and on one

  explicit Entry(Kernel kernel)
      : name(kernel.name()), kernel(std::move(kernel)) {}
};
} // namespace

static double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

static RowData dataOf(const std::string &name) {
  if (name == "normal")
    return RowData::Normal;
  if (name == "cluster")
    return RowData::Cluster;
  throw UsageError(
      fmt::format("--data {}: 'normal' or 'cluster' is expected", name));
}

static bool hasParameter(const Signature &signature, const std::string &name) {
  return std::any_of(signature.formals.begin(), signature.formals.end(),
                     [&](const Formal &formal) {
                       return formal.kind == FormalKind::Param &&
                              formal.name == name;
                     });
}

/// Compiles a spec and makes its arguments.
static Entry prepare(const BenchOptions &given, const std::string &spec,
                     const ProblemShape &shape, Progress &progress) {
  double begin = now();
  Entry entry(Compiler(given.options).compileFile(spec, given.specName));
  double parse = now() - begin;
  Kernel::Impl &impl = entry.kernel.getImpl();
  Recipe recipe;
  recipe.shape = fitShape(shape, impl.signature);
  recipe.data = dataOf(given.data);
  recipe.type = given.type;
  for (const auto &[name, value] : parseSettings(given.set))
    if (hasParameter(impl.signature, name))
      recipe.settings[name] = value;
  recipe.plainParameters = true;
  progress.show(fmt::format("bench {}: making inputs", entry.name));
  entry.problem = makeProblem(impl.signature, recipe);
  std::vector<Argument> arguments = entry.problem.arguments();

  std::vector<std::vector<int64_t>> shapes = impl.shapesOf(arguments);
  std::vector<Output> outputs;
  for (size_t n = 0; n < shapes.size(); ++n) {
    const std::string &name = impl.signature.results[n];
    entry.results.emplace_back(name == "argmax" ? Type::i32
                               : name == "o"    ? given.type
                                                : Type::f32,
                               shapes[n]);
    outputs.push_back({name, entry.results.back().view()});
  }
  progress.show(fmt::format("bench {}: compiling", entry.name));
  entry.prepared = impl.prepare(arguments, outputs);
  Options single = given.options;
  single.threads = 1;
  entry.alone = std::make_unique<Kernel::Impl>(impl.compilation, single);
  entry.compile = parse * 1e3 + entry.prepared.compileMilliseconds;

  const ProblemShape &s = recipe.shape;
  if (given.options.schedule == "linear") {
    auto guard = impl.compilation->lock();
    OrderPlan plan = planOf(*impl.compilation->schedule(
        entry.prepared.binding.sizes, impl.getLevel()));
    entry.flops = 2.0 * static_cast<double>(s.B * s.Hq) *
                  static_cast<double>(s.Nq + s.Nk) *
                  static_cast<double>(plan.linearRow);
    return entry;
  }
  Visibility visibility(entry.kernel, arguments);
  double pairs = visibility.count([&](double fraction) {
    progress.show(fmt::format("bench {}: counting visible pairs, {:.0f}%",
                              entry.name, 100 * fraction));
  });
  entry.flops = 2 * pairs * (s.D + s.Dv);
  return entry;
}

static void print(const BenchOptions &given, const Entry &entry, double peak) {
  double seconds = median(entry.seconds);
  double gflops = entry.flops / seconds * 1e-9;
  const ProblemShape &shape = entry.problem.shape;
  if (given.format == "json") {
    fmt::print("{{\"spec\": \"{}\", \"target\": \"{}\", \"type\": \"{}\", "
               "\"shape\": [{}], "
               "\"threads\": {}, \"ms\": {:.4f}, \"gflops\": {:.3f}, "
               "\"peak_gflops\": {:.3f}, "
               "\"fraction\": {:.4f}, \"workspace_mib\": {:.3f}, "
               "\"compile_ms\": {:.1f}}}\n",
               entry.name, given.options.target, typeName(given.type),
               shape.toString(), given.options.threads, seconds * 1e3, gflops,
               peak, gflops / peak, entry.workspace / (1 << 20), entry.compile);
    return;
  }
  fmt::print("{:<16} {:>10.3f} {:>9.1f} {:>8.3f} {:>10.2f} {:>11.1f}\n",
             entry.name, seconds * 1e3, gflops, gflops / peak,
             entry.workspace / (1 << 20), entry.compile);
}

/// On a GPU: the kernels alone, between events of the device, and no peak to
/// compare with.
static int runOnGpu(const BenchOptions &given, std::vector<Entry> &entries,
                    const ProblemShape &shape, Progress &progress) {
  int64_t repetitions = given.repeat ? given.repeat : 50;
  for (Entry &entry : entries) {
    progress.show(fmt::format("bench {}", entry.name));
    entry.seconds =
        entry.prepared.gpu->time(entry.prepared.binding, repetitions);
  }
  progress.clear();
  if (given.format == "text")
    fmt::print("cuda; shape B,Hq,Hk,Nq,Nk,D,Dv = {}, {} rows, {} repetitions\n"
               "{:<16} {:>10} {:>9} {:>11}\n",
               shape.toString(), given.data, repetitions, "spec", "ms",
               "TFLOP/s", "compile ms");
  for (const Entry &entry : entries) {
    double seconds = median(entry.seconds);
    double tflops = entry.flops / seconds * 1e-12;
    if (given.format == "text")
      fmt::print("{:<16} {:>10.4f} {:>9.2f} {:>11.1f}\n", entry.name,
                 seconds * 1e3, tflops, entry.compile);
    else
      fmt::print("{{\"spec\": \"{}\", \"target\": \"cuda\", \"ms\": {:.4f}, "
                 "\"tflops\": {:.2f}, \"compile_ms\": {:.1f}}}\n",
                 entry.name, seconds * 1e3, tflops, entry.compile);
  }
  return 0;
}

static int run(BenchOptions given) {
  ProblemShape shape = parseShape(given.shape);
  checkThreads(given.options.threads);
  checkTarget(given.options.target);
  if (given.options.target == "cuda-emulator")
    throw UsageError("--target cuda-emulator: its time says nothing of a "
                     "GPU's; 'cpu', 'cuda' or 'reference' is expected");
  dataOf(given.data);
  if (given.format != "text" && given.format != "json")
    throw UsageError(
        fmt::format("--format {}: 'text' or 'json' is expected", given.format));
  int threads = Threads(given.options.threads).count();
  given.options.threads = threads;
  bool reference = given.options.target == "reference";

  Progress progress;
  std::vector<Entry> entries;
  entries.reserve(given.specs.size());
  for (const std::string &spec : given.specs)
    entries.push_back(prepare(given, spec, shape, progress));
  for (const auto &setting : parseSettings(given.set))
    if (std::none_of(entries.begin(), entries.end(), [&](const Entry &entry) {
          return hasParameter(entry.kernel.getImpl().signature, setting.first);
        }))
      throw UsageError(
          fmt::format("--set {}: no spec has such a parameter", setting.first));

  if (given.options.target == "cuda")
    return runOnGpu(given, entries, shape, progress);

  auto execute = [](const Entry &entry, const Kernel::Impl &runner) {
    double begin = now();
    runner.run(entry.prepared);
    return now() - begin;
  };
  // The first run of each is not counted: it touches the outputs, and tells how
  // many repetitions there is time for. The second is watched for memory.
  double round = 0;
  for (Entry &entry : entries) {
    progress.show(fmt::format("bench {}: first run", entry.name));
    for (Array &array : entry.results)
      std::fill(array.bytes.begin(), array.bytes.end(), std::byte(1));
    measurePeak(threads,
                1e-3); // the threads' own memory exists from here on
    int64_t before = resetPeakMemory();
    round += execute(entry, entry.kernel.getImpl());
    entry.workspace = std::max<int64_t>(peakMemory() - before, 0);
  }
  bool gain = threads > 1 && !reference;
  int64_t repetitions = given.repeat;
  if (repetitions == 0)
    repetitions = std::clamp<int64_t>(
        given.seconds * entries.size() /
            std::max(round * (gain ? threads + 1 : 1), 1e-6),
        5, 1000);

  std::vector<double> peaks, peaksAlone;
  for (int64_t n = 0; n < repetitions; ++n) {
    for (Entry &entry : entries) {
      progress.show(
          fmt::format("bench {}: {} of {}", entry.name, n + 1, repetitions));
      peaks.push_back(measurePeak(threads));
      entry.seconds.push_back(execute(entry, entry.kernel.getImpl()));
      if (gain) {
        peaksAlone.push_back(measurePeak(1));
        entry.secondsAlone.push_back(execute(entry, *entry.alone));
      }
    }
  }
  progress.clear();

  double peak = median(peaks);
  if (given.format == "text")
    fmt::print(
        "{}, {} thread{}, FMA peak {:.1f} GFLOP/s ({}); shape "
        "B,Hq,Hk,Nq,Nk,D,Dv = {}, "
        "{} rows, {} repetitions\n{:<16} {:>10} {:>9} {:>8} {:>10} {:>11}\n",
        machineName(), threads, threads > 1 ? "s" : "", peak,
        peakInstructions(), shape.toString(), given.data, repetitions, "spec",
        "ms", "GFLOP/s", "of peak", "MiB above", "compile ms");
  for (const Entry &entry : entries)
    print(given, entry, peak);
  if (gain) {
    double loop = peak / median(peaksAlone);
    // In JSON the objects have fixed keys: this line goes beside them.
    FILE *stream = given.format == "json" ? stderr : stdout;
    for (const Entry &entry : entries) {
      double speedup = median(entry.secondsAlone) / median(entry.seconds);
      fmt::print(stream,
                 "{}: {} threads gain {:.3f}, the bare FMA loop {:.3f}: {:.3f} "
                 "of it\n",
                 entry.name, threads, speedup, loop, speedup / loop);
    }
  }
  return 0;
}

void attn::addBench(CLI::App &app, Action &action) {
  CLI::App *verb = app.add_subcommand(
      "bench", "Time specs against the peak of this machine");
  auto given = std::make_shared<BenchOptions>();
  given->options.threads = 1;
  given->options.cache = "off"; // the time of compiling is one that it tells
  verb->add_option("SPEC", given->specs, ".attn or .mlir files, timed in turns")
      ->required();
  verb->add_option("--shape", given->shape, "B,Hq,Hk,Nq,Nk,D,Dv")
      ->capture_default_str();
  addTypeOption(*verb, given->type);
  verb->add_option("--threads", given->options.threads,
                   "threads; 0: one a core")
      ->capture_default_str();
  verb->add_option(
          "--data", given->data,
          "normal: rows from N(0, 1); cluster: 16 centres, and 0.01 N(0, 1)")
      ->capture_default_str();
  verb->add_option("--set", given->set, "NAME=NUMBER: a parameter's value")
      ->allow_extra_args(false);
  verb->add_option("--repeat", given->repeat,
                   "repetitions; 0: as --seconds allows")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(0), int64_t(1000000)));
  verb->add_option("--seconds", given->seconds, "time for each spec")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  verb->add_option("--format", given->format,
                   "text, or json: one object a line")
      ->capture_default_str();
  verb->add_option("--target", given->options.target, "cpu, cuda or reference")
      ->capture_default_str();
  addLevelOption(*verb, given->options.level);
  addFastMathOption(*verb, given->options.fastMath);
  addScheduleOption(*verb, given->options.schedule);
  verb->add_option("--spec-name", given->specName,
                   "the spec, where a file holds several");
  verb->footer(
      "GFLOP/s counts 2 (D + Dv) operations for each visible pair, or, "
      "with --schedule=linear,\n2 R (Dv + 1) for each row of q and of "
      "k, R channels. The peak is that of "
      "fused\nmultiply-adds in registers, measured between the "
      "repetitions on as many "
      "threads. Memory is the\npeak above inputs and outputs. Times "
      "are medians.\n\n"
      "Example:\n"
      "  attnc bench examples/softmax.attn examples/yat.attn --shape "
      "1,8,8,2048,2048,64,64 "
      "\\\n      --threads 1 --data normal");
  verb->callback(
      [given, &action] { action = [given] { return run(*given); }; });
}
