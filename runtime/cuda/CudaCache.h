//===- CudaCache.h - machine code kept between runs -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_CUDACACHE_H
#define ATTN_RUNTIME_CUDA_CUDACACHE_H

#include "runtime/Cache.h"
#include "runtime/cuda/Nvrtc.h"

namespace attn::runtime {

/// As compileCuda, from the cache where it has the same source, architecture
/// and version of NVRTC.
CudaCode compileCudaCached(const Cache &cache, const std::string &source,
                           const std::string &name,
                           const std::string &architecture, bool toPtx);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_CUDACACHE_H
