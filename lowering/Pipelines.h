//===- Pipelines.h - the order of the passes --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module of specialised attention functions goes through these, one after the
// other: what `attnc compile --emit=scheduled|loops|llvm` prints stands after
// each.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_PIPELINES_H
#define ATTN_LOWERING_PIPELINES_H

#include "lowering/CudaTarget.h"
#include "lowering/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace attn {

/// Writes #attn.target on the module; the schedule pipeline needs it.
void setTarget(mlir::ModuleOp module, const CpuLevel &level);
/// attn.attention -> attn.quadratic with licence and schedule, attn.rows.
void buildSchedulePipeline(mlir::OpPassManager &pm);
/// -> stages: scf loops over tile operations.
void buildLoopsPipeline(mlir::OpPassManager &pm);
/// -> the LLVM dialect, with the entries that attn-cpu-entry describes.
void buildCpuPipeline(mlir::OpPassManager &pm);
/// -> the same with the C interface of an ahead-of-time kernel around it.
/// Before the loops pipeline, `setCInterface` must have been called.
void buildCInterfacePipeline(mlir::OpPassManager &pm);
/// Modules of several levels, each of which went through that -> one.
void buildDispatchPipeline(mlir::OpPassManager &pm);

/// The same for a GPU: rows of `storage`, and tiles of the table's size or of
/// the two extents given.
void setCudaTarget(mlir::ModuleOp module, const CudaLevel &level,
                   mlir::Type storage, llvm::ArrayRef<int64_t> tiles = {});
/// After the loops pipeline: -> what printCuda prints.
void buildCudaPipeline(mlir::OpPassManager &pm);

} // namespace attn

#endif // ATTN_LOWERING_PIPELINES_H
