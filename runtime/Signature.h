//===- Signature.h - what a kernel is called with ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The #attn.arg attributes of an attention function as plain data, so that
// binding arguments (on every call) needs neither MLIR nor a lock.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SIGNATURE_H
#define ATTN_RUNTIME_SIGNATURE_H

#include "attn/attn.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn::runtime {

/// What a formal argument is bound to; the cases of `attn::ArgKind`.
enum class FormalKind {
  Query,
  Key,
  Value,
  Param,
  KeyLengths,
  QueryLengths,
  Offset,
  State,
  Output,
  Workspace
};

/// The name of the state that a call in the recurrent order takes and gives.
inline constexpr std::string_view kState = "state";
/// That order, as Options::schedule names it.
inline constexpr std::string_view kRecurrent = "recurrent";

/// One end of a table axis: an integer, or a name (a size variable, nq, nk),
/// negated or not.
struct Edge {
  std::string name; ///< empty: the number
  int64_t number = 0;
  bool negated = false;
};

/// One axis of a parameter.
struct Axis {
  enum Kind { Head, KvHead, Batch, Named, Table } kind = Named;
  std::string name; ///< Named: a size variable, nq or nk
  Edge low, high;   ///< Table: the closed range
  /// As in the spec.
  std::string toString() const;
};

/// A function argument.
struct Formal {
  FormalKind kind = FormalKind::Param;
  std::string name;
  std::vector<Axis> axes; ///< Param
  bool integer = false;   ///< Param
  std::string relop;      ///< Param: empty if no bound is declared
  double bound = 0;
};

/// The arguments of an attention function, in order.
struct Signature {
  std::string name;
  std::vector<Formal> formals;
  /// Names of the outputs, in order.
  std::vector<std::string> results;
};

/// Reads an axis as #attn.arg spells it: "head", "D", "-128:nk".
/// Returns false where the text is none.
bool parseAxis(const std::string &text, Axis &axis);

/// What code is specialised on: the row length of each input by its name, the
/// size variables, and the types of inputs that are not f32. Sorted by name, so
/// that equal sizes compare equal.
struct StaticSizes {
  std::vector<std::pair<std::string, int64_t>> rows;
  std::vector<std::pair<std::string, int64_t>> variables;
  std::vector<std::pair<std::string, Type>> types;
  /// How many queries sequences have, at least and at most: tiles are no
  /// larger, and code for few queries (kFewQueries) is made where they may
  /// come. Code is right for fewer, too.
  int64_t fewestQueries = 0, mostQueries = INT64_MAX;

  bool operator==(const StaticSizes &other) const {
    return rows == other.rows && variables == other.variables &&
           types == other.types && fewestQueries == other.fewestQueries &&
           mostQueries == other.mostQueries;
  }
};

/// `q=64 k=64 v=64 v:bf16`.
std::string toText(const StaticSizes &sizes);

/// The sizes that tools use where none are given: 64 for everything.
StaticSizes defaultSizes(const Signature &signature);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_SIGNATURE_H
