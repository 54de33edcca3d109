//===- BenchEntry.cpp - a kernel that is timed ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchEntry.h"
#include "Machine.h"
#include "Meaning.h"
#include "TypeOption.h"
#include "Visibility.h"
#include "runtime/Compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sys/wait.h>

using namespace attn;
using namespace attn::runtime;

double attn::median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

static double timed(const Kernel::Impl &runner, const Prepared &prepared) {
  double begin = now();
  runner.run(prepared);
  return now() - begin;
}

double BenchEntry::run() const { return timed(kernel.getImpl(), prepared); }

double BenchEntry::runAlone() const { return timed(*alone, prepared); }

double BenchEntry::warmUp() {
  for (Array &array : results)
    std::fill(array.bytes.begin(), array.bytes.end(), std::byte(0));
  // The threads' own memory exists from here on.
  measurePeak(kernel.getImpl().threads.count(), 1e-3);
  int64_t before = resetPeakMemory();
  double seconds = run();
  workspace = static_cast<double>(std::max<int64_t>(peakMemory() - before, 0));
  return seconds;
}

int64_t BenchEntry::stateBytes() const {
  const std::vector<std::string> &names = kernel.results();
  auto found = std::find(names.begin(), names.end(), kState);
  return found == names.end()
             ? 0
             : static_cast<int64_t>(
                   results[found - names.begin()].bytes.size());
}

std::vector<const NamedArray *> BenchEntry::keysAndValues() const {
  InputRoles roles = rolesOf(kernel.getImpl().signature);
  std::vector<const NamedArray *> found;
  for (const NamedArray &array : problem.arrays)
    if (array.name == roles.key || array.name == roles.value)
      found.push_back(&array);
  return found;
}

BenchEntry attn::prepareEntry(Kernel kernel, double parseMilliseconds,
                              const BenchSetting &setting, Progress &progress) {
  BenchEntry entry(std::move(kernel));
  Kernel::Impl &impl = entry.kernel.getImpl();
  Recipe recipe;
  recipe.shape = fitShape(setting.shape, impl.signature);
  recipe.data = setting.data;
  recipe.type = setting.type;
  for (const Formal &formal : impl.signature.formals)
    if (auto known = setting.settings.find(formal.name);
        formal.kind == FormalKind::Param && known != setting.settings.end())
      recipe.settings.insert(*known);
  recipe.plainParameters = true;
  recipe.keyLengths = setting.keyLengths;
  progress.show(fmt::format("bench {}: making inputs", entry.name));
  entry.problem = makeProblem(impl.signature, recipe);
  std::vector<Argument> arguments = entry.problem.arguments();

  // The shape of a state follows from the code, which is then made here.
  double begin = now();
  std::vector<std::vector<int64_t>> shapes = impl.shapesOf(arguments);
  double shaping = (now() - begin) * 1e3;
  std::vector<Output> outputs;
  for (size_t n = 0; n < shapes.size(); ++n) {
    const std::string &name = impl.signature.results[n];
    entry.results.emplace_back(name == "argmax" ? Type::i32
                               : name == "o"    ? setting.type
                                                : Type::f32,
                               shapes[n]);
    outputs.push_back({name, entry.results.back().view()});
  }
  // A state is read and written where it is: the cost of a step of decoding.
  for (const Output &output : outputs)
    if (output.name == kState)
      arguments.push_back({std::string(kState), output.tensor});
  progress.show(fmt::format("bench {}: compiling", entry.name));
  entry.prepared = impl.prepare(arguments, outputs);
  Options single = setting.options;
  single.threads = 1;
  entry.alone = std::make_unique<Kernel::Impl>(impl.compilation, single);
  entry.compile =
      parseMilliseconds + shaping + entry.prepared.compileMilliseconds;

  const ProblemShape &s = recipe.shape;
  if (setting.options.schedule == "linear" ||
      setting.options.schedule == kRecurrent) {
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

double attn::timeOther(const std::string &command, const ProblemShape &shape,
                       Type type) {
  std::string line =
      fmt::format("{} {} {}", command, shape.toString(), typeName(type));
  FILE *pipe = popen(line.c_str(), "r");
  if (!pipe)
    throw Error("cannot run '" + line + "'");
  std::string output;
  char block[4096];
  while (size_t count = fread(block, 1, sizeof(block), pipe))
    output.append(block, count);
  int status = pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error("'" + line + "' failed");
  std::optional<double> last;
  size_t at = 0;
  const char *spaces = " \t\r\n";
  while ((at = output.find_first_not_of(spaces, at)) != std::string::npos) {
    size_t end = std::min(output.find_first_of(spaces, at), output.size());
    if (std::optional<double> number =
            parseNumber(std::string_view(output).substr(at, end - at)))
      last = number;
    at = end;
  }
  if (last && !(*last > 0))
    throw Error("'" + line + "' says that it took no time");
  if (!last)
    throw Error("'" + line + "' prints no number; it is to print milliseconds");
  return *last;
}
