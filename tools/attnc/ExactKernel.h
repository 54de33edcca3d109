//===- ExactKernel.h - a kernel without its features ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `features = ...` computes another kernel than the one that is written: how
// far the two are from each other is a number to be shown, not a bound.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_EXACTKERNEL_H
#define ATTN_TOOLS_EXACTKERNEL_H

#include "Compare.h"
#include "attn/attn.h"

#include <optional>

namespace attn {

/// The spec with its features left out, on the reference target; nothing if it
/// has none.
std::optional<Kernel> exactKernel(const std::string &path,
                                  const std::string &name, Options options);

/// |a - b| / |b| over all elements, NaN where b is 0 or not finite.
double relativeError(const Array &a, const Array &b);

/// The relative errors of results, by class of inputs and result.
class ApproximationErrors {
public:
  void add(const std::string &group, const Results &approximate,
           const Results &exact);
  /// One line a class: the median and the largest error of each result.
  void print() const;

private:
  struct Group {
    std::string name;
    std::map<std::string, std::vector<double>> errors;
  };
  std::vector<Group> groups;
};

} // namespace attn

#endif // ATTN_TOOLS_EXACTKERNEL_H
