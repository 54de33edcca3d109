//===- Kernels.h - sizes that code is specialised on ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_KERNELS_H
#define ATTN_TOOLS_KERNELS_H

#include "CommandLine.h"
#include "runtime/Signature.h"

namespace attn {

/// `--D`, `--Dv`, `--shape` and `--set` as `compile` and `explain` take them.
struct SizeOptions {
  bool fewQueries = false;
  std::optional<int64_t> D, Dv;
  std::optional<std::string> shape;
  std::vector<std::string> set;
  Type type = Type::f32; ///< of the inputs and of o
};
void addSizeOptions(CLI::App &verb, SizeOptions &options);

/// The sizes that the options fix; nothing if they fix none. Throws UsageError.
std::optional<runtime::StaticSizes>
staticSizes(const runtime::Signature &signature, const SizeOptions &options);

} // namespace attn

#endif // ATTN_TOOLS_KERNELS_H
