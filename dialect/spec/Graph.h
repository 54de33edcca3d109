//===- Graph.h - typed expressions, each stored once ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the checker makes of a spec and the importer emits: nodes with a type
// and with what they depend on. Equal nodes are one node, so that names used
// twice and functions called twice cost nothing; constants are folded in
// float64, ints exactly; a result that float64 does not hold is its largest or
// smallest number, which is outside of f32 just as well. Operands stand before
// their users: walks are loops, not recursion.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_GRAPH_H
#define ATTN_DIALECT_SPEC_GRAPH_H

#include "dialect/spec/Error.h"

#include <unordered_set>
#include <vector>

namespace attn {

enum class ValueType : uint8_t { Int, Real, Bool, Row, Matrix };

/// "an int", "a row", ...: for messages.
const char *describe(ValueType type);

/// Whether f32 has a number for this one: finite numbers that round to an
/// infinity have none, nor have those below 2^-126, which count as 0.
bool isHeldByF32(double value);
/// "... is " this: for messages.
constexpr const char *kOutsideF32 =
    "outside of the range of f32, about 1.2e-38 to 3.4e38";

enum class NodeOp : uint8_t {
  // Leaves.
  IntConstant,  ///< `integer`
  RealConstant, ///< `real`
  BoolConstant, ///< `integer`
  Index,        ///< a position, head, batch or true length: `integer` is
                ///< attn::Position
  Extent,       ///< extent `axis` of an array; `integer` is the parameter, or
                ///< kQueryArray, kKeyArray
  Input,        ///< the row of input `integer`, in memory
  // Rows by name.
  Role, ///< q, k or v (`integer` 0, 1, 2) as it stands after assignment `axis`;
        ///< operand 0: its value
  Dim,  ///< length of a Role or Input (operand 0); operand 1 of a Role: the
        ///< same, without it
  // Parameter `integer` at the operands, one a leading explicit axis, in range.
  Load,
  ParamRow,
  ParamMatrix,
  // Scalar; element-wise where the type is Row.
  ToReal,
  Floor,
  Negate,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  IntPower, ///< to the constant `integer`
  Power,
  Min,
  Max,
  Abs,
  Exp,
  Expm1,
  Log,
  Log1p,
  Sqrt,
  Tanh,
  Cos,
  Sin,
  Select,
  Less,
  LessEqual,
  Equal,
  NotEqual,
  And,
  Or,
  Not,
  // Rows.
  Dot,
  SqDist,
  Unit,
  Project,
  Rope,        ///< of row, position; base `real`, interleaved `integer`
  TensorPower, ///< to the degree `integer`
  Concat,
  Outer
};

using NodeId = uint32_t;

struct Node {
  static constexpr int64_t kQueryArray = -1, kKeyArray = -2;
  /// What a node depends on, one bit each.
  enum Use : uint16_t {
    UsesI = 1,
    UsesJ = 2,
    UsesHead = 4, ///< the query head, which a key row does not have
    UsesQ = 8,    ///< the role q; k and v are the next bits
    UsesK = 16,
    UsesV = 32,
    UsesInput = 64,    ///< an input that is no role; up to three of them
    DerivesFrom = 512, ///< the memory of an input, through roles too; three
    QuerySide = UsesI | UsesQ,
    KeySide = UsesJ | UsesK | UsesV,
    AnyInput = 7 * UsesInput,
    AnyRow = UsesQ | UsesK | UsesV | AnyInput
  };

  NodeOp op = NodeOp::IntConstant;
  ValueType type = ValueType::Int;
  bool nonZero = false;  ///< an int that is never 0
  bool positive = false; ///< an int that is always > 0
  uint16_t uses = 0;
  uint32_t axis = 0;
  uint32_t depth = 0;
  int64_t integer = 0;
  double real = 0;
  Spec::Place place;
  std::vector<NodeId> operands;

  bool isConstant() const { return op <= NodeOp::BoolConstant; }
  bool isRow() const { return type == ValueType::Row; }
  bool isNumber() const {
    return type == ValueType::Int || type == ValueType::Real;
  }
  /// Computed coordinate by coordinate: belongs into the region of an attn.map.
  bool isElementwiseRow() const {
    return isRow() && op >= NodeOp::ToReal && op <= NodeOp::Select;
  }
};

class Graph {
public:
  Graph();
  Graph(const Graph &) = delete; // the index points back to the nodes
  Graph &operator=(const Graph &) = delete;
  const Node &operator[](NodeId id) const { return nodes[id]; }
  size_t size() const { return nodes.size(); }

  /// The node equal to this one, which is added if it is new. Sets `uses` from
  /// the operands on top of what is given, and folds constants. Throws
  /// SpecError where the graph becomes too deep or too large.
  NodeId add(Node node);
  NodeId add(NodeOp op, ValueType type, std::vector<NodeId> operands,
             Spec::Place place);
  NodeId integer(int64_t value, Spec::Place place);
  NodeId real(double value, Spec::Place place);
  NodeId boolean(bool value, Spec::Place place);

private:
  bool fold(Node &node) const;
  bool foldIntegers(Node &node) const;

  struct Hash {
    const Graph *graph;
    size_t operator()(NodeId id) const;
  };
  struct Equal {
    const Graph *graph;
    bool operator()(NodeId a, NodeId b) const;
  };
  std::vector<Node> nodes;
  std::unordered_set<NodeId, Hash, Equal> unique;
};

} // namespace attn

#endif // ATTN_DIALECT_SPEC_GRAPH_H
