//===- Ulp.h - errors in units of the last place ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_LOWERING_CPU_MATH_ULP_H
#define ATTN_TEST_LOWERING_CPU_MATH_ULP_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

inline float fromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t toBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// As S4 of the design has it: below 2^-126 a number counts as 0.
inline float flush(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0, x)
                                                          : x;
}

/// |got - expected| in units of the last place that `expected` has as f32;
/// infinite where they are of different kinds.
inline double ulpError(float got, double expected) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double smallest = std::numeric_limits<float>::min();
  if (std::isnan(expected) || std::isnan(got))
    return std::isnan(expected) && std::isnan(got) ? 0 : infinity;
  if (std::fabs(expected) < smallest) // 0, or any denormal where it is 0
    return std::fabs(got) <= smallest ? 0 : infinity;
  if (std::fabs(expected) >= 0x1p128)
    expected = std::copysign(0x1p128, expected);
  double unit = std::ldexp(1.0, std::min(std::ilogb(expected), 127) - 23);
  // An infinity stands for the number that would follow the largest one.
  double value = std::isinf(got) ? std::copysign(0x1p128, got) : got;
  return std::fabs(value - expected) / unit;
}

#endif // ATTN_TEST_LOWERING_CPU_MATH_ULP_H
