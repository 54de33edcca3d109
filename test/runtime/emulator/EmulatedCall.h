//===- EmulatedCall.h - one call, emulated and in float64 -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EMULATEDCALL_H
#define ATTN_TEST_EMULATEDCALL_H

#include "lowering/cuda/Cuda.h"
#include "runtime/Compile.h"
#include "runtime/Kernel.h"
#include "runtime/cuda/EmitCuda.h"
#include "runtime/emulator/Emulator.h"

namespace attn::runtime {

/// What is computed, and on which arrays.
struct CallShape {
  int64_t B = 1, Hq = 2, Hk = 1, Nq = 64, Nk = 64, D = 64, Dv = 64;
  Type type = Type::f32;
  std::vector<std::pair<std::string, double>> numbers;           ///< parameters
  std::vector<std::pair<std::string, std::vector<int64_t>>> ids; ///< and these
  bool tf32 = false;          ///< as in CudaOptions
  std::string schedule;       ///< as in Options; empty: by the lengths
  std::vector<int64_t> tiles; ///< as in CudaOptions
  std::vector<int64_t> keyLengths;
  /// NaN in the values of keys at or past this one; negative: nowhere.
  int64_t oddValuesFrom = -1;
  /// Every key is some query, moved a little.
  bool nearKeys = false;
};

/// The same call on several programs. Rows are from a fixed seed, rounded to
/// the type.
class EmulatedCall {
public:
  EmulatedCall(const std::string &spec, const CallShape &shape);

  /// The program that would run, to be changed by tests.
  CudaProgram program(const char *architecture = "sm_80") const;
  /// Runs a program; throws what the emulator finds.
  void run(const CudaProgram &program);
  /// |o - expected| / |expected| of the last run, over rows that are finite in
  /// the reference; infinite where o is NaN there.
  double error() const;
  /// The last run's o, as it is stored.
  const std::vector<char> &bytes() const { return o; }

private:
  std::vector<Argument> arguments() const;

  CallShape shape;
  std::vector<std::vector<char>> rows; ///< q, k, v
  std::vector<double> expected;
  std::vector<char> o;
  std::vector<std::vector<char>> others; ///< further results
  Kernel kernel;
  Prepared prepared;
};

} // namespace attn::runtime

#endif // ATTN_TEST_EMULATEDCALL_H
