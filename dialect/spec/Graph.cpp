//===- Graph.cpp - typed expressions, each stored once --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Graph.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>

using namespace attn;

namespace {
/// Passes over expressions may recurse, so their depth is bounded here.
constexpr uint32_t kMaxDepth = 1000;
/// Functions of functions can grow without bound.
constexpr size_t kMaxNodes = 1000000;
} // namespace

const char *attn::describe(ValueType type) {
  switch (type) {
  case ValueType::Int:
    return "an int";
  case ValueType::Real:
    return "a real";
  case ValueType::Bool:
    return "a condition";
  case ValueType::Row:
    return "a row";
  case ValueType::Matrix:
    return "a matrix";
  }
  return "";
}

bool attn::isHeldByF32(double value) {
  float rounded = static_cast<float>(value);
  if (std::isinf(rounded))
    return std::isinf(value);
  return value == 0 || !(std::fabs(rounded) < FLT_MIN);
}

/// An infinity or a 0 that a function of finite numbers has at no such place is
/// float64's: its largest or smallest number stands for the true one.
static double withinF64(const Node &node, double a, double b, double value) {
  if (!std::isfinite(a) || !std::isfinite(b))
    return value;
  bool pole = false, zero = false;
  switch (node.op) {
  case NodeOp::Add:
  case NodeOp::Subtract:
    zero = true;
    break;
  case NodeOp::Multiply:
    zero = a == 0 || b == 0;
    break;
  case NodeOp::Divide:
    pole = b == 0;
    zero = a == 0;
    break;
  case NodeOp::IntPower:
  case NodeOp::Power:
    pole = zero = a == 0;
    break;
  case NodeOp::Exp:
    break;
  default:
    return value;
  }
  if (std::isinf(value) && !pole)
    return std::copysign(DBL_MAX, value);
  if (value == 0 && !zero)
    return std::copysign(DBL_TRUE_MIN, value);
  return value;
}

Graph::Graph() : unique(16, Hash{this}, Equal{this}) {}

static uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

size_t Graph::Hash::operator()(NodeId id) const {
  const Node &node = graph->nodes[id];
  uint64_t hash =
      static_cast<uint64_t>(node.op) * 8 + static_cast<uint64_t>(node.type);
  auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  mix(node.axis);
  mix(static_cast<uint64_t>(node.integer));
  mix(bitsOf(node.real));
  for (NodeId operand : node.operands)
    mix(operand);
  return hash;
}

bool Graph::Equal::operator()(NodeId a, NodeId b) const {
  const Node &x = graph->nodes[a], &y = graph->nodes[b];
  return x.op == y.op && x.type == y.type && x.axis == y.axis &&
         x.integer == y.integer && bitsOf(x.real) == bitsOf(y.real) &&
         x.operands == y.operands;
}

NodeId Graph::integer(int64_t value, Spec::Place place) {
  Node node;
  node.integer = value;
  node.place = place;
  node.nonZero = value != 0;
  node.positive = value > 0;
  return add(std::move(node));
}

NodeId Graph::real(double value, Spec::Place place) {
  Node node;
  node.op = NodeOp::RealConstant;
  node.type = ValueType::Real;
  node.real = value;
  node.place = place;
  return add(std::move(node));
}

NodeId Graph::boolean(bool value, Spec::Place place) {
  Node node;
  node.op = NodeOp::BoolConstant;
  node.type = ValueType::Bool;
  node.integer = value;
  node.place = place;
  return add(std::move(node));
}

NodeId Graph::add(NodeOp op, ValueType type, std::vector<NodeId> operands,
                  Spec::Place place) {
  Node node;
  node.op = op;
  node.type = type;
  node.operands = std::move(operands);
  node.place = place;
  return add(std::move(node));
}

NodeId Graph::add(Node node) {
  for (NodeId operand : node.operands) {
    node.depth = std::max(node.depth, nodes[operand].depth + 1);
    // The length of a row is the same for all rows, and a role hides what it
    // was made from, but not the memory.
    if (node.op != NodeOp::Dim)
      node.uses |= node.op == NodeOp::Role
                       ? nodes[operand].uses & (7 * Node::DerivesFrom)
                       : nodes[operand].uses;
  }
  if (node.depth > kMaxDepth)
    throw SpecError{"this expression is more than " +
                        std::to_string(kMaxDepth) +
                        " operations deep; write it with fewer",
                    node.place};
  if (nodes.size() >= kMaxNodes)
    throw SpecError{"this spec expands to more than " +
                        std::to_string(kMaxNodes) +
                        " operations; write it with fewer",
                    node.place};
  if (!node.isConstant() && !node.isRow() && !node.operands.empty() &&
      fold(node))
    return add(std::move(node));

  nodes.push_back(std::move(node));
  auto [where, added] = unique.insert(static_cast<NodeId>(nodes.size() - 1));
  if (!added)
    nodes.pop_back();
  return *where;
}

