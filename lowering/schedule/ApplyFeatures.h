//===- ApplyFeatures.h - kappa by the feature map asked for -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_SCHEDULE_APPLYFEATURES_H
#define ATTN_LOWERING_SCHEDULE_APPLYFEATURES_H

#include "dialect/attn/Attn.h"

#include <cmath>
#include <string>

namespace attn {

/// What stands in for kappa, and how good that is to be expected.
struct FeatureReport {
  std::string asked;   ///< `favor(m = 256, orthogonal = 1, ...)`
  std::string formula; ///< what kappa became
  std::string source;  ///< the paper and the equation
  double channels = 0; ///< of the feature map; 0: row lengths are not known
  /// The relative error of kappa under `condition`; NaN where a number that it
  /// takes is not known before the call.
  double error = NAN;
  std::string condition;
  std::string warning; ///< why the estimate is useless there; empty: it is not
};

/// Rewrites kappa by the features that the operation asks for and marks them
/// applied. Fails with a diagnostic, at the features, where they do not fit, or
/// where a mass would be signed. `toExplain`: it may be, and no factor of the
/// query is left out because it cancels, so that equal maps stay equal.
mlir::FailureOr<FeatureReport> applyFeatures(AttentionOp op,
                                             bool toExplain = false);

} // namespace attn

#endif // ATTN_LOWERING_SCHEDULE_APPLYFEATURES_H
