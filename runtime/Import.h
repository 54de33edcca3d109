//===- Import.h - attention functions and their signatures ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime reads off a parsed module. All failures are diagnostics on
// the context.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_IMPORT_H
#define ATTN_RUNTIME_IMPORT_H

#include "runtime/Signature.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace attn::runtime {

/// Leaves one attention function in a module: the one of that name, or the only
/// one.
mlir::LogicalResult selectFunction(mlir::ModuleOp module, llvm::StringRef name);

/// The one attention function of a module, after `selectFunction`.
mlir::func::FuncOp attentionFunction(mlir::ModuleOp module);

/// Reads the #attn.arg attributes of the attention function.
mlir::LogicalResult readSignature(mlir::ModuleOp module, Signature &signature);

/// Makes the sizes part of the types of an attention function. Returns the
/// length of the rows of o.
mlir::FailureOr<int64_t> specialiseOn(mlir::func::FuncOp function,
                                      const Signature &signature,
                                      const StaticSizes &sizes);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_IMPORT_H