/// Replaces a node whose operands are constants by a constant.
bool Graph::fold(Node &node) const {
  for (NodeId operand : node.operands)
    if (!nodes[operand].isConstant())
      return false;
  ValueType operandType = nodes[node.operands[0]].type;
  if (node.type == ValueType::Int && node.op != NodeOp::Floor &&
      node.op != NodeOp::Select)
    return foldIntegers(node);

  auto valueOf = [&](size_t t) {
    const Node &operand = nodes[node.operands[t]];
    return operand.type == ValueType::Real ? operand.real
                                           : double(operand.integer);
  };
  double a = valueOf(0), b = node.operands.size() > 1 ? valueOf(1) : 0;
  // Ints are compared exactly.
  bool ints = operandType == ValueType::Int;
  int64_t m = nodes[node.operands[0]].integer,
          n = node.operands.size() > 1 ? nodes[node.operands[1]].integer : 0;
  double value = 0;
  switch (node.op) {
  case NodeOp::ToReal:
    value = a;
    break;
  case NodeOp::Floor:
    if (!(std::fabs(a) < 9e18))
      return false;
    value = std::floor(a);
    break;
  case NodeOp::Negate:
    value = -a;
    break;
  case NodeOp::Add:
    value = a + b;
    break;
  case NodeOp::Subtract:
    value = a - b;
    break;
  case NodeOp::Multiply:
    value = a * b;
    break;
  case NodeOp::Divide:
    value = a / b;
    break;
  case NodeOp::IntPower:
    value = std::pow(a, double(node.integer));
    break;
  case NodeOp::Power:
    value = std::pow(a, b);
    break;
  case NodeOp::Min:
    value = std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
    break;
  case NodeOp::Max:
    value = std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
    break;
  case NodeOp::Abs:
    value = std::fabs(a);
    break;
  case NodeOp::Exp:
    value = std::exp(a);
    break;
  case NodeOp::Expm1:
    value = std::expm1(a);
    break;
  case NodeOp::Log:
    value = std::log(a);
    break;
  case NodeOp::Log1p:
    value = std::log1p(a);
    break;
  case NodeOp::Sqrt:
    value = std::sqrt(a);
    break;
  case NodeOp::Tanh:
    value = std::tanh(a);
    break;
  case NodeOp::Cos:
    value = std::cos(a);
    break;
  case NodeOp::Sin:
    value = std::sin(a);
    break;
  case NodeOp::Less:
    value = ints ? m < n : a < b;
    break;
  case NodeOp::LessEqual:
    value = ints ? m <= n : a <= b;
    break;
  case NodeOp::Equal:
    value = ints ? m == n : a == b;
    break;
  case NodeOp::NotEqual:
    value = ints ? m != n : a != b;
    break;
  case NodeOp::And:
    value = m && n;
    break;
  case NodeOp::Or:
    value = m || n;
    break;
  case NodeOp::Not:
    value = !m;
    break;
  case NodeOp::Select: {
    Spec::Place place = node.place;
    node = nodes[node.operands[m ? 1 : 2]];
    node.place = place;
    return true;
  }
  default:
    return false;
  }
  switch (node.type) {
  case ValueType::Real:
    node.real = withinF64(node, a, b, value);
    node.op = NodeOp::RealConstant;
    node.integer = 0;
    break;
  case ValueType::Bool:
    node.op = NodeOp::BoolConstant;
    node.integer = value != 0;
    break;
  default:
    node.op = NodeOp::IntConstant;
    node.integer = static_cast<int64_t>(value);
    node.nonZero = node.integer != 0;
    node.positive = node.integer > 0;
  }
  node.operands.clear();
  node.depth = 0;
  return true;
}

bool Graph::foldIntegers(Node &node) const {
  int64_t a = nodes[node.operands[0]].integer, value = 0;
  int64_t b = node.operands.size() > 1 ? nodes[node.operands[1]].integer : 0;
  bool overflow = false;
  switch (node.op) {
  case NodeOp::Negate:
    overflow = __builtin_sub_overflow(int64_t(0), a, &value);
    break;
  case NodeOp::Add:
    overflow = __builtin_add_overflow(a, b, &value);
    break;
  case NodeOp::Subtract:
    overflow = __builtin_sub_overflow(a, b, &value);
    break;
  case NodeOp::Multiply:
    overflow = __builtin_mul_overflow(a, b, &value);
    break;
  case NodeOp::FloorDivide:
    overflow = b == 0 || (a == INT64_MIN && b == -1);
    if (!overflow)
      value = a / b - (a % b != 0 && (a % b < 0) != (b < 0));
    break;
  case NodeOp::Min:
    value = std::min(a, b);
    break;
  case NodeOp::Max:
    value = std::max(a, b);
    break;
  case NodeOp::Abs:
    overflow = a == INT64_MIN;
    value = a < 0 && !overflow ? -a : a;
    break;
  default:
    return false;
  }
  if (overflow)
    throw SpecError{"this integer does not fit in 64 bits; write a real, as in "
                    "'1e20'",
                    node.place};
  node.op = NodeOp::IntConstant;
  node.integer = value;
  node.nonZero = value != 0;
  node.positive = value > 0;
  node.operands.clear();
  node.depth = 0;
  return true;
}
