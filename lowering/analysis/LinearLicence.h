//===- LinearLicence.h - whether the linear order may be built --*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the proofs allow and the loops can do, in one verdict: kappa is a dot of
// feature rows, the mask lets a sum over keys be carried along, and every
// result that is wanted can be made from such sums.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_LINEARLICENCE_H
#define ATTN_LOWERING_ANALYSIS_LINEARLICENCE_H

#include "lowering/analysis/LinearMasks.h"

namespace attn {

struct LinearLicence {
  LinearScan scan = LinearScan::Refused;
  int64_t rank = 0;    ///< channels of phi; 0: not derived
  std::string reason;  ///< why it is refused
  mlir::Value culprit; ///< what is to blame, or null
};

/// The normal form of kappa for the pairs that the mask shows, and its feature
/// map. The form refers to `ranges` of its own.
class DerivedFeatures {
public:
  explicit DerivedFeatures(AttentionOp op);

private:
  ValueRangeAnalysis ranges;

public:
  MaskKind mask;
  std::unique_ptr<NormalForm> form;
  SeparableVerdict separable;
};

/// Refuses cheap things first, so that a kernel without a linear order costs
/// little. Row lengths must be known. Example: elu(x) + 1 under a causal mask
/// is licensed `ordered`; softmax is refused, not separable.
LinearLicence licenseLinear(AttentionOp op);

/// Why a kernel that is licensed for the linear order by `scan` cannot go on
/// from a state that a caller has kept; an empty reason: it can.
struct RecurrentRefusal {
  std::string reason;
  mlir::Location at;
};
RecurrentRefusal refuseRecurrent(AttentionOp op, LinearScan scan);

/// The most bytes that the state of one head may take, and the most channels:
/// it stays in a cache of the core that works on it, and tiles of features on
/// its stack.
inline constexpr int64_t kStateLimit = int64_t(1) << 20;
inline constexpr int64_t kRankLimit = 8192;

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_LINEARLICENCE_H
