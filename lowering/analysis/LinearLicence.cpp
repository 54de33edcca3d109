//===- LinearLicence.cpp - whether the linear order may be built ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/LinearLicence.h"
#include "lowering/analysis/Degree.h"

using namespace mlir;
using namespace attn;

/// A result or a term that needs every pair, or a running maximum.
static std::string refusedResult(AttentionOp op) {
  for (Result kind :
       {Result::Max, Result::Argmax, Result::Entropy, Result::Weights})
    if (op.wants(kind))
      return "`" + stringifyResult(kind).str() +
             "` looks at every pair; return o, mass or lse";
  if (op.getTerm(NormalizerTerm::Sink))
    return "a sink competes with the keys under a running maximum, which a sum "
           "over keys that is carried along does not have";
  return "";
}

DerivedFeatures::DerivedFeatures(AttentionOp op) {
  {
    NormalForm masked(op, ranges); // its atoms are not kappa's
    mask = classifyMask(masked);
  }
  if (!mask.legal)
    return;
  form = std::make_unique<NormalForm>(op, ranges, mask.ordered);
  separable = deriveFeatures(*form);
}

LinearLicence attn::licenseLinear(AttentionOp op) {
  LinearLicence licence;
  licence.reason = refusedResult(op);
  if (!licence.reason.empty())
    return licence;
  DerivedFeatures features(op);
  if (!features.mask.legal) {
    licence.reason = features.mask.name + " mask: " + features.mask.reason;
    licence.culprit = features.mask.culprit;
    return licence;
  }
  LinearMasks masks =
      linearMasks(*features.form, features.separable, features.mask);
  if (features.separable.map)
    licence.rank = features.separable.map->rank;
  if (!masks.here) {
    licence.reason = masks.refusal;
    licence.culprit = features.separable.culprit;
    return licence;
  }
  if (StringRef(features.mask.name).contains("document") &&
      !features.mask.ordered) {
    licence.reason = "document mask: the state of a document that queries see "
                     "whole is not built; add `causal`";
    return licence;
  }
  if (features.separable.map->blocks.empty()) {
    licence.reason = "kappa is 0: there are no features to sum";
    return licence;
  }
  for (const FeatureBlock &block : features.separable.map->blocks) {
    double degree = 0;
    for (auto [pair, power] :
         llvm::zip(features.separable.map->rows, block.degrees))
      for (RowId row : {pair.first, pair.second})
        if (Value origin = features.form->row(row).origin)
          degree += power * rowDegree(origin);
        else
          degree += 0.5 * power;
    if (degree > kHighDegree) {
      licence.reason = "a power of degree above 4 in the rows needs a running "
                       "factor, which a sum over keys that is carried along "
                       "does not have";
      return licence;
    }
  }
  int64_t width = op.getMappedRow(2).getLength();
  if (licence.rank == 0 || licence.rank > kRankLimit ||
      licence.rank > kStateLimit / 4 / std::max<int64_t>(width, 1)) {
    licence.reason = "rank too large: phi has " +
                     (licence.rank ? std::to_string(licence.rank)
                                   : std::string("uncountably many")) +
                     " channels, a state of " +
                     (licence.rank ? std::to_string(licence.rank * width * 4)
                                   : std::string("too many")) +
                     " bytes a head; at most " + std::to_string(kRankLimit) +
                     " channels and " + std::to_string(kStateLimit) +
                     " bytes are kept";
    return licence;
  }
  licence.scan =
      features.mask.ordered ? LinearScan::Ordered : LinearScan::Whole;
  return licence;
}
