//===- Facts.h - what the compiler says of a kernel -------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `attnc explain` prints them, and C headers carry some as a comment.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_FACTS_H
#define ATTN_TOOLS_FACTS_H

#include "dialect/attn/Attn.h"
#include "runtime/Signature.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace attn {

/// What is said, in order: a name, its value as text, and as JSON where that
/// differs.
struct Fact {
  std::string name, text, json;
};

class Facts {
public:
  void add(const std::string &name, const std::string &text);
  void addNumber(const std::string &name, double value,
                 const std::string &text);
  void addList(const std::string &name, const std::vector<std::string> &items);
  void printText() const;
  void printJson() const;
  const std::vector<Fact> &all() const { return facts; }
  /// The text of a fact, or nothing.
  std::string find(const std::string &name) const;

private:
  std::vector<Fact> facts;
};

/// What the spec says, as the importer understood it: kernel, inputs,
/// parameters, q, k, v, kappa, mask, normalize, returns.
void addMeaning(Facts &facts, const runtime::Signature &signature,
                AttentionOp op);

/// What was proven and decided: nonnegative, gauge, their reasons, schedule,
/// tiles, target.
void addPlan(Facts &facts, QuadraticOp op, mlir::ModuleOp module);

} // namespace attn

#endif // ATTN_TOOLS_FACTS_H
