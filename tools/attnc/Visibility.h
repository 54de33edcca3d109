//===- Visibility.h - which query sees which key ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mask, evaluated pair by pair as the reference does: `bench` counts what
// is visible, `check` plants NaN where nobody may look.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_VISIBILITY_H
#define ATTN_TOOLS_VISIBILITY_H

#include "attn/attn.h"

#include <functional>
#include <memory>
#include <vector>

namespace attn {

/// The mask and the lengths of one call. Arguments must outlive it.
class Visibility {
public:
  Visibility(const Kernel &kernel, const std::vector<Argument> &arguments);
  ~Visibility();

  /// Whether nothing but lengths limits what is seen.
  bool isFull() const;
  int64_t batch() const;
  int64_t queryHeads() const;
  int64_t keyHeads() const;
  int64_t queries() const;
  int64_t keys() const;

  /// Calls `visit(i, flags)` for every query of a head; flags[j] says whether
  /// it sees key j. Rows and keys beyond their lengths see and are seen by
  /// none.
  void forEachRow(
      int64_t b, int64_t h,
      const std::function<void(int64_t, const std::vector<char> &)> &visit);
  /// The number of visible pairs, over batches and heads. `progress` is told
  /// the fraction that is done.
  double count(const std::function<void(double)> &progress = {});

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace attn

#endif // ATTN_TOOLS_VISIBILITY_H
