//===- Proofs.h - everything that is proven of a kernel ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What compilation needs (sign and gauge) is proven for every kernel; all of
// this costs more and is for `attnc explain` and for the linear order.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_PROOFS_H
#define ATTN_LOWERING_ANALYSIS_PROOFS_H

#include "lowering/analysis/LinearMasks.h"

namespace attn {

/// What can be proven of kappa.
enum class Property {
  NonNegative,
  Positive,
  Mercer,
  Universal,
  Bounded,
  NeedsMax,
  Separable
};
/// `nonnegative`, `needs_max`...
llvm::StringRef stringifyProperty(Property property);

/// A verdict on one property, for all parameters inside their declared bounds.
struct Proof {
  Property property;
  Verdict verdict = Verdict::Unproven;
  /// Rule, sub-expression and assumption, a step each; or the counterexample;
  /// or the obstacle.
  std::vector<std::string> reasons;
  /// `yes if c >= 0`, where that is proven; empty otherwise.
  std::string condition;
  mlir::Value culprit; ///< unless the verdict is yes: what is to blame, or null
};

/// A block of the feature map, in words.
struct BlockText {
  std::string query, key;
  std::vector<unsigned> degrees;
  int64_t channels;
};

struct KernelProofs {
  std::vector<Proof> proofs; ///< one a property, in the order of the enum
  /// Its polynomials belong to a form that is gone; the texts below are theirs.
  SeparableVerdict separable;
  std::vector<std::pair<std::string, std::string>> rows;
  std::vector<BlockText> blocks;
  std::string decay;
  MaskKind mask;
  LinearMasks masks;
  /// Where kappa is not proven to be defined; the proofs hold elsewhere.
  std::vector<std::string> undefined;

  const Proof &of(Property property) const {
    return proofs[static_cast<size_t>(property)];
  }
};

/// Proves what it can. Fails, with a diagnostic at the culprit, where kappa is
/// found to be undefined at rows or parameters that are allowed. The region is
/// best free of common subexpressions; it is left as it is. Example: for
/// `exp(dot(q, k))`, mercer is yes, separable no.
mlir::FailureOr<KernelProofs> proveKernel(AttentionOp op);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_PROOFS_H
