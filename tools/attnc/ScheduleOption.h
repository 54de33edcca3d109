//===- ScheduleOption.h - the option --schedule -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_SCHEDULEOPTION_H
#define ATTN_TOOLS_SCHEDULEOPTION_H

#include <CLI/CLI.hpp>

namespace attn {

/// Adds `--schedule`, the order of the sums; an unknown one is wrong usage.
void addScheduleOption(CLI::App &verb, std::string &schedule);

} // namespace attn

#endif // ATTN_TOOLS_SCHEDULEOPTION_H
