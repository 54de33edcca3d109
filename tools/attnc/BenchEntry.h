//===- BenchEntry.h - a kernel that is timed --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_BENCHENTRY_H
#define ATTN_TOOLS_BENCHENTRY_H

#include "Problem.h"
#include "Progress.h"
#include "runtime/Kernel.h"

#include <memory>

namespace attn {

/// What is timed, and how.
struct BenchSetting {
  Options options;
  ProblemShape shape;
  Type type = Type::f32; ///< of rows and of o
  RowData data = RowData::Normal;
  std::map<std::string, double> settings; ///< of parameters; others are left
  std::vector<int64_t> keyLengths;        ///< empty: all keys
};

/// One kernel with its arguments, results and times.
struct BenchEntry {
  std::string name;
  Kernel kernel;
  Problem problem;
  std::vector<Array> results;
  runtime::Prepared prepared;
  std::unique_ptr<Kernel::Impl> alone; ///< runs it on one thread
  double flops = 0;                    ///< of the visible pairs, or of features
  double compile = 0;                  ///< milliseconds, from text to code
  double workspace = 0;                ///< bytes, by `warmUp`
  std::vector<double> seconds, secondsAlone; ///< on all threads, and on one

  explicit BenchEntry(Kernel kernel)
      : name(kernel.name()), kernel(std::move(kernel)) {}
  /// Seconds of one call, on the kernel's threads and on one.
  double run() const;
  double runAlone() const;
  /// The first call, which is not counted: it touches the outputs. Returns what
  /// it took.
  double warmUp();
  /// Of the states that a call reads and writes; 0 where it knows none.
  int64_t stateBytes() const;
  /// The arrays that hold the rows of keys and values, and their bytes.
  std::vector<const NamedArray *> keysAndValues() const;
};

/// Makes the arguments and the code. `parseMilliseconds` is what came before.
BenchEntry prepareEntry(Kernel kernel, double parseMilliseconds,
                        const BenchSetting &setting, Progress &progress);

double median(std::vector<double> values);

/// Milliseconds of another program on the same problem: runs `COMMAND
/// B,Hq,Hk,Nq,Nk,D,Dv TYPE` and takes the last number that it prints. Throws
/// Error where there is none.
double timeOther(const std::string &command, const ProblemShape &shape,
                 Type type);

} // namespace attn

#endif // ATTN_TOOLS_BENCHENTRY_H
