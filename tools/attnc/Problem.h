//===- Problem.h - arguments made for any kernel ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `check` and `bench` call kernels they know nothing about but the signature:
// the names and sides of the inputs, the axes and bounds of the parameters.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_PROBLEM_H
#define ATTN_TOOLS_PROBLEM_H

#include "CommandLine.h"
#include "Random.h"
#include "runtime/Signature.h"

namespace attn {

/// What the rows look like.
enum class RowData {
  Normal,  ///< N(0, 1)
  Cluster, ///< one of 16 centres from N(0, 1), and 0.01 N(0, 1)
  Equal,   ///< every key is some query
  Huge,    ///< 100 N(0, 1)
  Tiny,    ///< 0.001 N(0, 1)
  Mixed,   ///< every row with a scale of its own, from 0.01 to 30
  Shifted, ///< a common vector 30 times longer than the differences
  Zero     ///< rows of zeros among others
};

/// How q, k and v lie in memory.
enum class Layout {
  Packed,
  Padded,     ///< rows with a gap between them
  Transposed, ///< [B, N, H, n] seen as [B, H, N, n]
  Reversed,   ///< the last row first: negative strides
  Columns,    ///< the elements of a row are not adjacent
  Broadcast   ///< one batch entry and one head for all: strides of 0
};

/// An argument with the memory behind it.
struct NamedArray {
  std::string name;
  Array array;
  int64_t origin = 0; ///< of element [0, ..., 0] in `array`, in elements
  Tensor view() const;
};

/// The arguments of one call.
struct Problem {
  ProblemShape shape;
  std::vector<NamedArray> arrays;
  std::vector<std::pair<std::string, double>> numbers;

  std::vector<Argument> arguments() const;
  NamedArray *find(const std::string &name);
};

/// How to make a problem.
struct Recipe {
  ProblemShape shape;
  RowData data = RowData::Normal;
  Layout layout = Layout::Packed;
  Type type = Type::f32; ///< in which q, k and v are stored, rounded to it
  /// Values of size variables; a missing one is D.
  std::map<std::string, int64_t> sizes;
  /// Parameters that are set by the user.
  std::map<std::string, double> settings;
  /// Numbers for everybody: what is not set gets one moderate value.
  bool plainParameters = false;
  /// Parameters that are bounded below lie just above their bound.
  bool tinyParameters = false;
  std::vector<int64_t> keyLengths, queryLengths, offsets;
  uint64_t seed = 1;
};

/// What the signature says about the inputs.
struct InputRoles {
  std::string query, key, value; ///< names; roles may share one
  bool queryIsKey() const { return query == key; }
  bool queryIsValue() const { return query == value; }
  bool keyIsValue() const { return key == value; }
};
InputRoles rolesOf(const runtime::Signature &signature);
/// Whether an axis or an edge of that name is an array extent, or is no name.
bool isExtentName(const std::string &name);
/// The names of the size variables, sorted.
std::vector<std::string> sizeVariables(const runtime::Signature &signature);
/// Changes a shape as little as needed where roles share an input.
ProblemShape fitShape(ProblemShape shape, const runtime::Signature &signature);

/// Adds the values of a parameter: inside its bound, of moderate size, with the
/// extents that its axes have in this recipe.
void addParameter(Problem &problem, const runtime::Formal &formal,
                  const Recipe &recipe, Random &random);

/// Makes the arguments. The shape must fit; throws UsageError for a setting of
/// a parameter that is not there.
Problem makeProblem(const runtime::Signature &signature, const Recipe &recipe);

/// The problem of sequence `b` alone, sharing no memory.
Problem extractSequence(const runtime::Signature &signature,
                        const Problem &problem, int64_t b);
/// The same numbers, every array row-major.
Problem packed(const Problem &problem);
/// The same array with its elements rounded to another type.
Array storedAs(const Array &array, Type type);
/// Moves every real number by about a unit in the last place of f32, rows as a
/// whole too: what the answer is sensitive to. Arrays become f64.
Problem perturbed(const runtime::Signature &signature, const Problem &problem,
                  uint64_t seed);

} // namespace attn

#endif // ATTN_TOOLS_PROBLEM_H
