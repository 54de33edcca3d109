//===- Launch.h - how a CUDA kernel is launched -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program needs beside the source: the entries in order, their
// parameters, grids as formulas of extents. Plain data, written as
// FILE.launch.json; the runtime launches from the same.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_CUDA_LAUNCH_H
#define ATTN_LOWERING_CUDA_LAUNCH_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attn {

/// The roles of the state that a call of the recurrent order goes on from, and
/// of the one that it leaves; both may be one array.
inline constexpr llvm::StringLiteral kStateRole = "state";
inline constexpr llvm::StringLiteral kNewStateRole = "state_out";

/// A whole number made of extents of arrays.
struct Formula {
  enum Kind { Constant, Extent, Multiply, Divide, CeilDivide, Most, Least };
  Kind kind = Constant;
  int64_t value = 0;               ///< Constant
  unsigned argument = 0, axis = 0; ///< Extent: of which array
  std::string name;                ///< Extent
  std::vector<Formula> operands;

  /// As C and Python write it, with ceildiv, floordiv, max and min.
  std::string toString() const;
  int64_t evaluate(const std::function<int64_t(unsigned argument,
                                               unsigned axis)> &extent) const;
};

/// A parameter of an entry.
struct LaunchParameter {
  enum Kind { Array, Extent, Stride };
  Kind kind = Array;
  std::string name;
  std::string type;      ///< in C
  unsigned argument = 0; ///< of the attention function
  unsigned axis = 0;     ///< Extent, Stride
};

/// One kernel; stages run one after the other.
struct LaunchStage {
  std::string entry;
  std::vector<LaunchParameter> parameters;
  Formula grid; ///< blocks, along x
  int64_t threads = 0, sharedBytes = 0;
};

/// An argument of the attention function, which parameters refer to.
struct LaunchArgument {
  std::string name;
  std::string role; ///< query, key, value, parameter, o, mass, workspace, ...
  std::string type; ///< of its elements, in C
  int64_t row = 0;  ///< the length of its rows; 0 where it has none
  bool perQueryHead = false; ///< a workspace or state with one a query head
  int64_t rows = 0; ///< of a workspace or state, where they are not one a key
  /// Parts of such a workspace, each of a row a query, at most `partQueries`,
  /// and two: then its rows.
  int64_t parts = 0, partQueries = 0;

  /// Whether it is the state that a call goes on from, or leaves.
  bool isState() const { return role == kStateRole || role == kNewStateRole; }
  /// Rows of a workspace, as a number and as a formula.
  int64_t rowsFor(int64_t queries, int64_t keys) const;
  std::string rowsText() const;
};

/// All that `attnc compile --target=cuda` makes.
struct CudaProgram {
  std::string name, architecture, source;
  std::vector<LaunchArgument> arguments;
  std::vector<LaunchStage> stages;
};

/// The text of FILE.launch.json.
std::string launchJson(const CudaProgram &program);

} // namespace attn

#endif // ATTN_LOWERING_CUDA_LAUNCH_H
