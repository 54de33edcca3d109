//===- JitMath.h - the expanded functions, compiled for one level -*- C++
//-*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_LOWERING_CPU_MATH_JITMATH_H
#define ATTN_TEST_LOWERING_CPU_MATH_JITMATH_H

#include <cstdint>
#include <string>
#include <vector>

/// Loops over arrays, one for each function, made by attn-expand-vector-math
/// and upstream's conversions to LLVM for one CPU level.
class JitMath {
public:
  /// The levels that this machine runs.
  static std::vector<std::string> levels();
  /// Each function is compiled when it is first run.
  static JitMath &at(const std::string &level);

  /// out[i] = function(x[i], y[i]) under FTZ and DAZ. y is read by powf alone.
  void run(const std::string &function, const std::vector<float> &x,
           const std::vector<float> &y, std::vector<float> &out);
  std::vector<float> run(const std::string &function,
                         const std::vector<float> &x,
                         const std::vector<float> &y = {});

private:
  explicit JitMath(const std::string &level);
  struct State;
  State *state;
};

/// A level as part of a test's name.
std::string identifier(std::string level);

#endif // ATTN_TEST_LOWERING_CPU_MATH_JITMATH_H
