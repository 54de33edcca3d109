//===- CodeGen.h - from the LLVM dialect to object code ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JIT links the object that an ahead-of-time build would write to a file,
// so that both compute the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CODEGEN_H
#define ATTN_RUNTIME_CODEGEN_H

#include "lowering/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace attn::runtime {

/// Registers LLVM's code generator for this machine, once a process: what code
/// from the cache is linked with needs it too.
void initialiseNativeTarget();

/// LLVM's machine for a feature level; throws where this LLVM has none.
std::unique_ptr<llvm::TargetMachine> createTargetMachine(const CpuLevel &level);

/// Writes a module of the LLVM dialect as an object file.
std::unique_ptr<llvm::MemoryBuffer> emitObject(mlir::ModuleOp module,
                                               const CpuLevel &level);
/// Writes a module of the LLVM dialect as assembly.
std::string emitAssembly(mlir::ModuleOp module, const CpuLevel &level);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CODEGEN_H
