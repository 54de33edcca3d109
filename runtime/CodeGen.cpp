//===- CodeGen.cpp - from the LLVM dialect to object code -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CodeGen.h"
#include "attn/attn.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <mutex>

using namespace attn;
using namespace attn::runtime;

void runtime::initialiseNativeTarget() {
  static std::once_flag once; // LLVM's registry of targets is global
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser(); // of inline assembly
  });
}

/// Registers whatever this LLVM has code generators for.
static void initialiseAllTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
}

std::unique_ptr<llvm::TargetMachine>
runtime::createTargetMachine(const CpuLevel &level) {
  initialiseNativeTarget();
  if (!isHostArchitecture(level))
    initialiseAllTargets();
  llvm::Triple triple = tripleOf(level);
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    throw Error("this LLVM makes no code for " + level.codeName().str() + " (" +
                triple.str() + "): " + message);
  // Level 2: the loops have their final form already, and level 3 buys nothing
  // here.
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, level.cpu, level.features, llvm::TargetOptions(),
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine)
    throw Error("internal: LLVM cannot make code for " + level.name.str());
  return machine;
}

/// Writes a module as `type` to `stream`. No optimiser runs: the module was
/// shaped by the passes before, and LLVM's would double the time to the first
/// result.
static void emit(mlir::ModuleOp module, const CpuLevel &level,
                 llvm::CodeGenFileType type, llvm::raw_pwrite_stream &stream) {
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(level);
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = mlir::translateModuleToLLVMIR(
      module, context, "attn", /*disableVerification=*/true);
  if (!llvmModule)
    throw Error("internal: the LLVM dialect did not translate to LLVM IR");
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type,
                                   /*DisableVerify=*/true))
    throw Error("internal: LLVM cannot write this kind of file for " +
                level.name.str());
  passes.run(*llvmModule);
}

std::unique_ptr<llvm::MemoryBuffer> runtime::emitObject(mlir::ModuleOp module,
                                                        const CpuLevel &level) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  emit(module, level, llvm::CodeGenFileType::ObjectFile, stream);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(bytes), "attn", /*RequiresNullTerminator=*/false);
}

std::string runtime::emitAssembly(mlir::ModuleOp module,
                                  const CpuLevel &level) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  emit(module, level, llvm::CodeGenFileType::AssemblyFile, stream);
  return std::string(text);
}
