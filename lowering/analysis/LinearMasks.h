//===- LinearMasks.h - masks under which the linear order is legal -*- C++
//-*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_LINEARMASKS_H
#define ATTN_LOWERING_ANALYSIS_LINEARMASKS_H

#include "lowering/analysis/Separable.h"

namespace attn {

/// What a mask is to a sum that is carried from key to key.
struct MaskKind {
  std::string name;     ///< "none", "causal", "causal and document", ...
  bool legal = false;   ///< every visible set is a run of keys, grown or reset
  bool ordered = false; ///< no visible key has j > i
  std::string reason;   ///< why it is not legal, or what it rests on
  mlir::Value culprit;
};
/// Reads the mask's region, through `form`.
MaskKind classifyMask(NormalForm &form);

struct LinearMasks {
  std::vector<std::string> legal; ///< of none causal strict_causal document
  std::string refusal;            ///< why there are none, or not all
  bool here = false;              ///< legal under the kernel's own mask
};
LinearMasks linearMasks(NormalForm &form, const SeparableVerdict &separable,
                        const MaskKind &mask);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_LINEARMASKS_H
