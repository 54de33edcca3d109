//===- LinearLicence.cpp - whether the linear order may be built ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/LinearLicence.h"
#include "dialect/attn/Documents.h"
#include "lowering/analysis/Degree.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

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

RecurrentRefusal attn::refuseRecurrent(AttentionOp op, LinearScan scan) {
  Location kappa = op.getKappa().front().getTerminator()->getLoc();
  if (scan == LinearScan::Whole)
    return {
        "without a mask a token sees keys that are yet to come; write `mask "
        "= causal`",
        kappa};
  if (auto documents = documentConditions(op.getMask()); !documents.empty())
    return {"a state does not know the ids of the documents in it; begin every "
            "document from a state of its own",
            documents.front().getLoc()};
  // What a call knows is its own tokens, not the whole sequence.
  RecurrentRefusal refusal{"", kappa};
  for (Region &region : op->getRegions())
    region.walk([&](IndexOp index) {
      Position position = index.getPosition();
      bool ofValues = &region == &op.getValueMap() && position == Position::J;
      if (position != Position::Nq && position != Position::Nk && !ofValues)
        return;
      refusal = {ofValues ? "`v` reads the position `j`, which a call that "
                            "continues a sequence does not give it"
                          : "`" + stringifyPosition(position).str() +
                                "` is the length of a call, not of the "
                                "sequence that it continues",
                 index.getLoc()};
    });
  if (!refusal.reason.empty())
    return refusal;
  auto function = op->getParentOfType<func::FuncOp>();
  for (unsigned n = 0; function && n < function.getNumArguments(); ++n) {
    auto arg = function.getArgAttrOfType<ArgAttr>(n, kArgAttrName);
    if (!arg || !arg.getAxes())
      continue;
    for (StringRef axis : arg.getAxes().getAsValueRange<StringAttr>()) {
      auto isLength = [](StringRef edge) {
        edge.consume_front("-");
        return edge == "nq" || edge == "nk";
      };
      auto [low, high] = axis.split(':');
      if (isLength(low) || isLength(high))
        return {
            "parameter `" + arg.getName().str() +
                "` has an element a token of the whole sequence, and a call "
                "knows only its own",
            kappa};
    }
  }
  return refusal;
}
