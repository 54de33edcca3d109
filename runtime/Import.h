//===- Import.h - texts to modules, modules to signatures -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All failures are diagnostics on the context.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_IMPORT_H
#define ATTN_RUNTIME_IMPORT_H

#include "runtime/Signature.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string_view>

namespace attn::runtime {

/// Loads the dialects that a kernel's module is written in, and what the passes
/// ask of the registry.
void registerImportDialects(mlir::MLIRContext &context);

/// Reads a text, of MLIR where `file` ends in `.mlir`, else of specs. The
/// module that is returned has one attention function: the one of that name, or
/// the only one.
mlir::OwningOpRef<mlir::ModuleOp> importText(mlir::MLIRContext &context,
                                             std::string_view text,
                                             std::string_view name,
                                             std::string_view file);

/// Reads the #attn.arg attributes of the attention function.
mlir::LogicalResult readSignature(mlir::ModuleOp module, Signature &signature);

/// The one attention function of a module that `importText` made.
mlir::func::FuncOp attentionFunction(mlir::ModuleOp module);

/// Makes the sizes part of the types of an attention function.
mlir::LogicalResult specialiseOn(mlir::func::FuncOp function,
                                 const StaticSizes &sizes);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_IMPORT_H
