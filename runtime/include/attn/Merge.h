//===- Merge.h - results over parts of the keys -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys may be split over calls, threads or machines: o and lse (or mass) of
// each part are all that the whole takes. In any order, and of wholes again:
//
//     attn::merge({{o1, lse1}, {o2, lse2}}, {o, lse}, attn::MergeBy::lse);
//
// With m = max_p lse_p: o = sum_p exp(lse_p - m) o_p / sum_p exp(lse_p - m),
// lse = m + log sum_p exp(lse_p - m) (Milakov, Gimelshein 2018,
// arXiv 1805.02867, theorem 1 and section 3.1).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MERGE_H
#define ATTN_MERGE_H

#include "attn/attn.h"

namespace attn {

/// What says how much of the whole a part is.
enum class MergeBy {
  lse,  ///< log of the mass; kernels that are non-negative
  mass, ///< the mass, which may be negative under `allow signed`
  none  ///< `normalize = none`: parts are added; their mass, if any, too
};

/// Results of one call: o [..., N, Dv] (f32, f16, bf16 or f64), and lse or mass
/// [..., N] (f32 or f64). Any strides.
struct Partial {
  Tensor o, weight;
};

/// Computes the results over all keys from those over parts of them. Sums are
/// in float64 and rounded once, so that the order of the parts is seen in the
/// last bit at most. Rows that no part sees, or whose |mass| is below 2^-126,
/// are o = 0, mass = 0, lse = -inf. `whole` may be the memory of a part.
///
/// A kernel whose normaliser has `delta` or `floor` does not divide by the mass
/// and cannot be merged by it; a `sink` belongs to one part alone. Positions
/// count from a part's first key: give a part that begins at key a the offset
/// of the whole less a, so that i - j is right.
///
/// Throws Error where shapes or types do not fit, before anything is written.
void merge(const std::vector<Partial> &parts, const Partial &whole, MergeBy by);

} // namespace attn

#endif // ATTN_MERGE_H
