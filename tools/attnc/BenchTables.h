//===- BenchTables.h - bench's modes that make tables -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_BENCHTABLES_H
#define ATTN_TOOLS_BENCHTABLES_H

#include "BenchEntry.h"

namespace attn {

/// What the modes of `attnc bench` have in common.
struct TableOptions {
  bool json = false;
  double seconds = 2;     ///< for each row
  int64_t repeat = 0;     ///< 0: as `seconds` allows
  std::string compare;    ///< another program, see timeOther; empty: none
  bool oneThread = false; ///< leaves rows of several threads out
  std::string only;       ///< rows whose name has this in it; empty: all
  Options options;
};

/// One line of a table: a problem, its time, and what that is a share of.
struct TableRow {
  std::string name;
  std::string spec; ///< the text of a kernel
  ProblemShape shape;
  Type type = Type::f32;
  /// Against what: multiply-adds, tiles of the matrix unit (one thread),
  /// reading keys and values once, the time of the row that is `of` rows
  /// before, or the gain of the multiply-add loop from as many threads.
  enum Kind { Peak, Bf16Peak, Bandwidth, Ratio, Gain, Time } kind = Peak;
  /// The least share that is hoped for (of a ratio, the largest); 0: none.
  double bound = 0;
  std::string level = {}; ///< a feature level; empty: this machine's best
  int of = 0;
};

/// Measures rows in turns, those of a set together, and prints each set as it
/// is done. Returns the smallest share of each row in order.
std::vector<double> measureTable(const std::vector<std::vector<TableRow>> &sets,
                                 const TableOptions &given);

/// The problems that the project's figures are about.
int runSuite(const TableOptions &given);
/// Problems drawn from a seed, and the worst of them.
int runGrid(const TableOptions &given, uint64_t seed);
/// Where the time of a kernel goes: the same problem with parts left out.
int runProfile(const TableOptions &given, const std::string &spec,
               const std::string &specName, const BenchSetting &setting);

} // namespace attn

#endif // ATTN_TOOLS_BENCHTABLES_H
