//===- Cases.h - the problems of attnc check --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_CASES_H
#define ATTN_TOOLS_CASES_H

#include "Problem.h"

namespace attn {

/// One problem of `check`.
struct CheckCase {
  std::string group;
  Recipe recipe;
  /// Besides the comparison with the reference: results keep their bits when
  /// keys that a row cannot see change (S2, S9), ...
  bool hidden = false;
  /// ... for any number of threads, in any place of a batch (S8), in any
  /// layout.
  bool bits = false;
  /// For people.
  std::string describe() const;
};

/// What lengths of rows a kernel accepts.
struct RowLengths {
  int64_t D, Dv;
  std::map<std::string, int64_t> sizes;
};

/// The problems for a kernel that accepts `lengths` (not empty). The same seed
/// gives the same list.
std::vector<CheckCase> makeCases(const runtime::Signature &signature,
                                 const std::vector<RowLengths> &lengths,
                                 uint64_t seed);

/// The row lengths to try, the most telling first.
std::vector<RowLengths> candidateLengths(const runtime::Signature &signature);

/// Sets keys of `problem` that few or no rows see to NaN, infinity or other
/// numbers; returns which, one flag a key and sequence.
std::vector<std::vector<char>> spoilKeys(const runtime::Signature &signature,
                                         Problem &problem, Random &random);

} // namespace attn

#endif // ATTN_TOOLS_CASES_H
