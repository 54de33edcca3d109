//===- TypeOption.h - the option --type -------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_TYPEOPTION_H
#define ATTN_TOOLS_TYPEOPTION_H

#include "attn/attn.h"

#include <CLI/CLI.hpp>

namespace attn {

/// Adds `--type`, in which inputs and o are stored: f32, bf16 or f16.
void addTypeOption(CLI::App &verb, Type &type);
const char *typeName(Type type);

} // namespace attn

#endif // ATTN_TOOLS_TYPEOPTION_H
