//===- Checker.h - compiled code against the reference ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_CHECKER_H
#define ATTN_TOOLS_CHECKER_H

#include "Cases.h"
#include "Compare.h"
#include "ExactKernel.h"
#include "runtime/Kernel.h"

#include <functional>
#include <map>
#include <optional>

namespace attn {

struct CheckOptions {
  std::string spec, specName;
  int64_t seed = 1, only = -1, most = 0;
  std::vector<std::string> set, in;
  Type type = Type::f32;
  Options options;
};

/// Runs the problems of one spec and keeps the figures.
class Checker {
public:
  explicit Checker(const CheckOptions &given);
  int run();
  /// The user's data in place of made ones.
  int runGiven();

private:
  using Runner = std::function<void(const runtime::Prepared &)>;

  std::vector<RowLengths> acceptedLengths();
  void runCase(size_t number, const CheckCase &made);
  void compareWithReference(const CheckCase &made, const Problem &problem);
  void checkHidden(const CheckCase &made, const Problem &problem);
  void checkBits(const CheckCase &made, const Problem &problem);
  Results compute(const Kernel &kernel, const Problem &problem,
                  bool strided = false, const Runner &runner = {}) {
    return compute(kernel, problem.arguments(), strided, runner);
  }
  Results compute(const Kernel &kernel, const std::vector<Argument> &arguments,
                  bool strided = false, const Runner &runner = {});
  bool isRecurrent() const {
    return given.options.schedule == runtime::kRecurrent;
  }
  bool sameBits(const Results &a, const Results &b, const std::string &what);
  void fail(const std::string &what);
  void printTable() const;

  /// The worst figures of a group of cases.
  struct Group {
    std::string name;
    int cases = 0, illConditioned = 0, failures = 0;
    std::map<std::string, Comparison> worst;
  };

  const CheckOptions &given;
  Kernel compiled, reference;
  Kernel::Impl onTwo; ///< runs what `compiled` has made on two threads
  const runtime::Signature &signature; ///< without the state of the recurrent
  std::map<std::string, double> settings;
  std::vector<Group> groups;
  std::vector<std::string> failures;
  std::optional<Kernel> exact; ///< where features stand in for the kernel
  ApproximationErrors approximation;
  Group *group = nullptr;
  std::string context; ///< of the case that runs, for messages
};

} // namespace attn

#endif // ATTN_TOOLS_CHECKER_H
