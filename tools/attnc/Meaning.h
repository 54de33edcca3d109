//===- Meaning.h - what a spec says, and what was made of it ----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `attnc explain` prints it, and C headers carry some as a comment.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_MEANING_H
#define ATTN_TOOLS_MEANING_H

#include "ExplainProofs.h"
#include "Facts.h"
#include "dialect/attn/Attn.h"
#include "runtime/Signature.h"

#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// What the spec says, as the importer understood it: kernel, inputs,
/// parameters, q, k, v, kappa, mask, normalize, returns.
void addMeaning(Facts &facts, const runtime::Signature &signature,
                AttentionOp op);

/// What was decided for the program: tiles, target.
void addPlan(Facts &facts, mlir::ModuleOp module);

/// Which orders a scheduled module has, and what decides between two.
OrderPlan planOf(mlir::ModuleOp module);

/// What compilation rests on: nonnegative, gauge, and their reasons.
void addLicence(Facts &facts, LicenceAttr licence);

} // namespace attn

#endif // ATTN_TOOLS_MEANING_H
