//===- Random.h - numbers that are the same everywhere ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_RANDOM_H
#define ATTN_TOOLS_RANDOM_H

#include <cmath>
#include <cstdint>

namespace attn {

/// SplitMix64: small, fast, and unlike <random>'s distributions the same with
/// every standard library, so that a seed names a case for everybody.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t bits() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform() { return (bits() >> 11) * 0x1p-53; }
  double uniform(double low, double high) {
    return low + (high - low) * uniform();
  }
  /// In [low, high].
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() %
                                      (static_cast<uint64_t>(high - low) + 1));
  }
  /// Of mean 0 and variance 1.
  double normal() {
    if (hasSpare) {
      hasSpare = false;
      return spare;
    }
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    double angle = 6.283185307179586 * uniform();
    spare = radius * std::sin(angle);
    hasSpare = true;
    return radius * std::cos(angle);
  }

private:
  uint64_t state;
  double spare = 0;
  bool hasSpare = false;
};

} // namespace attn

#endif // ATTN_TOOLS_RANDOM_H
