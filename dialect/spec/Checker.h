//===- Checker.h - names and types of a specification -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_CHECKER_H
#define ATTN_DIALECT_SPEC_CHECKER_H

#include "dialect/spec/Arithmetic.h"

#include <memory>
#include <optional>

namespace attn {

/// A spec after all rules but the licence's: what there is to emit.
struct CheckedSpec {
  static constexpr NodeId kNone = ~NodeId(0);
  struct Role {
    unsigned input = 0; ///< the input whose memory it reads
    NodeId row = kNone; ///< the row as last assigned: what kappa sees
  };

  const Spec *spec = nullptr;
  std::unique_ptr<Arithmetic> arithmetic; ///< owns the graph
  Role roles[3];                          ///< q, k, v
  NodeId kappa = kNone;
  NodeId mask = kNone; ///< kNone: all keys are visible
  bool normalizeByMass = true;
  /// Terms of the denominator, by attn::NormalizerTerm's number.
  std::vector<std::pair<unsigned, NodeId>> terms;
  bool allowSigned = false;
  /// What `features = ...` asks for, if it stands there.
  struct Features {
    unsigned kind = 0; ///< by attn::FeatureKind's number
    int64_t order = 0, count = 0, nodes = 0, seed = 0;
    bool orthogonal = false, hyperbolic = false, anchors = false;
    Spec::Place place; ///< of the name of the map
  };
  std::optional<Features> features;
  std::vector<unsigned> results; ///< by attn::Result's number

  const Graph &graph() const { return arithmetic->graph; }
};

/// Checks a spec; throws SpecError. The spec must outlive the result.
CheckedSpec checkSpec(const Spec &spec);

} // namespace attn

#endif // ATTN_DIALECT_SPEC_CHECKER_H
