//===- Nvrtc.h - CUDA source to PTX and machine code ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_NVRTC_H
#define ATTN_RUNTIME_CUDA_NVRTC_H

#include <cstdint>
#include <string>
#include <vector>

namespace attn::runtime {

/// What one kernel takes, as the assembler reports it.
struct KernelUsage {
  std::string entry;
  int64_t registers = 0, stack = 0, spillStores = 0, spillLoads = 0;
};

/// What NVRTC made.
struct CudaCode {
  std::string bytes;              ///< a cubin, or PTX
  std::vector<KernelUsage> usage; ///< of a cubin
  /// What the assembler says of products of four warps (wgmma): that it waits
  /// where the source does not, or issues them one by one.
  std::vector<std::string> remarks;
  double milliseconds = 0;
};

/// Compiles for an architecture, as "sm_80". Throws Error where NVRTC is not
/// here, which says where it was looked for, or refuses the source.
CudaCode compileCuda(const std::string &source, const std::string &name,
                     const std::string &architecture, bool toPtx);
/// Reads usage and remarks from what the assembler says.
void readAssemblerLog(const std::string &log, CudaCode &code);
/// The version of NVRTC and where it lies, "13.0 /usr/..."; throws as above.
std::string nvrtcVersion();

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_NVRTC_H
