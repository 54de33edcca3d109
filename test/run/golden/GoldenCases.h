//===- GoldenCases.h - cases with known answers, and their rule -*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the cases that import_cases.py wrote, runs one on a target through the
// public interface, and compares by the pass rule. Any target's tests can use
// this: it knows specs, arrays and numbers, and nothing of how they are
// computed.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_RUN_GOLDEN_GOLDENCASES_H
#define ATTN_TEST_RUN_GOLDEN_GOLDENCASES_H

#include "attn/attn.h"
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace attn::golden {

/// An array in arrays.bin.
struct StoredArray {
  Type type = Type::f32;
  std::vector<int64_t> shape;
  int64_t offset = 0; ///< in bytes

  int64_t size() const;
};

/// What an output must be, and how close.
struct Expected {
  StoredArray array; ///< NaN: any value will do
  double tolerance = 0;
  /// Per row, sum |kappa| / |sum kappa|: how much a mass may suffer (mass).
  std::optional<StoredArray> condition;
  /// o = 0 with mass = 0 is right too: kappa is below what f32 holds.
  bool mayVanish = false;
};

/// One case: a spec, what it is called with, and what comes out.
struct Case {
  std::string id, spec;
  std::map<std::string, StoredArray> arrays;
  std::map<std::string, double> numbers;
  std::map<std::string, Expected> expected;
};
inline std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.id;
}

/// The cases of a folder, with what they refer to.
class Suite {
public:
  /// Reads cases.json and specs.attn; throws Error if they are not there.
  explicit Suite(const std::string &folder);

  const std::vector<Case> &cases() const { return all; }
  /// The text of a spec.
  const std::string &spec(const std::string &name) const;
  /// The elements of an array, as stored.
  std::vector<char> read(const StoredArray &array) const;
  std::vector<double> readDoubles(const StoredArray &array) const;

private:
  std::string folder;
  std::vector<Case> all;
  std::map<std::string, std::string> specs;
};

/// How the inputs lie in memory.
enum class Layout {
  RowMajor,
  /// [B, N, H, D] with a gap after each row, keys backwards, NaN in between.
  Strided
};

/// Runs a case. Returns what is wrong, a line an output; empty if it passes. A
/// target that promises more than the cases ask for gives its own tolerance,
/// which holds where it is the smaller one.
std::string check(const Suite &suite, const Case &c, const Options &options,
                  Layout layout = Layout::RowMajor, double tolerance = 1);

/// The relative L2 error of o on the CPU against the reference, both given the
/// case's real arrays rounded to `type`; 0 where the case has no o.
double errorStoredAs(const Suite &suite, const Case &c, Type type,
                     const std::string &level = {});

/// Compares one output (o, mass, lse, ...) by the pass rule. `mass` is the
/// computed mass where there is one.
std::string compare(const Suite &suite, const std::string &name,
                    const Expected &expected, const std::vector<double> &actual,
                    const std::vector<double> *mass);

} // namespace attn::golden

#endif // ATTN_TEST_RUN_GOLDEN_GOLDENCASES_H
