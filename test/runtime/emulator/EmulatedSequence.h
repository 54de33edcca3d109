//===- EmulatedSequence.h - several calls, emulated -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EMULATEDSEQUENCE_H
#define ATTN_TEST_EMULATEDSEQUENCE_H

#include "attn/attn.h"

#include <functional>

namespace attn::runtime {

Kernel compileFor(const std::string &text, const char *target,
                  const char *schedule);

/// |got - expected| / |expected|; infinite where `got` is not finite.
double relativeError(const std::vector<double> &got,
                     const std::vector<double> &expected);

/// Every call's number of new tokens, of each sequence.
using Turns = std::vector<std::vector<int64_t>>;

/// Sequences of the same kernel, from a fixed seed, that calls go on with.
struct Sequences {
  Sequences(const char *parameters, const char *body)
      : parameters(parameters), body(body) {}

  const char *parameters, *body;
  int64_t B = 2, Hq = 4, Hk = 2, D = 16, Dv = 24;
  Type type = Type::f32;
  Turns turns;
  float decay = 0.7f; ///< of the first head, parameter g; others a little more
  int64_t extent = 0; ///< rows of every call; 0: as many as it has tokens
  bool inPlace = true;
  /// Keys and values from this token on are NaN; negative: none are.
  int64_t oddFrom = -1;
  /// Changes what is run; the errors that follow are the test's to expect.
  std::function<void(std::string &)> mutate;

  /// Computes them; the worst relative L2 error of o and of mass over the
  /// sequences, against the float64 interpreter on each as a whole.
  double error();
  std::vector<char> o;      ///< of all sequences, one behind the other
  std::vector<float> state; ///< after the last call
};

} // namespace attn::runtime

#endif // ATTN_TEST_EMULATEDSEQUENCE_H
