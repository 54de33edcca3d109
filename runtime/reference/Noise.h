//===- Noise.h - results moved as if they were rounded ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far the reference's answer moves when each result on the way moves as far
// as rounding may move it is how much of the answer a target can promise.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_REFERENCE_NOISE_H
#define ATTN_RUNTIME_REFERENCE_NOISE_H

#include <cstdint>

namespace attn {

/// Half a unit in the last place of a number of so many binary digits, relative
/// to the number: at most 2^-digits, of the powers of two.
constexpr double halfUnit(int digits) {
  return 1. / static_cast<double>(int64_t(1) << digits);
}
/// The digits of types, the one before the point included.
inline constexpr int kF32Digits = 24, kTf32Digits = 11, kF16Digits = 11,
                     kBf16Digits = 8;

/// What results are rounded to.
struct Noise {
  uint64_t seed = 0; ///< names the numbers; 0: nothing is moved
  double numbers = halfUnit(kF32Digits); ///< of all results
  /// Of the rows that f_Q, f_K and f_V make, and of those that pairs take and
  /// that are not the arguments themselves.
  double madeRows = 0;
  /// Of features that are derived from kappa: as if they were of rows that are
  /// rounded themselves, and kappa the product of two rounded numbers.
  double features = 0;
  /// Digits that the weights of values are rounded to; 0: they are not. That is
  /// no noise: a target rounds the same numbers.
  int weightDigits = 0;
};

/// 1, moved by at most `most` up or down; `state` is a generator's
/// (SplitMix64).
inline double movedOne(uint64_t &state, double most) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  double uniform = static_cast<double>(static_cast<int64_t>(z ^ (z >> 31)));
  return 1 + uniform * 0x1p-63 * most;
}

} // namespace attn

#endif // ATTN_RUNTIME_REFERENCE_NOISE_H
