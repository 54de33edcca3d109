//===- Arithmetic.cpp - operators and functions on typed values -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Arithmetic.h"

#include <cmath>

using namespace attn;
using Operator = Spec::Operator;
using Place = Spec::Place;

static constexpr ValueType kInt = ValueType::Int, kReal = ValueType::Real,
                           kBool = ValueType::Bool, kRow = ValueType::Row;

/// attn::Position's numbers of nq and nk.
static constexpr int64_t kNq = 5, kNk = 6;

//===----------------------------------------------------------------------===//
// Requirements
//===----------------------------------------------------------------------===//

void Arithmetic::wantNumberOrRow(NodeId x, const std::string &what,
                                 Place place) const {
  ValueType type = graph[x].type;
  if (type == kBool)
    throw SpecError{what + " takes numbers, not a condition; write "
                           "'where(condition, 1, 0)'",
                    place};
  if (type == ValueType::Matrix)
    throw SpecError{what + " does not take a matrix; a matrix is multiplied "
                           "from the left by a row, 'x * W'",
                    place};
}

void Arithmetic::wantRow(NodeId x, const std::string &what, Place place) const {
  if (!graph[x].isRow())
    throw SpecError{what + " takes rows, not " + describe(graph[x].type) +
                        "; rows are q, k, v, inputs, and parameters with one "
                        "size axis",
                    place};
}

void Arithmetic::wantCondition(NodeId x, const std::string &what,
                               Place place) const {
  if (graph[x].type != kBool)
    throw SpecError{what + " takes conditions, not " + describe(graph[x].type) +
                        "; compare it with something, as in 'x != 0'",
                    place};
}

