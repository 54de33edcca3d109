//===- Axes.h - which axes a value in a kernel region depends on *- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sides of DESIGN's language, read off the IR: a value is uniform over a
// (batch, head), or depends on the query, on the key, or on the pair.
// Everything is computed at the cheapest level that its axes allow.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_AXES_H
#define ATTN_DIALECT_ATTN_AXES_H

#include "dialect/attn/Attn.h"
#include "llvm/ADT/DenseMap.h"

namespace attn {

/// A set of axes.
enum Axes : unsigned { Uniform = 0, QueryAxis = 1, KeyAxis = 2, PairAxes = 3 };

/// Axes of the values of one region, computed on demand.
class AxesOf {
public:
  /// Arguments of `region`'s block depend on these, in order.
  AxesOf(mlir::Region &region, llvm::ArrayRef<Axes> arguments);
  Axes operator()(mlir::Value v);
  /// Whether v is computed inside the region.
  bool isInside(mlir::Value v) const;

private:
  mlir::Region &region;
  llvm::DenseMap<mlir::Value, Axes> known;
};

} // namespace attn

#endif // ATTN_DIALECT_ATTN_AXES_H
