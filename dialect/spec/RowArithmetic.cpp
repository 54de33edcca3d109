//===- RowArithmetic.cpp - functions of rows ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Arithmetic.h"

using namespace attn;
using Operator = Spec::Operator;
using Place = Spec::Place;

static constexpr ValueType kReal = ValueType::Real, kRow = ValueType::Row;

NodeId Arithmetic::dot(NodeId a, NodeId b, Place place) {
  wantRow(a, "'dot'", place);
  wantRow(b, "'dot'", place);
  return graph.add(NodeOp::Dot, kReal, {a, b}, place);
}

NodeId Arithmetic::sqdist(NodeId a, NodeId b, Place place) {
  wantRow(a, "'sqdist'", place);
  wantRow(b, "'sqdist'", place);
  return graph.add(NodeOp::SqDist, kReal, {a, b}, place);
}

NodeId Arithmetic::product(NodeId row, NodeId matrix, Place place) {
  wantOneSide({row, matrix}, place);
  return graph.add(NodeOp::Project, kRow, {row, matrix}, place);
}

NodeId Arithmetic::unit(NodeId row, Place place) {
  wantRow(row, "'unit'", place);
  return graph.add(NodeOp::Unit, kRow, {row}, place);
}

NodeId Arithmetic::concat(const std::vector<NodeId> &rows, Place place) {
  for (NodeId row : rows)
    wantRow(row, "'concat'", place);
  wantOneSide(rows, place);
  return rows.size() == 1 ? rows[0]
                          : graph.add(NodeOp::Concat, kRow, rows, place);
}

NodeId Arithmetic::outer(NodeId a, NodeId b, Place place) {
  wantRow(a, "'outer'", place);
  wantRow(b, "'outer'", place);
  wantOneSide({a, b}, place);
  return graph.add(NodeOp::Outer, kRow, {a, b}, place);
}

NodeId Arithmetic::power(NodeId row, NodeId degree, Place place) {
  wantRow(row, "'power'", place);
  const Node &p = graph[degree];
  if (p.op != NodeOp::IntConstant || p.integer < 1 || p.integer > 64)
    throw SpecError{"the degree of 'power' is a constant integer from 1 to 64; "
                    "'^' raises every coordinate",
                    place};
  if (p.integer == 1)
    return row;
  Node node;
  node.op = NodeOp::TensorPower;
  node.type = kRow;
  node.operands = {row};
  node.integer = p.integer;
  node.place = place;
  return graph.add(std::move(node));
}

NodeId Arithmetic::rope(NodeId row, NodeId position, double base,
                        bool interleaved, Place place) {
  wantRow(row, "'rope'", place);
  if (!graph[position].isNumber())
    throw SpecError{std::string("the position of 'rope' is a number, not ") +
                        describe(graph[position].type) +
                        "; write 'rope(q, i)' or 'rope(k, j)'",
                    place};
  position = toReal(position, place);
  wantOneSide({row, position}, place);
  Node node;
  node.op = NodeOp::Rope;
  node.type = kRow;
  node.operands = {row, position};
  node.real = base;
  node.integer = interleaved;
  node.place = place;
  return graph.add(std::move(node));
}

NodeId Arithmetic::dim(NodeId row, Place place) {
  wantRow(row, "'dim'", place);
  // Rows are shared, so the walk must not take the same way twice.
  auto found = lengths.find(row);
  if (found != lengths.end())
    return found->second;
  NodeId length = lengthOf(row, place);
  lengths.emplace(row, length);
  return length;
}

NodeId Arithmetic::lengthOf(NodeId row, Place place) {
  // Element-wise operations and rotations keep the length of a row operand. A
  // loop: such chains may be long.
  while (true) {
    const Node &node = graph[row];
    if (node.op != NodeOp::Unit && node.op != NodeOp::Rope &&
        !node.isElementwiseRow())
      break;
    NodeId next = row;
    for (NodeId operand : node.operands)
      if (graph[operand].isRow() && next == row)
        next = operand;
    row = next;
  }
  // A copy: adding nodes moves them.
  Node node = graph[row];
  auto combine = [&](Operator op, NodeId a, NodeId b) {
    return binary(op, a, b, place);
  };
  switch (node.op) {
  case NodeOp::Project:
  case NodeOp::ParamRow: {
    const Node &memory =
        node.op == NodeOp::Project ? graph[node.operands[1]] : node;
    Node extent;
    extent.op = NodeOp::Extent;
    extent.integer = memory.integer;
    extent.axis = memory.axis + (node.op == NodeOp::Project ? 1 : 0);
    extent.nonZero = extent.positive = true;
    extent.place = place;
    return graph.add(std::move(extent));
  }
  case NodeOp::Concat: {
    NodeId sum = dim(node.operands[0], place);
    for (size_t t = 1; t < node.operands.size(); ++t)
      sum = combine(Operator::Add, sum, dim(node.operands[t], place));
    return sum;
  }
  case NodeOp::Outer:
    return combine(Operator::Multiply, dim(node.operands[0], place),
                   dim(node.operands[1], place));
  case NodeOp::TensorPower: { // binom(n + p - 1, p), each division exact
    NodeId n = dim(node.operands[0], place), channels = n;
    for (int64_t t = 2; t <= node.integer; ++t) {
      NodeId factor = combine(Operator::Add, n, graph.integer(t - 1, place));
      Node quotient;
      quotient.op = NodeOp::FloorDivide;
      quotient.nonZero = quotient.positive = true;
      quotient.operands = {combine(Operator::Multiply, channels, factor),
                           graph.integer(t, place)};
      quotient.place = place;
      channels = graph.add(std::move(quotient));
    }
    return channels;
  }
  default:
    break;
  }
  Node length;
  length.op = NodeOp::Dim;
  length.operands = {row};
  if (node.op == NodeOp::Role)
    length.operands.push_back(dim(node.operands[0], place));
  length.nonZero = length.positive = true;
  length.place = place;
  return graph.add(std::move(length));
}
