//===- LevelOption.h - --march and --fast-math ------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_LEVELOPTION_H
#define ATTN_TOOLS_LEVELOPTION_H

#include "attn/attn.h"
#include "lowering/Target.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace attn {

/// Adds `--march`, the CPU feature level; an unknown one is wrong usage.
void addLevelOption(CLI::App &verb, std::string &level);
/// The same, or a comma list of them that one object can hold.
void addLevelsOption(CLI::App &verb, std::string &levels);
/// What a list names, the most capable first.
std::vector<CpuLevel> levelsOf(const std::string &text, bool fastMath);
/// `x86-64-v4`, or `x86-64-v4 (in tiles of amx: amx@x86-64-v4)`: what code
/// needs of a machine, and what it was asked to be.
std::string describeLevel(const CpuLevel &level);
/// Adds `--fast-math`, see Options::fastMath.
void addFastMathOption(CLI::App &verb, bool &fast);

/// Adds `--arch`, the architecture of a GPU; an unknown one is wrong usage. In
/// the help, `{}` of `text` is the list of them.
CLI::Option *addArchOption(CLI::App &verb, std::string &architecture,
                           const std::string &text);
/// Wrong usage where the verb was given an option of another target: --march
/// and --fast-math are the cpu's, --arch, --tiles and --tf32 the GPUs'.
void checkTargetOptions(const CLI::App &verb, const std::string &target);

/// Adds `--target`, whose help begins with `targets`, and `--arch`, which is
/// the level of a GPU target.
void addGpuTargetOptions(CLI::App &verb, Options &options,
                         const std::string &targets);

} // namespace attn

#endif // ATTN_TOOLS_LEVELOPTION_H
