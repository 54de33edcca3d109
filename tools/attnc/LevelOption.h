//===- LevelOption.h - --march, --type, --fast-math -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_LEVELOPTION_H
#define ATTN_TOOLS_LEVELOPTION_H

#include "attn/attn.h"

#include <CLI/CLI.hpp>

namespace attn {

/// Adds `--march`, the CPU feature level; an unknown one is wrong usage.
void addLevelOption(CLI::App &verb, std::string &level);
/// Adds `--type`, in which inputs and o are stored: f32, bf16 or f16.
void addTypeOption(CLI::App &verb, Type &type);
const char *typeName(Type type);
/// Adds `--fast-math`, see Options::fastMath.
void addFastMathOption(CLI::App &verb, bool &fast);

} // namespace attn

#endif // ATTN_TOOLS_LEVELOPTION_H
