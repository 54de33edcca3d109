//===- CommandLine.h - what several verbs parse -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMANDLINE_H
#define ATTN_TOOLS_COMMANDLINE_H

#include "Npy.h"
#include "Verbs.h"

#include <map>
#include <optional>

namespace attn {

/// The number that is the whole of `text`, or nothing.
/// Throws UsageError where it is one that is too large or too small for f64.
std::optional<double> parseNumber(std::string_view text);
/// The integer that is the whole of `text`, or nothing.
std::optional<int64_t> parseInteger(std::string_view text);

/// Splits NAME=VALUE; `option` is what errors call it.
std::pair<std::string, std::string> splitAssignment(const std::string &text,
                                                    const std::string &option);

/// The parsed `--in NAME=NUMBER-OR-FILE` options; owns the arrays.
class GivenInputs {
public:
  /// Reads the files.
  explicit GivenInputs(const std::vector<std::string> &assignments);
  std::vector<Argument> arguments() const;
  /// The array of that name, or null.
  const Array *find(const std::string &name) const;

private:
  struct Given {
    std::string name;
    Array array;
    double number = 0;
    bool isNumber = false;
  };
  std::vector<Given> given;
};

/// `--set NAME=NUMBER` options.
std::map<std::string, double>
parseSettings(const std::vector<std::string> &assignments);

/// Extents of a problem, as `--shape B,Hq,Hk,Nq,Nk,D,Dv` gives them.
struct ProblemShape {
  int64_t B = 1, Hq = 8, Hk = 8, Nq = 2048, Nk = 2048, D = 64, Dv = 64;
  std::string toString() const;
};
ProblemShape parseShape(const std::string &text);

/// A file to write, and the option that names it.
struct GivenOutput {
  std::string option, file;
};
/// Refuses files that would be written twice, or over the spec that is read.
void checkOutputs(const std::vector<GivenOutput> &outputs,
                  const std::string &spec = {});

/// Refuses values of --threads and --target that cannot be meant.
void checkThreads(int threads);
void checkTarget(const std::string &target);

} // namespace attn

#endif // ATTN_TOOLS_COMMANDLINE_H
