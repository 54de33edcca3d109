//===- Bench.cpp - attnc bench --------------------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchTables.h"
#include "LevelOption.h"
#include "Machine.h"
#include "ScheduleOption.h"
#include "TypeOption.h"
#include "runtime/cuda/LaunchArguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::runtime;

namespace {
struct BenchOptions {
  std::vector<std::string> specs, set;
  std::string shape = "1,8,8,2048,2048,64,64", data = "normal";
  Type type = Type::f32;
  std::string format = "text", specName, compare, only, clock = "wall";
  int64_t repeat = 0;
  double seconds = 2;
  bool suite = false, profile = false;
  std::optional<uint64_t> grid;
  Options options;
};
} // namespace

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

static BenchSetting settingOf(const BenchOptions &given) {
  BenchSetting setting;
  setting.options = given.options;
  setting.shape = parseShape(given.shape);
  setting.type = given.type;
  setting.data = dataOf(given.data);
  setting.settings = parseSettings(given.set);
  return setting;
}

static void print(const BenchOptions &given, const BenchEntry &entry,
                  double peak) {
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

/// The modes that print tables.
static int runTables(const BenchOptions &given) {
  TableOptions table;
  table.json = given.format == "json";
  table.seconds = given.seconds;
  table.repeat = given.repeat;
  table.compare = given.compare;
  table.only = given.only;
  table.oneThread = given.clock == "cpu";
  table.options = given.options;
  if (given.suite + given.grid.has_value() + given.profile > 1)
    throw UsageError("--suite, --grid and --profile are tables of their own");
  if (given.options.target != "cpu")
    throw UsageError("--suite, --grid and --profile time the cpu target");
  if (given.profile) {
    if (given.specs.size() != 1)
      throw UsageError("--profile looks into one SPEC");
    return runProfile(table, given.specs[0], given.specName, settingOf(given));
  }
  if (!given.specs.empty())
    throw UsageError("--suite and --grid bring their own specs");
  return given.suite ? runSuite(table) : runGrid(table, *given.grid);
}

/// On a GPU: the kernels alone, between events of the device, and no peak to
/// compare with.
static int runOnGpu(const BenchOptions &given, std::vector<BenchEntry> &entries,
                    const ProblemShape &shape, Progress &progress) {
  int64_t repetitions = given.repeat ? given.repeat : 50;
  for (BenchEntry &entry : entries) {
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
  for (const BenchEntry &entry : entries) {
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
  if (std::isnan(given.seconds))
    throw UsageError("--seconds nan: a time is expected");
  if (given.clock != "wall" && given.clock != "cpu")
    throw UsageError(
        fmt::format("--clock {}: 'wall' or 'cpu' is expected", given.clock));
  int threads = Threads(given.options.threads).count();
  if (given.clock == "cpu" && threads > 1)
    throw UsageError("--clock cpu times one thread");
  if (given.clock == "cpu")
    countOwnTime();
  given.options.threads = threads;
  bool reference = given.options.target == "reference";
  if (given.suite || given.grid || given.profile)
    return runTables(given);
  if (given.specs.empty())
    throw UsageError("SPEC is missing: which kernels are to be timed?");

  Progress progress;
  std::vector<BenchEntry> entries;
  entries.reserve(given.specs.size());
  for (const std::string &spec : given.specs) {
    double begin = now();
    Kernel kernel = Compiler(given.options).compileFile(spec, given.specName);
    double parse = (now() - begin) * 1e3;
    entries.push_back(
        prepareEntry(std::move(kernel), parse, settingOf(given), progress));
  }
  for (const auto &setting : parseSettings(given.set))
    if (std::none_of(entries.begin(), entries.end(),
                     [&](const BenchEntry &entry) {
                       return hasParameter(entry.kernel.getImpl().signature,
                                           setting.first);
                     }))
      throw UsageError(
          fmt::format("--set {}: no spec has such a parameter", setting.first));

  if (given.options.target == "cuda")
    return runOnGpu(given, entries, shape, progress);

  // The first run of each is not counted; it tells how many repetitions there
  // is time for.
  double round = 0;
  for (BenchEntry &entry : entries) {
    progress.show(fmt::format("bench {}: first run", entry.name));
    round += entry.warmUp();
  }
  bool gain = threads > 1 && !reference;
  int64_t repetitions = given.repeat;
  if (repetitions == 0)
    repetitions =
        std::clamp<int64_t>(given.seconds * entries.size() /
                                // The peak is measured for 10 ms in between.
                                (round * (gain ? threads + 1 : 1) +
                                 0.011 * entries.size() * (gain ? 2 : 1)),
                            5, 1000);

  std::vector<double> peaks, peaksAlone, others, updates;
  int64_t stateBytes = 0;
  for (const BenchEntry &entry : entries)
    stateBytes = std::max(stateBytes, entry.stateBytes());
  Array states(Type::f32, {stateBytes / 4});
  for (int64_t n = 0; n < repetitions; ++n) {
    for (BenchEntry &entry : entries) {
      progress.show(
          fmt::format("bench {}: {} of {}", entry.name, n + 1, repetitions));
      peaks.push_back(measurePeak(threads));
      entry.seconds.push_back(entry.run());
      if (stateBytes)
        updates.push_back(measureUpdate(states.bytes.data(), stateBytes));
      if (gain) {
        peaksAlone.push_back(measurePeak(1));
        entry.secondsAlone.push_back(entry.runAlone());
      }
    }
  }
  // It starts anew for every turn, and repeats by itself.
  for (int64_t n = 0;
       !given.compare.empty() && n < std::min<int64_t>(repetitions, 3); ++n)
    others.push_back(timeOther(given.compare, shape, given.type));
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
  for (const BenchEntry &entry : entries)
    print(given, entry, peak);
  if (given.format == "text" &&
      std::any_of(entries.begin(), entries.end(), [&](const BenchEntry &entry) {
        return entry.flops / median(entry.seconds) * 1e-9 > peak;
      }))
    fmt::print("above 1: the linear order was chosen, which takes fewer "
               "operations than are counted, or products were of bf16, or "
               "others used the machine while the peak was measured\n");
  // In JSON the objects have fixed keys: other lines go beside them.
  if (!others.empty())
    for (const BenchEntry &entry : entries)
      fmt::print(given.format == "json" ? stderr : stdout,
                 "{}: {:.3f} ms, '{}' {:.3f} ms: {:.2f} times as long\n",
                 entry.name, median(entry.seconds) * 1e3, given.compare,
                 median(others), median(others) * 1e-3 / median(entry.seconds));
  if (stateBytes)
    for (const BenchEntry &entry : entries)
      fmt::print(given.format == "json" ? stderr : stdout,
                 "{}: {:.2f} of the time in which one thread reads and writes "
                 "{:.1f} MiB of states\n",
                 entry.name, median(entry.seconds) / median(updates),
                 stateBytes / 1048576.0);
  if (gain) {
    double loop = peak / median(peaksAlone);
    FILE *stream = given.format == "json" ? stderr : stdout;
    for (const BenchEntry &entry : entries) {
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
  verb->add_option("SPEC", given->specs,
                   ".attn or .mlir files, timed in turns");
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
  verb->add_flag("--suite", given->suite,
                 "the problems of the project's figures, with the shares that "
                 "are hoped for");
  verb->add_option("--grid", given->grid,
                   "SEED: 40 problems drawn from it, and the worst of them")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--clock", given->clock,
                   "wall, or cpu: the time in which this process runs, for "
                   "machines with other users")
      ->capture_default_str();
  verb->add_option("--only", given->only,
                   "of --suite or --grid, the rows whose name has this in it");
  verb->add_option("--compare", given->compare,
                   "COMMAND: another program, run as `COMMAND "
                   "B,Hq,Hk,Nq,Nk,D,Dv TYPE`, whose last number is its "
                   "milliseconds");
  verb->add_flag("--profile", given->profile,
                 "where the time of one spec goes, by leaving parts out");
  verb->footer(
      "GFLOP/s counts 2 (D + Dv) operations for each visible pair, or, "
      "with --schedule=linear or recurrent,\n2 R (Dv + 1) for each row of q "
      "and of "
      "k, R channels. The peak is that of "
      "fused\nmultiply-adds in registers, measured between the "
      "repetitions on as many "
      "threads. Memory is the\npeak above inputs and outputs. Times "
      "are medians.\n\n"
      "A table's share is that of the peak, in GFLOP/s; or of the rate at "
      "which one thread or more read the\nsame keys and values, in GB/s, "
      "measured in between; or a ratio of times. --seconds is what each\nrow "
      "takes, beside compiling it and filling its arrays.\n\n"
      "Example:\n"
      "  attnc bench --suite --seconds 1\n"
      "  attnc bench --grid 7 --seconds 0.5 --format json\n"
      "  attnc bench examples/yat.attn --profile\n"
      "  attnc bench examples/softmax.attn --compare 'echo 1.5 #'\n"
      "  attnc bench examples/softmax.attn examples/yat.attn --shape "
      "1,8,8,2048,2048,64,64 "
      "\\\n      --threads 1 --data normal");
  verb->callback(
      [given, &action] { action = [given] { return run(*given); }; });
}
