//===- Verbs.h - the verbs of attnc -----------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every verb lives in a file of its own, and adds itself as a subcommand: its
// options, its help with an example that works, and the action.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_VERBS_H
#define ATTN_TOOLS_VERBS_H

#include "attn/attn.h"

#include <CLI/CLI.hpp>
#include <functional>

namespace attn {

/// Set by the verb that was chosen; returns the exit status. Throws Error for
/// bad input (status 1) and UsageError for a wrong command line (status 2).
using Action = std::function<int()>;

/// A command line that cannot be meant.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

void addRun(CLI::App &app, Action &action);
void addCheck(CLI::App &app, Action &action);
void addBench(CLI::App &app, Action &action);
void addExplain(CLI::App &app, Action &action);
void addCompile(CLI::App &app, Action &action);
void addCache(CLI::App &app, Action &action);
void addMerge(CLI::App &app, Action &action);

} // namespace attn

#endif // ATTN_TOOLS_VERBS_H
