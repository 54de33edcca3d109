//===- Universal.h - kernels whose functions approximate all others -*- C++
//-*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_UNIVERSAL_H
#define ATTN_LOWERING_ANALYSIS_UNIVERSAL_H

#include "lowering/analysis/Mercer.h"

namespace attn {

/// Whether sums of kappa(., x) come close to every continuous function on every
/// compact set X of rows (Micchelli, Xu, Zhang 2006).
struct UniversalVerdict {
  Verdict verdict = Verdict::Unproven;
  std::vector<std::string> reasons;
  std::string condition; ///< on which sets it is, where not on all
  mlir::Value culprit;
};

/// `psd`: kappa was proven positive semi-definite by `mercer`.
UniversalVerdict decideUniversal(Mercer &mercer, Verdict psd, bool finiteRank);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_UNIVERSAL_H
