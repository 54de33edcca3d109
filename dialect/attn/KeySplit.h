//===- KeySplit.h - keys that are split over work items ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of a schedule that attn-choose-schedule writes on an attn.quadratic
// for few queries, and the loops read.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_KEYSPLIT_H
#define ATTN_DIALECT_ATTN_KEYSPLIT_H

#include "dialect/attn/Attn.h"
#include "dialect/attn/FewQueries.h"

namespace attn {

/// The name under which a module says how many queries its sequences have, at
/// least and at most: a dense array of two numbers.
inline constexpr llvm::StringLiteral kQueriesAttrName = "attn.queries";
inline constexpr llvm::StringLiteral kKeyPartsAttrName = "attn.key_parts";
inline constexpr llvm::StringLiteral kFewQueriesAttrName = "attn.few_queries";
inline constexpr llvm::StringLiteral kLeastKeysAttrName = "attn.least_keys";
inline constexpr llvm::StringLiteral kPerHeadAttrName = "attn.per_head";

/// Stands on an operation of the recurrent order whose sequences have at most
/// one token a call: there is no loop that carries their state.
inline constexpr llvm::StringLiteral kOneTokenAttrName = "attn.one_token";

struct KeySplit {
  /// The keys of a sequence are split over at most so many work items, and the
  /// queries of a group of heads are rows of one tile; 0: a work item sees all
  /// keys. The operation then has a state: for each query head `parts` + 1
  /// times kFewQueries rows, as long as a mapped query and as a value with its
  /// mass and gauge. The rows of a group of heads follow each other: its mapped
  /// queries, then a sum for each of them and for each part.
  int64_t parts = 0;
  /// Of two operations, the one with parts works on sequences of at most so
  /// many queries (and at least `leastKeys` keys), the other on the rest; 0:
  /// there is no other operation.
  int64_t fewQueries = 0, leastKeys = 0;
  /// A tile has the queries of one head, as where keys are not split. The state
  /// then has, for each part, a row of sums for each of at most `fewQueries`
  /// queries, one of masses and one of gauges.
  bool perHead = false;

  static KeySplit of(mlir::Operation *op) {
    auto number = [&](llvm::StringRef name) {
      auto attr = op->getAttrOfType<mlir::IntegerAttr>(name);
      return attr ? attr.getInt() : 0;
    };
    return {number(kKeyPartsAttrName), number(kFewQueriesAttrName),
            number(kLeastKeysAttrName), op->hasAttr(kPerHeadAttrName)};
  }
  void writeOn(mlir::Operation *op) const {
    mlir::Builder b(op->getContext());
    if (parts)
      op->setAttr(kKeyPartsAttrName, b.getI64IntegerAttr(parts));
    if (fewQueries)
      op->setAttr(kFewQueriesAttrName, b.getI64IntegerAttr(fewQueries));
    if (leastKeys)
      op->setAttr(kLeastKeysAttrName, b.getI64IntegerAttr(leastKeys));
    if (perHead)
      op->setAttr(kPerHeadAttrName, b.getUnitAttr());
  }
};

} // namespace attn

#endif // ATTN_DIALECT_ATTN_KEYSPLIT_H
