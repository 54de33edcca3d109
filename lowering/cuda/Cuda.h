//===- Cuda.h - from tile loops to CUDA C++ ---------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CUDA_CUDA_H
#define ATTN_LOWERING_CUDA_CUDA_H

#include "lowering/CudaTarget.h"
#include "lowering/cuda/Launch.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace attn {

/// Prints the stages of a module that attn-legalize-for-cuda left. `about`:
/// lines of comment for the head of the file, what kappa is.
mlir::FailureOr<CudaProgram> printCuda(mlir::ModuleOp module,
                                       llvm::ArrayRef<std::string> about);

/// The two halves of the prelude: the machine, and tiles on top of it.
llvm::StringRef cudaDevicePrelude();
llvm::StringRef cudaTilePrelude();
/// What each has more where four warps multiply together.
llvm::StringRef cudaGroupDevicePrelude();
llvm::StringRef cudaGroupTilePrelude();
/// The macro that, defined as a quoted file name, takes the place of the first
/// half: a host's body of the same functions.
inline constexpr llvm::StringLiteral kHostPreludeMacro = "ATTN_HOST_PRELUDE";

} // namespace attn

#endif // ATTN_LOWERING_CUDA_CUDA_H
