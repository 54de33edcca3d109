//===- Scope.h - what names stand for ---------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inputs, parameters, size variables, roles, names and functions of one spec,
// and the evaluation of its expressions to nodes of the graph.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_SCOPE_H
#define ATTN_DIALECT_SPEC_SCOPE_H

#include "dialect/spec/Checker.h"

#include <functional>
#include <map>
#include <string_view>
#include <unordered_map>

namespace attn {

class Scope {
public:
  Scope(const Spec &spec, Arithmetic &arithmetic);

  /// Enters inputs and parameters.
  void declare();
  /// q, k or v: 0, 1 or 2; otherwise -1.
  static int roleOf(std::string_view name);
  /// The row that a role stands for now, or kNone.
  NodeId role(unsigned r) const { return roles[r]; }
  /// Assigns a role; the row has been checked.
  void setRole(unsigned r, NodeId row);
  /// Enter a name or function of statement `number`, counted from 1.
  void defineName(const Spec::Statement &statement, size_t number);
  void defineFunction(const Spec::Statement &statement, size_t number);

  /// The value of an expression that stands in statement number `statement`.
  NodeId evaluate(Spec::Id expression, size_t statement);
  /// The innermost expression of those last evaluated that `holds` is true of:
  /// where an error about a whole statement is reported.
  Spec::Place blame(Spec::Id root,
                    const std::function<bool(NodeId)> &holds) const;

private:
  struct Entry {
    enum Kind { Input, Parameter, Size, Value, Function } kind;
    size_t index = 0;     ///< of an input or parameter
    NodeId value = 0;     ///< of a size variable or name
    size_t statement = 0; ///< names are seen by later statements only
  };
  using Values = std::unordered_map<Spec::Id, NodeId>;
  /// The arguments of the function that is being evaluated.
  using Locals = std::map<std::string_view, NodeId>;

  void declareParameter(size_t index);
  void declareSizes();
  void enter(const Spec::Name &name, Entry entry, const char *what);
  const Entry *find(std::string_view name) const;
  [[noreturn]] void failUnknown(const std::string &name, Spec::Place place,
                                bool called) const;

  NodeId evaluateIn(Spec::Id root, Values &values, const Locals *locals);
  NodeId evaluateNode(const Spec::Expression &e, const Values &values,
                      const Locals *locals);
  NodeId variable(const Spec::Expression &e, const Locals *locals);
  NodeId reserved(const Spec::Expression &e);
  NodeId call(const Spec::Expression &e, const Values &values,
              const Locals *locals);
  NodeId callFunction(const Spec::Expression &e, const Entry &entry,
                      std::vector<NodeId> arguments);
  NodeId callBuiltin(const Spec::Expression &e,
                     const std::vector<NodeId> &arguments);
  NodeId callRope(const Spec::Expression &e, const std::vector<NodeId> &x);
  NodeId documentMask(const Spec::Expression &e);
  void checkNames(Spec::Id root, const std::vector<Spec::Name> &locals);

  // Parameters.
  NodeId wholeParameter(size_t index, Spec::Place place);
  NodeId readParameter(size_t index, const std::vector<NodeId> &indices,
                       Spec::Place place);
  NodeId clampedIndex(size_t index, uint32_t axis, NodeId i, Spec::Place place);
  NodeId edge(const Spec::Edge &edge, Spec::Place place);
  NodeId extent(int64_t array, uint32_t axis, Spec::Place place);

  const Spec &spec;
  Arithmetic &arithmetic;
  Graph &graph;
  std::unordered_map<std::string_view, Entry> entries;
  NodeId roles[3] = {CheckedSpec::kNone, CheckedSpec::kNone,
                     CheckedSpec::kNone};
  unsigned assignments[3] = {0, 0, 0};
  size_t current = 0; ///< the statement that is being evaluated
  Values top;         ///< the values of its expressions
  unsigned calls = 0; ///< functions that are being evaluated
  size_t steps = 0;   ///< expressions evaluated inside functions
  /// Results of functions: arguments to value, until a role changes.
  std::map<std::pair<const Entry *, std::vector<NodeId>>, NodeId> results;
};

} // namespace attn

#endif // ATTN_DIALECT_SPEC_SCOPE_H
