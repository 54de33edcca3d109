//===- ScalarFunctions.cpp - functions of scalars -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Arithmetic.h"

using namespace attn;
using Operator = Spec::Operator;
using Place = Spec::Place;

static constexpr ValueType kInt = ValueType::Int, kBool = ValueType::Bool,
                           kRow = ValueType::Row;

NodeId Arithmetic::realFunction(NodeOp op, NodeId x, Place place) {
  x = toReal(x, place);
  return graph.add(op, graph[x].type, {x}, place);
}

NodeId Arithmetic::select(NodeId c, NodeId a, NodeId b, Place place) {
  wantCondition(c, "the first argument of 'where'", place);
  if (graph[a].type != kBool || graph[b].type != kBool) {
    wantNumberOrRow(a, "'where'", place);
    wantNumberOrRow(b, "'where'", place);
    if (graph[a].type != kInt || graph[b].type != kInt) {
      a = toReal(a, place);
      b = toReal(b, place);
    }
  }
  bool row = graph[a].isRow() || graph[b].isRow();
  if (row)
    wantOneSide({c, a, b}, place);
  Node node;
  node.op = NodeOp::Select;
  node.type = row ? kRow : graph[a].type;
  node.nonZero = graph[a].nonZero && graph[b].nonZero;
  node.positive = graph[a].positive && graph[b].positive;
  node.operands = {c, a, b};
  node.place = place;
  return graph.add(std::move(node));
}

NodeId Arithmetic::function(const std::string &name,
                            const std::vector<NodeId> &x, Place place) {
  if (name == "where")
    return select(x[0], x[1], x[2], place);
  for (NodeId argument : x)
    wantNumberOrRow(argument, "'" + name + "'", place);
  if (name == "min" || name == "max") {
    NodeOp op = name == "min" ? NodeOp::Min : NodeOp::Max;
    NodeId result = x[0];
    for (size_t t = 1; t < x.size(); ++t)
      result = numeric(op, result, x[t], name.c_str(), place);
    return result;
  }
  NodeId a = x[0];
  if (name == "abs") {
    Node node;
    node.op = NodeOp::Abs;
    node.type = graph[a].type;
    node.nonZero = node.positive = graph[a].nonZero;
    node.operands = {a};
    node.place = place;
    return graph.add(std::move(node));
  }
  if (name == "floor") {
    if (graph[a].isRow())
      throw SpecError{"'floor' makes an int and takes no row", place};
    return graph[a].type == kInt ? a
                                 : graph.add(NodeOp::Floor, kInt, {a}, place);
  }
  NodeId zero = graph.real(0, place), one = graph.real(1, place);
  auto add = [&](NodeId m, NodeId n) {
    return numeric(NodeOp::Add, m, n, "+", place);
  };
  auto positivePart = [&] {
    return numeric(NodeOp::Max, toReal(a, place), zero, "max", place);
  };
  if (name == "relu")
    return positivePart();
  if (name == "elu") { // max(x, 0) + expm1(min(x, 0))
    NodeId below = numeric(NodeOp::Min, toReal(a, place), zero, "min", place);
    NodeId tail = realFunction(NodeOp::Expm1, below, place);
    NodeId above = positivePart();
    return add(above, tail);
  }
  if (name == "softplus") { // max(x, 0) + log1p(exp(-|x|))
    NodeId size = realFunction(NodeOp::Abs, a, place);
    NodeId e =
        realFunction(NodeOp::Exp, unary(Operator::Minus, size, place), place);
    NodeId tail = realFunction(NodeOp::Log1p, e, place);
    NodeId above = positivePart();
    return add(above, tail);
  }
  if (name == "sigmoid") { // 1 / (1 + exp(-x))
    NodeId minus = unary(Operator::Minus, toReal(a, place), place);
    NodeId e = realFunction(NodeOp::Exp, minus, place);
    return numeric(NodeOp::Divide, one, add(one, e), "/", place);
  }
  NodeOp op = name == "exp"    ? NodeOp::Exp
              : name == "log"  ? NodeOp::Log
              : name == "sqrt" ? NodeOp::Sqrt
              : name == "tanh" ? NodeOp::Tanh
              : name == "cos"  ? NodeOp::Cos
                               : NodeOp::Sin;
  return realFunction(op, a, place);
}
