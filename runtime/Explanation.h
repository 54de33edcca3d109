//===- Explanation.h - what a tool says about a kernel ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EXPLANATION_H
#define ATTN_RUNTIME_EXPLANATION_H

#include "lowering/analysis/Proofs.h"
#include "lowering/schedule/ApplyFeatures.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace attn::runtime {

/// Made by Compilation::explain; lives while the compilation's lock is held.
struct Explanation {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< the proofs point into it
  /// What stands in for kappa, if features were asked for: the proofs are of
  /// that.
  std::optional<FeatureReport> features;
  KernelProofs proofs;
  /// One a property: the source line and a caret under the culprit, or empty.
  std::vector<std::string> excerpts;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_EXPLANATION_H
