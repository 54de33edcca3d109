//===- EmitCuda.h - a kernel's CUDA source ----------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_EMITCUDA_H
#define ATTN_RUNTIME_CUDA_EMITCUDA_H

#include "attn/attn.h"
#include "lowering/CudaTarget.h"

#include <vector>

namespace attn::runtime {

/// What code for a GPU is made for, beside the sizes.
struct CudaOptions {
  const CudaLevel *level = nullptr;
  Type storage = Type::f32;   ///< of q, k, v and o: f32, bf16 or f16
  std::vector<int64_t> tiles; ///< queries, keys; empty: the table's
  bool tf32 = false;          ///< for products of f32 rows, which lose digits
  /// Lines for the head of the file: what kappa is; empty: made from the IR.
  std::vector<std::string> about;
};

/// The architecture of that name; throws Error that names those there are.
const CudaLevel &cudaLevel(const std::string &name);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_EMITCUDA_H
