//===- Pipelines.cpp - the order of the passes ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/Pipelines.h"
#include "lowering/CudaAttrs.h"
#include "lowering/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace attn;

void attn::setTarget(ModuleOp module, const CpuLevel &level) {
  MLIRContext *context = module.getContext();
  module->setAttr(kTargetAttrName,
                  TargetAttr::get(context, StringAttr::get(context, "cpu"),
                                  StringAttr::get(context, nameOf(level)),
                                  level.lanes, level.fastMath));
}

/// Without comparing blocks, which would take a tenth of the time to the first
/// result and finds nothing.
static void addCleanUp(OpPassManager &pm) {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  pm.addPass(createCanonicalizerPass(config));
  pm.addPass(createCSEPass());
}

void attn::buildSchedulePipeline(OpPassManager &pm) {
  // What is proven is the kernel that runs.
  pm.addNestedPass<func::FuncOp>(createSimplifyPass());
  // What is proven is the kernel that runs, which the user may have asked to be
  // an approximation.
  pm.addNestedPass<func::FuncOp>(createApplyFeaturesPass());
  // Proofs first: what cannot be compiled is refused before anything is built.
  pm.addNestedPass<func::FuncOp>(createIssueLicencePass());
  // Features end the row maps of the linear order, which are not hoisted.
  pm.addNestedPass<func::FuncOp>(createChooseOrderPass());
  pm.addNestedPass<func::FuncOp>(createBuildFeaturesPass());
  pm.addNestedPass<func::FuncOp>(createHoistRowMapsPass());
  // Splits kappa by the licence's gauge, so it comes after the rows have moved.
  pm.addNestedPass<func::FuncOp>(createChooseSchedulePass());
  addCleanUp(pm);
}

void attn::buildLoopsPipeline(OpPassManager &pm) {
  pm.addPass(createToTileLoopsPass());
  addCleanUp(pm);
}

void attn::buildCpuPipeline(OpPassManager &pm) {
  pm.addPass(createTileToCpuPass());
  // While functions of vectors are still one operation, equal ones are merged.
  addCleanUp(pm);
  pm.addPass(createExpandVectorMathPass());
  // Broadcasts and address arithmetic leave the loops while there are loops.
  pm.addPass(createLoopInvariantCodeMotionPass());
  addCleanUp(pm);
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.amx = true;
  pm.addPass(createConvertVectorToLLVMPass(vectors));
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCpuEntryPass());
  addCleanUp(pm);
}

void attn::buildCInterfacePipeline(OpPassManager &pm) {
  pm.addPass(createCpuCEntryPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  addCleanUp(pm);
}

void attn::buildDispatchPipeline(OpPassManager &pm) {
  // What it adds is the only code that is not lowered yet; the levels' own is
  // left as it is, so that a level computes what it does by itself.
  pm.addPass(createCpuDispatchPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void attn::setCudaTarget(ModuleOp module, const CudaLevel &level, Type storage,
                         ArrayRef<int64_t> tiles) {
  MLIRContext *context = module.getContext();
  module->setAttr(kTargetAttrName,
                  TargetAttr::get(context, StringAttr::get(context, kCudaKind),
                                  StringAttr::get(context, level.name),
                                  /*lanes=*/16, /*fast_math=*/false));
  module->setAttr(kStorageAttrName, TypeAttr::get(storage));
  if (!tiles.empty())
    module->setAttr(kTilesAttrName, DenseI64ArrayAttr::get(context, tiles));
}

void attn::buildCudaPipeline(OpPassManager &pm) {
  pm.addPass(createLegalizeForCudaPass());
  // Equal scalars have one name in the text.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}
