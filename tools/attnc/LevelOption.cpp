//===- LevelOption.cpp - --march and --fast-math --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LevelOption.h"
#include "lowering/CudaTarget.h"
#include "lowering/Target.h"

#include <fmt/format.h>

using namespace attn;

void attn::addLevelOption(CLI::App &verb, std::string &level) {
  std::string names;
  for (const CpuLevel &known : cpuLevels())
    names += (names.empty() ? "" : ", ") + known.name.str();
  verb.add_option("--march", level,
                  "feature level: " + names + "; default: this machine's")
      ->check([names](const std::string &text) {
        return parseCpuLevel(text) ? std::string()
                                   : fmt::format("there is no feature level "
                                                 "'{}'; known levels are {}",
                                                 text, names);
      });
}

void attn::addFastMathOption(CLI::App &verb, bool &fast) {
  verb.add_flag("--fast-math", fast,
                "give up digits for speed: exponentials to 3e-6, divisions to "
                "3 ulp; nothing is promised where kappa divides by 0 or inf");
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

void attn::addGpuTargetOptions(CLI::App &verb, Options &options,
                               const std::string &targets) {
  verb.add_option("--target", options.target, targets)->capture_default_str();
  addArchOption(verb, options.level,
                "the architecture of a GPU target: {}; default: the device's, "
                "sm_80 in the emulator");
}
