//===- attn-opt.cpp - run single passes -----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Our passes, and the upstream ones that the pipelines or the tests use.
static void registerPasses() {
#ifdef ATTN_HAS_IssueLicence
  attn::registerIssueLicencePass();
#endif
#ifdef ATTN_HAS_HoistRowMaps
  attn::registerHoistRowMapsPass();
#endif
#ifdef ATTN_HAS_ChooseSchedule
  attn::registerChooseSchedulePass();
#endif
#ifdef ATTN_HAS_ToTileLoops
  attn::registerToTileLoopsPass();
#endif
#ifdef ATTN_HAS_TileToCpu
  attn::registerTileToCpuPass();
#endif
#ifdef ATTN_HAS_ExpandVectorMath
  attn::registerExpandVectorMathPass();
#endif
#ifdef ATTN_HAS_CpuEntry
  attn::registerCpuEntryPass();
#endif
  registerTransformsPasses();
  registerConvertToLLVMPass();
  registerConvertVectorToSCF();
  registerConvertVectorToLLVMPass();
  registerSCFToControlFlowPass();
  registerConvertControlFlowToLLVMPass();
  registerConvertFuncToLLVMPass();
  registerConvertMathToLLVMPass();
  registerConvertIndexToLLVMPass();
  registerArithToLLVMConversionPass();
  registerFinalizeMemRefToLLVMConversionPass();
  registerLowerAffinePass();
  registerUBToLLVMConversionPass();
  registerReconcileUnrealizedCastsPass();
  memref::registerExpandStridedMetadataPass();
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<attn::AttnDialect, attn::tile::TileDialect, func::FuncDialect,
                  arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                  memref::MemRefDialect, vector::VectorDialect, LLVM::LLVMDialect,
                  affine::AffineDialect, cf::ControlFlowDialect, index::IndexDialect,
                  ub::UBDialect, x86vector::X86VectorDialect>();
  registerAllExtensions(registry);
  registerPasses();
  return asMainReturnCode(
      MlirOptMain(argc, argv, "attn-opt: runs passes on attention kernels\n", registry));
}
