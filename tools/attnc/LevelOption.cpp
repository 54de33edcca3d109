//===- LevelOption.cpp - --march and --fast-math --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LevelOption.h"
#include "Verbs.h"
#include "lowering/CudaTarget.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <algorithm>

using namespace attn;

static std::string levelNames() {
  std::string names;
  for (const CpuLevel &known : cpuLevels())
    names += (names.empty() ? "" : ", ") + known.name.str();
  return names;
}

static std::string checkLevel(const std::string &text) {
  return parseCpuLevel(text)
             ? std::string()
             : fmt::format("there is no feature level '{}'; known levels are "
                           "{}",
                           text, levelNames());
}

static std::string levelHelp() {
  return "feature level: " + levelNames() +
         "; default: this machine's. TILES@CODE, as in amx@native: the tiles "
         "of one in instructions of another, to test a level that is not here";
}

void attn::addLevelOption(CLI::App &verb, std::string &level) {
  verb.add_option("--march", level, levelHelp())->check(checkLevel);
}

std::vector<CpuLevel> attn::levelsOf(const std::string &text, bool fastMath) {
  std::vector<CpuLevel> levels;
  for (llvm::StringRef name : llvm::split(text, ',')) {
    levels.push_back(*parseCpuLevel(name));
    levels.back().fastMath = fastMath;
  }
  auto place = [](const CpuLevel &level) {
    return findCpuLevel(level.codeName());
  };
  std::sort(levels.begin(), levels.end(),
            [&](const CpuLevel &a, const CpuLevel &b) {
              return place(a) < place(b);
            });
  return levels;
}

std::string attn::describeLevel(const CpuLevel &level) {
  if (level.code.empty())
    return level.name.str();
  return fmt::format("{} (in tiles of {}: {})", level.codeName().str(),
                     level.name.str(), nameOf(level));
}

/// What is wrong with a list, or nothing.
static std::string checkLevels(const std::string &text) {
  for (llvm::StringRef name : llvm::split(text, ','))
    if (name.empty() && name.size() != text.size())
      return fmt::format("a level is missing in '{}'", text);
    else if (std::string wrong = checkLevel(name.str()); !wrong.empty())
      return wrong;
  std::vector<CpuLevel> levels = levelsOf(text, false);
  for (size_t n = 1; n < levels.size(); ++n) {
    const CpuLevel &one = levels[n - 1], &other = levels[n];
    if (one.codeName() == other.codeName())
      return fmt::format("'{}' names {} twice", text, one.codeName().str());
    if (one.triple != other.triple)
      return fmt::format("{} and {} are levels of two architectures, and an "
                         "object is for one",
                         one.codeName().str(), other.codeName().str());
    for (const CpuLevel &level : {one, other})
      if (level.cpuid.leaf1Ecx == 0)
        return fmt::format("{} cannot stand in a list: an object does not know "
                           "how to ask a machine for it",
                           level.codeName().str());
  }
  return {};
}

void attn::addLevelsOption(CLI::App &verb, std::string &levels) {
  verb.add_option("--march", levels,
                  levelHelp() +
                      ". With obj and shared also a comma list: code for each, "
                      "and the machine it runs on picks")
      ->check(checkLevels);
}

void attn::addFastMathOption(CLI::App &verb, bool &fast) {
  verb.add_flag("--fast-math", fast,
                "give up digits for speed: exponentials to 3e-6, divisions to "
                "3 ulp; nothing is promised of what is infinite, nor where "
                "something is divided by 0 or by more than 2^125");
}

CLI::Option *attn::addArchOption(CLI::App &verb, std::string &architecture,
                                 const std::string &text) {
  std::string names;
  for (const CudaLevel &known : cudaLevels())
    names += (names.empty() ? "" : ", ") + known.name.str();
  return verb
      .add_option("--arch", architecture,
                  fmt::format(fmt::runtime(text), names))
      ->check([names](const std::string &given) {
        return findCudaLevel(given)
                   ? std::string()
                   : fmt::format("there is no GPU architecture '{}'; known "
                                 "architectures are {}",
                                 given, names);
      });
}

void attn::checkTargetOptions(const CLI::App &verb, const std::string &target) {
  bool isGpu = target == "cuda" || target == "cuda-emulator";
  auto refuse = [&](const char *name, const char *owner) {
    const CLI::Option *option = verb.get_option_no_throw(name);
    if (option && option->count())
      throw UsageError(fmt::format("{} is for {}, not for --target={}", name,
                                   owner, target));
  };
  for (const char *name :
       {"--march", "--fast-math", "--header", "--c-name", "--few-queries"})
    if (target != "cpu")
      refuse(name, "the target cpu");
  for (const char *name : {"--arch", "--tiles", "--tf32"})
    if (!isGpu)
      refuse(name, "GPUs");
}

void attn::addGpuTargetOptions(CLI::App &verb, Options &options,
                               const std::string &targets) {
  verb.add_option("--target", options.target, targets)->capture_default_str();
  addArchOption(verb, options.level,
                "the architecture of a GPU target: {}; default: the device's, "
                "sm_80 in the emulator");
}
