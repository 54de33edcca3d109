//===- CompileCuda.h - attnc compile for GPUs -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMPILECUDA_H
#define ATTN_TOOLS_COMPILECUDA_H

#include "Kernels.h"
#include "Problem.h"

namespace attn {

/// The options of `attnc compile --target=cuda`.
struct CompileCudaOptions {
  std::string spec, specName, emit, output, schedule;
  SizeOptions sizes;
  std::string architecture = "sm_80", tiles;
  bool tf32 = false;
};

void addCudaOptions(CLI::App &verb, CompileCudaOptions &options);
int compileForCuda(const CompileCudaOptions &given);

} // namespace attn

#endif // ATTN_TOOLS_COMPILECUDA_H
