//===- Compare.h - how far results are from the reference's -----*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What float32 can promise depends on the problem: exp(1000) moves by 1e-4 when
// its argument is rounded. So every bound is the larger of a fixed one and
// eight times what the reference's own answer moves when its inputs move by a
// unit in the last place, and results on the way by what the target rounds.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMPARE_H
#define ATTN_TOOLS_COMPARE_H

#include "Npy.h"

#include <map>

namespace attn {

/// The results of a call, by name; reals of the reference are f64.
using Results = std::map<std::string, Array>;

/// How a result compares.
struct Comparison {
  double error = 0; ///< the worst, where it is worst against its bound
  double bound = 0; ///< of that element
  bool illConditioned = false; ///< no digit can be promised
  std::string place;           ///< where, got and expected; for messages
  /// Above 1 the bound is broken.
  double ratio() const {
    return illConditioned || bound == 0 ? 0 : error / bound;
  }
};

/// Compares one result with the reference's, `moved` holding the reference's
/// results for moved inputs. Where weights are rounded to 16 bits before they
/// are summed, `norm` is the bound of the relative L2 error of o as a whole,
/// beside half the distance of the smallest numbers of its type, and 0
/// elsewhere. What is beyond the type belongs to that norm. `rounded` is then
/// the reference's result with such weights: where few of them decide, these
/// roundings and that of o may take it further, and the bound is half as much
/// again: in units of another gauge the same weights are rounded otherwise.
Comparison compare(const std::string &name, const Array &got,
                   const Array &expected,
                   const std::vector<const Array *> &moved, double norm = 0,
                   const Array *rounded = nullptr);

/// The bound of that error: 4e-3 of bf16, 1e-3 of f16.
double normBound(Type storage);

/// An element as a number.
double elementOf(const Array &array, int64_t index);
/// "[1, 0, 5]".
std::string indexText(const std::vector<int64_t> &shape, int64_t index);

} // namespace attn

#endif // ATTN_TOOLS_COMPARE_H