void Arithmetic::wantOneSide(const std::vector<NodeId> &operands,
                             Place place) const {
  bool rowOfQuery = false, rowOfKey = false;
  unsigned uses = 0;
  for (NodeId x : operands) {
    uses |= graph[x].uses;
    if (graph[x].isRow()) {
      rowOfQuery |= (graph[x].uses & Node::QuerySide) != 0;
      rowOfKey |= (graph[x].uses & Node::KeySide) != 0;
    }
  }
  if (rowOfQuery && rowOfKey)
    throw SpecError{"a query row and a key row make no row; only 'dot' and "
                    "'sqdist' pair them, as in 'dot(q, k)'",
                    place};
  if ((uses & Node::QuerySide) && (uses & Node::KeySide))
    throw SpecError{std::string("a row of the ") +
                        (rowOfKey ? "key" : "query") +
                        " side takes no scalar that depends on the " +
                        (rowOfKey ? "query" : "key") +
                        "; scale the result of 'dot' or 'sqdist' instead",
                    place};
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

NodeId Arithmetic::toReal(NodeId x, Place place) {
  return graph[x].type == kInt ? graph.add(NodeOp::ToReal, kReal, {x}, place)
                               : x;
}

NodeId Arithmetic::index(unsigned position, Place place) {
  Node node;
  node.op = NodeOp::Index;
  node.integer = position;
  node.place = place;
  if (position <= 2)
    node.uses = 1 << position; // UsesI, UsesJ, UsesHead
  return graph.add(std::move(node));
}

/// Ints stay exact; otherwise both are real, and a row if one is a row.
NodeId Arithmetic::numeric(NodeOp op, NodeId a, NodeId b, const char *text,
                           Place place) {
  std::string what = std::string("'") + text + "'";
  wantNumberOrRow(a, what, place);
  wantNumberOrRow(b, what, place);
  bool ints = graph[a].type == kInt && graph[b].type == kInt;
  if (!ints || op == NodeOp::Divide) {
    a = toReal(a, place);
    b = toReal(b, place);
    ints = false;
  }
  if (ints) { // exact, so what does nothing drops out
    auto is = [&](NodeId x, int64_t value) {
      return graph[x].op == NodeOp::IntConstant && graph[x].integer == value;
    };
    bool sum = op == NodeOp::Add || op == NodeOp::Subtract;
    if ((sum && is(b, 0)) || (op == NodeOp::Multiply && is(b, 1)))
      return a;
    if ((op == NodeOp::Add && is(a, 0)) || (op == NodeOp::Multiply && is(a, 1)))
      return b;
  }
  bool row = graph[a].isRow() || graph[b].isRow();
  if (row)
    wantOneSide({a, b}, place);
  Node node;
  node.op = op;
  node.type = row ? kRow : ints ? kInt : kReal;
  node.operands = {a, b};
  node.place = place;
  if (ints) {
    bool positives = graph[a].positive && graph[b].positive;
    node.nonZero =
        op == NodeOp::Multiply && graph[a].nonZero && graph[b].nonZero;
    if (op == NodeOp::Max)
      positives = graph[a].positive || graph[b].positive;
    node.positive = positives && (op == NodeOp::Add || op == NodeOp::Multiply ||
                                  op == NodeOp::Min || op == NodeOp::Max);
    node.nonZero |= node.positive;
  }
  return graph.add(std::move(node));
}

NodeId Arithmetic::minInt(NodeId a, NodeId b, Place place) {
  return numeric(NodeOp::Min, a, b, "min", place);
}
NodeId Arithmetic::maxInt(NodeId a, NodeId b, Place place) {
  return numeric(NodeOp::Max, a, b, "max", place);
}

/// Machines trap on a division of ints by zero, so it must not be possible.
NodeId Arithmetic::divisor(NodeId b, const char *text, Place place) {
  const Node &node = graph[b];
  if (node.nonZero && (node.isConstant() || node.op == NodeOp::Load))
    return b; // the bound of a parameter is checked on every call
  // An empty sequence has no rows and an empty array no elements, but a divisor
  // made from their extents may be computed.
  bool length =
      node.op == NodeOp::Index && (node.integer == kNq || node.integer == kNk);
  if (node.positive || length)
    return maxInt(b, graph.integer(1, place), place);
  if (node.nonZero)
    return b;
  std::string message = std::string("the divisor of '") + text + "' ";
  if (node.op == NodeOp::IntConstant)
    throw SpecError{message + "is zero", place};
  if (node.op == NodeOp::Load) {
    const std::string &name = parameterNames[node.integer];
    throw SpecError{message +
                        "may be zero; declare a bound that excludes it, "
                        "as in '" +
                        name + ": int > 0'",
                    place};
  }
  throw SpecError{message +
                      "may be zero; divide by a constant, by nq, nk or "
                      "dim, or by a parameter declared as in 'w: int > 0'",
                  place};
}

NodeId Arithmetic::divide(NodeId a, NodeId b, bool modulo, Place place) {
  const char *text = modulo ? "%" : "//";
  for (NodeId x : {a, b})
    if (graph[x].type != kInt)
      throw SpecError{std::string("'") + text + "' takes ints, not " +
                          describe(graph[x].type) +
                          (modulo ? "; write 'a - b * floor(a / b)'"
                                  : "; write 'floor(a / b)'"),
                      place};
  b = divisor(b, text, place);
  NodeId quotient = graph.add(NodeOp::FloorDivide, kInt, {a, b}, place);
  if (!modulo)
    return quotient;
  NodeId whole = numeric(NodeOp::Multiply, quotient, b, "*", place);
  return numeric(NodeOp::Subtract, a, whole, "-", place);
}

NodeId Arithmetic::raise(NodeId base, NodeId exponent, Place place) {
  wantNumberOrRow(base, "'^'", place);
  wantNumberOrRow(exponent, "'^'", place);
  if (graph[exponent].isRow())
    throw SpecError{"an exponent is a number, not a row", place};
  const Node &e = graph[exponent];
  bool whole = e.op == NodeOp::IntConstant;
  int64_t n = e.integer;
  if (e.op == NodeOp::RealConstant && e.real == std::floor(e.real) &&
      std::fabs(e.real) < 1e9) {
    whole = true;
    n = static_cast<int64_t>(e.real);
  }
  if (whole && graph[base].type == kInt && n >= 0 && n < 64) {
    // Ints stay exact: multiply.
    std::optional<NodeId> result;
    NodeId square = base;
    for (int64_t rest = n; rest != 0; rest >>= 1) {
      if (rest & 1)
        result = result ? numeric(NodeOp::Multiply, *result, square, "^", place)
                        : square;
      if (rest > 1)
        square = numeric(NodeOp::Multiply, square, square, "^", place);
    }
    return result ? *result : graph.integer(1, place);
  }
  base = toReal(base, place);
  bool row = graph[base].isRow();
  if (whole && n == 1)
    return base;
  if (whole && n == 0 && !row)
    return graph.real(1, place);
  if (whole && n == -1)
    return numeric(NodeOp::Divide, graph.real(1, place), base, "/", place);
  if (whole && n != 0 && std::abs(n) <= INT32_MAX) {
    Node node;
    node.op = NodeOp::IntPower;
    node.type = row ? kRow : kReal;
    node.operands = {base};
    node.integer = n;
    node.place = place;
    return graph.add(std::move(node));
  }
  if (graph[base].op == NodeOp::RealConstant && graph[base].real < 0)
    throw SpecError{
        "the base of '^' is negative and the exponent is no constant "
        "integer; write an integer exponent",
        place};
  return numeric(NodeOp::Power, base, exponent, "^", place);
}

NodeId Arithmetic::compare(Operator op, NodeId a, NodeId b, Place place) {
  for (NodeId x : {a, b})
    if (!graph[x].isNumber())
      throw SpecError{std::string("comparisons take numbers, not ") +
                          describe(graph[x].type) +
                          (graph[x].isRow() ? "; compare scalars, or use relu, "
                                              "min and max on rows"
                                            : ""),
                      place};
  if (graph[a].type != kInt || graph[b].type != kInt) {
    a = toReal(a, place);
    b = toReal(b, place);
  }
  switch (op) {
  case Operator::Less:
    return graph.add(NodeOp::Less, kBool, {a, b}, place);
  case Operator::LessEqual:
    return graph.add(NodeOp::LessEqual, kBool, {a, b}, place);
  case Operator::Greater:
    return graph.add(NodeOp::Less, kBool, {b, a}, place);
  case Operator::GreaterEqual:
    return graph.add(NodeOp::LessEqual, kBool, {b, a}, place);
  case Operator::Equal:
    return graph.add(NodeOp::Equal, kBool, {a, b}, place);
  default:
    return graph.add(NodeOp::NotEqual, kBool, {a, b}, place);
  }
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

NodeId Arithmetic::unary(Operator op, NodeId x, Place place) {
  if (op == Operator::Not) {
    wantCondition(x, "'not'", place);
    return graph.add(NodeOp::Not, kBool, {x}, place);
  }
  wantNumberOrRow(x, op == Operator::Minus ? "'-'" : "'+'", place);
  if (op == Operator::Plus)
    return x;
  Node node;
  node.op = NodeOp::Negate;
  node.type = graph[x].type;
  node.nonZero = graph[x].nonZero;
  node.operands = {x};
  node.place = place;
  return graph.add(std::move(node));
}

NodeId Arithmetic::binary(Operator op, NodeId a, NodeId b, Place place) {
  switch (op) {
  case Operator::Add:
    return numeric(NodeOp::Add, a, b, "+", place);
  case Operator::Subtract:
    return numeric(NodeOp::Subtract, a, b, "-", place);
  case Operator::Multiply:
    if (graph[b].type == ValueType::Matrix && graph[a].isRow())
      return product(a, b, place);
    if (graph[a].type == ValueType::Matrix && graph[b].isRow())
      throw SpecError{
          "a matrix times a row; the row stands on the left, 'x * W'", place};
    return numeric(NodeOp::Multiply, a, b, "*", place);
  case Operator::Divide:
    return numeric(NodeOp::Divide, a, b, "/", place);
  case Operator::FloorDivide:
    return divide(a, b, /*modulo=*/false, place);
  case Operator::Modulo:
    return divide(a, b, /*modulo=*/true, place);
  case Operator::Power:
    return raise(a, b, place);
  case Operator::And:
  case Operator::Or: {
    const char *what = op == Operator::And ? "'and'" : "'or'";
    wantCondition(a, what, place);
    wantCondition(b, what, place);
    // `none` and other constants drop out.
    for (auto [x, other] : {std::pair(a, b), std::pair(b, a)})
      if (graph[x].op == NodeOp::BoolConstant)
        return (graph[x].integer != 0) == (op == Operator::And) ? other : x;
    return graph.add(op == Operator::And ? NodeOp::And : NodeOp::Or, kBool,
                     {a, b}, place);
  }
  default:
    return compare(op, a, b, place);
  }
}
