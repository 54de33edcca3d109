//===- CheckFeatures.h - the arguments of a feature map ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//     taylor(order = 2)
//     favor(m = 256, orthogonal = 1, seed = 0, hyperbolic = 0)
//     rff(m = 256, seed = 0)
//     slay(nodes = 2, features = 16, poly = exact | anchors, seed = 0)
//     maclaurin(order = 4)
//
// Arguments by name, or in this order; what is left out has these values.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_CHECKFEATURES_H
#define ATTN_DIALECT_SPEC_CHECKFEATURES_H

#include "dialect/spec/Checker.h"

#include <functional>

namespace attn {

/// Reads `features = NAME(...)`; throws SpecError. Whether the map fits the
/// kernel is not asked here.
CheckedSpec::Features
checkFeatures(const Spec &spec, const Spec::Statement &statement,
              const std::function<NodeId(Spec::Id)> &evaluate,
              const Graph &graph);

} // namespace attn

#endif // ATTN_DIALECT_SPEC_CHECKFEATURES_H
