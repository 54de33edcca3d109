//===- Importer.h - specifications to the attn dialect ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_IMPORTER_H
#define ATTN_DIALECT_SPEC_IMPORTER_H

#include "dialect/spec/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/SourceMgr.h"

#include <memory>
#include <optional>

namespace attn {

/// Loads the dialects that an imported module uses.
void loadImportDialects(mlir::MLIRContext &context);

/// One func.func with one attn.attention a spec, in the function form that
/// dialect/README.md describes; or the first error. `file` is what locations
/// call the text.
std::optional<SpecError> importSpecs(llvm::ArrayRef<Spec> specs,
                                     llvm::StringRef file,
                                     mlir::MLIRContext &context,
                                     mlir::OwningOpRef<mlir::ModuleOp> &module);

/// A module, or the text of the error that made it impossible:
/// `file:line:column: error: ...`, the source line, a caret.
struct ParsedAttention {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string error;
  explicit operator bool() const { return bool(module); }
};

/// Reads `.attn` text or MLIR text; which of the two it is shows in its first
/// word. Loads the dialects that it needs.
ParsedAttention parseAttention(llvm::StringRef text, llvm::StringRef file,
                               mlir::MLIRContext &context);

/// While it lives, diagnostics of a context are collected as text, with the
/// source line and a caret for locations in `text`.
class DiagnosticText {
public:
  DiagnosticText(llvm::StringRef text, llvm::StringRef file,
                 mlir::MLIRContext &context);
  ~DiagnosticText();
  /// What was said since the last call.
  std::string take();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace attn

#endif // ATTN_DIALECT_SPEC_IMPORTER_H
