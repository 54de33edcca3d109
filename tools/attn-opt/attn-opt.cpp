//===- attn-opt.cpp - run single passes -----------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
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
  attn::registerAttnPasses();
  registerTransformsPasses();
  memref::registerExpandStridedMetadataPass();
  // One by one: the header that registers all conversions costs a minute to
  // compile.
  registerPass([] { return std::unique_ptr<Pass>(createConvertToLLVMPass()); });
  registerPass(
      [] { return std::unique_ptr<Pass>(createConvertVectorToSCFPass()); });
  registerPass(
      [] { return std::unique_ptr<Pass>(createConvertVectorToLLVMPass()); });
  registerPass(
      [] { return std::unique_ptr<Pass>(createSCFToControlFlowPass()); });
  registerPass([] {
    return std::unique_ptr<Pass>(createConvertControlFlowToLLVMPass());
  });
  registerPass(
      [] { return std::unique_ptr<Pass>(createConvertFuncToLLVMPass()); });
  registerPass(
      [] { return std::unique_ptr<Pass>(createConvertMathToLLVMPass()); });
  registerPass(
      [] { return std::unique_ptr<Pass>(createConvertIndexToLLVMPass()); });
  registerPass(
      [] { return std::unique_ptr<Pass>(createArithToLLVMConversionPass()); });
  registerPass([] {
    return std::unique_ptr<Pass>(createFinalizeMemRefToLLVMConversionPass());
  });
  registerPass([] { return std::unique_ptr<Pass>(createLowerAffinePass()); });
  registerPass(
      [] { return std::unique_ptr<Pass>(createUBToLLVMConversionPass()); });
  registerPass([] {
    return std::unique_ptr<Pass>(createReconcileUnrealizedCastsPass());
  });
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<attn::AttnDialect, attn::tile::TileDialect, func::FuncDialect,
                  arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                  memref::MemRefDialect, vector::VectorDialect,
                  LLVM::LLVMDialect, affine::AffineDialect,
                  cf::ControlFlowDialect, index::IndexDialect, ub::UBDialect,
                  x86vector::X86VectorDialect>();
  registerAllExtensions(registry);
  registerPasses();
  return asMainReturnCode(MlirOptMain(
      argc, argv, "attn-opt: runs passes on attention kernels\n", registry));
}
