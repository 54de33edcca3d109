//===- RandomRows.h - the random rows of feature maps -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows w_r of attn.random_features, the same for every target and machine.
//
// Bits: SplitMix64 (Steele, Lea and Flood 2014), whose state begins as
// mix(mix(seed) + stream), the words of one stream taken in order. Uniforms:
// the top 53 bits, shifted by half a step, so never 0 or 1. Normals: the polar
// method of Marsaglia and Bray, both values of a pair, with a logarithm made of
// + - * / only, so that no math library and no fused operation shows in the
// bits. Sums run from the first coordinate to the last.
//
// Rows follow each other in the stream: more rows leave the first ones as they
// are. `orthogonal`: in blocks of n rows the normal rows go through
// Gram-Schmidt, twice, which makes their directions Haar distributed; then
// every row is given the norm of a normal row of its own (Choromanski et al.
// 2021, arXiv 2009.14794, section 4). `anchors`: normal rows over their norm,
// which are uniform on the sphere. At last everything is rounded to f32.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_RANDOMROWS_H
#define ATTN_DIALECT_ATTN_RANDOMROWS_H

#include "dialect/attn/Attn.h"

#include <memory>
#include <vector>

namespace attn {

struct RandomRows {
  int64_t count = 0, length = 0, seed = 0, stream = 0;
  bool orthogonal = false, anchors = false;

  /// count rows of `length` numbers, one after the other.
  std::vector<float> draw() const;
  bool operator==(const RandomRows &other) const {
    return count == other.count && length == other.length &&
           seed == other.seed && stream == other.stream &&
           orthogonal == other.orthogonal && anchors == other.anchors;
  }
};

/// What an operation multiplies with, for rows of that length. The last few are
/// kept: analyses ask for one matrix many times.
std::shared_ptr<const std::vector<float>> randomRowsOf(RandomFeaturesOp op,
                                                       int64_t length);

/// No exponent of positive features is larger, so that those of a query and a
/// key, and sums of them over a million keys, are finite in f32 together.
/// w.x - |x|^2/2 is at most |w|^2/2, and |w|^2 is about the length of the row:
/// below length 50 nothing reaches it, and above only rows along a random one.
inline constexpr double kLargestFeatureExponent = 32;

/// The features in float64, from u = w_r . x and |x|^2. What both the reference
/// and the analyses compute.
std::vector<double> randomFeatures(RandomFeaturesOp op, const double *x,
                                   int64_t length);
/// The same for rows that were drawn already.
void randomFeatures(RandomKind kind, bool hyperbolic, const float *rows,
                    int64_t count, const double *x, int64_t length, double *y);

} // namespace attn

#endif // ATTN_DIALECT_ATTN_RANDOMROWS_H
