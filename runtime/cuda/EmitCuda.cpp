//===- EmitCuda.cpp - a kernel's CUDA source ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/EmitCuda.h"
#include "dialect/attn/FewQueries.h"
#include "lowering/CudaAttrs.h"
#include "lowering/Pipelines.h"
#include "lowering/analysis/ExpressionText.h"
#include "lowering/cuda/Cuda.h"
#include "runtime/BinderImpl.h"
#include "runtime/Compile.h"

using namespace attn;
using namespace attn::runtime;
using namespace mlir;

const CudaLevel &runtime::cudaLevel(const std::string &name) {
  if (const CudaLevel *level = findCudaLevel(name))
    return *level;
  std::vector<std::string> names;
  for (const CudaLevel &known : cudaLevels())
    names.push_back(known.name.str());
  throw Error("there is no GPU architecture '" + name +
              "'; known architectures are " + joinNames(names));
}

/// What is computed, for the head of the file.
static std::vector<std::string> aboutKernel(ModuleOp module) {
  std::vector<std::string> lines;
  module.walk([&](AttentionOp op) {
    Value kappa = op.getKappa().front().getTerminator()->getOperand(0);
    lines.push_back("kappa = " + describe(kappa));
  });
  return lines;
}

CudaProgram Compilation::emitCuda(const StaticSizes &sizes,
                                  const CudaOptions &options) {
  auto guard = lock();
  StaticSizes plain = sizes;
  plain.types.clear(); // all rows have one type here, the module's
  OwningOpRef<ModuleOp> lowered = specialisedModule(plain);
  std::vector<std::string> about =
      options.about.empty() ? aboutKernel(*lowered) : options.about;
  Builder builder(&context);
  mlir::Type storage =
      options.storage == attn::Type::bf16  ? mlir::Type(builder.getBF16Type())
      : options.storage == attn::Type::f16 ? mlir::Type(builder.getF16Type())
                                           : mlir::Type(builder.getF32Type());
  if (!order.empty())
    (*lowered)->setAttr(kOrderAttrName, builder.getStringAttr(order));
  if (order == kRecurrent) // in the other orders one program is for all
    (*lowered)->setAttr(
        kQueriesAttrName,
        builder.getDenseI64ArrayAttr({sizes.fewestQueries, sizes.mostQueries}));
  setCudaTarget(*lowered, *options.level, storage, options.tiles);
  if (options.tf32)
    (*lowered)->setAttr(kTf32AttrName, builder.getUnitAttr());
  CudaProgram program;
  check([&]() -> LogicalResult {
    for (auto build :
         {buildSchedulePipeline, buildLoopsPipeline, buildCudaPipeline})
      if (failed(runPipeline(*lowered, build)))
        return failure();
    FailureOr<CudaProgram> printed = printCuda(*lowered, about);
    if (succeeded(printed))
      program = std::move(*printed);
    return printed;
  });
  return program;
}
