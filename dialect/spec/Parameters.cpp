//===- Parameters.cpp - arrays, their axes and their elements -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/Scope.h"
#include "dialect/spec/Words.h"

#include <cmath>

using namespace attn;
using Operator = Spec::Operator;
using Place = Spec::Place;

static bool isImplicit(const Spec::Axis &axis) {
  return axis.name.text == "head" || axis.name.text == "kv_head" ||
         axis.name.text == "batch";
}
static bool isTable(const Spec::Axis &axis) { return axis.name.text.empty(); }
static bool isExtent(std::string_view name) {
  return name == "nq" || name == "nk";
}

/// What the declared bound says about zero.
static void noteBound(const Spec::Parameter &parameter, Node &node) {
  if (!parameter.relop)
    return;
  double b = parameter.bound;
  switch (*parameter.relop) {
  case Operator::Less:
    node.nonZero = b <= 0;
    break;
  case Operator::LessEqual:
    node.nonZero = b < 0;
    break;
  case Operator::Greater:
    node.nonZero = node.positive = b >= 0;
    break;
  case Operator::GreaterEqual:
    node.nonZero = node.positive = b > 0;
    break;
  case Operator::Equal:
    node.nonZero = b != 0;
    node.positive = b > 0;
    break;
  default:
    node.nonZero = b == 0;
  }
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void Scope::declareParameter(size_t index) {
  const Spec::Parameter &parameter = spec.parameters[index];
  Entry entry{Entry::Parameter};
  entry.index = index;
  enter(parameter.name, entry, "parameter");
  arithmetic.parameterNames.push_back(parameter.name.text);
  if (parameter.integer && parameter.relop &&
      parameter.bound != std::floor(parameter.bound))
    throw SpecError{"the bound of an int is an integer", parameter.boundPlace};
  if (parameter.relop && !isHeldByF32(parameter.bound))
    throw SpecError{"the bound of '" + parameter.name.text + "' is " +
                        kOutsideF32 + "; write 0, or leave it out",
                    parameter.boundPlace};
  if (parameter.axes.size() > 8)
    throw SpecError{"a parameter has at most 8 axes", parameter.axes[8].place};
  for (size_t t = 0; t < parameter.axes.size(); ++t) {
    const Spec::Axis &axis = parameter.axes[t];
    if (isTable(axis) && axis.low.variable.text.empty() &&
        axis.high.variable.text.empty() && axis.low.number > axis.high.number)
      throw SpecError{
          "this table is empty; write the smaller edge first, as in "
          "'-128:128'",
          axis.place};
    for (size_t u = 0; u < t; ++u)
      if (isImplicit(axis) && parameter.axes[u].name.text == axis.name.text)
        throw SpecError{"the axis '" + axis.name.text + "' stands twice",
                        axis.place};
  }
}

void Scope::declareSizes() {
  auto known = [&](std::string_view name) {
    auto it = entries.find(name);
    return it != entries.end() && it->second.kind == Entry::Size;
  };
  // Where a size is an axis of its own, that is its value.
  for (size_t p = 0; p < spec.parameters.size(); ++p)
    for (size_t t = 0; t < spec.parameters[p].axes.size(); ++t) {
      const Spec::Axis &axis = spec.parameters[p].axes[t];
      if (isTable(axis) || isImplicit(axis) || isExtent(axis.name.text) ||
          known(axis.name.text))
        continue;
      Entry entry{Entry::Size};
      entry.value = extent(p, t, axis.place);
      enter(axis.name, entry, "size");
    }
  // Else the extent of a table gives it: high - low + 1.
  for (size_t p = 0; p < spec.parameters.size(); ++p)
    for (size_t t = 0; t < spec.parameters[p].axes.size(); ++t) {
      const Spec::Axis &axis = spec.parameters[p].axes[t];
      for (const Spec::Edge *edge : {&axis.low, &axis.high}) {
        const std::string &name = edge->variable.text;
        if (!isTable(axis) || name.empty() || isExtent(name) || known(name))
          continue;
        const Spec::Edge &other = edge == &axis.low ? axis.high : axis.low;
        bool same = other.variable.text == name;
        int64_t factor = edge->negated ? -1 : 1;
        if (edge == &axis.low)
          factor = -factor;
        if (same)
          factor += (other.negated ? -1 : 1) * (&other == &axis.low ? -1 : 1);
        if (factor == 0 || (!same && !other.variable.text.empty()))
          throw SpecError{"the size '" + name +
                              "' follows from no axis; give a "
                              "parameter the axis '" +
                              name + "'",
                          axis.place};
        int64_t fixed = &other == &axis.low ? -other.number : other.number;
        Place place = axis.place;
        NodeId span = arithmetic.binary(Operator::Subtract, extent(p, t, place),
                                        graph.integer(1 + fixed, place), place);
        Entry entry{Entry::Size};
        entry.value = arithmetic.binary(Operator::FloorDivide, span,
                                        graph.integer(factor, place), place);
        enter(edge->variable, entry, "size");
      }
    }
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

NodeId Scope::extent(int64_t array, uint32_t axis, Place place) {
  Node node;
  node.op = NodeOp::Extent;
  node.integer = array;
  node.axis = axis;
  node.nonZero = node.positive = true;
  node.place = place;
  return graph.add(std::move(node));
}

NodeId Scope::edge(const Spec::Edge &edge, Place place) {
  if (edge.variable.text.empty())
    return graph.integer(edge.number, place);
  NodeId value;
  if (isExtent(edge.variable.text))
    value =
        extent(edge.variable.text == "nq" ? Node::kQueryArray : Node::kKeyArray,
               2, place);
  else
    value = entries.at(edge.variable.text).value;
  return edge.negated ? arithmetic.unary(Operator::Minus, value, place) : value;
}

/// An index stays within its axis, and counts from 0.
NodeId Scope::clampedIndex(size_t index, uint32_t axisNumber, NodeId i,
                           Place place) {
  const Spec::Axis &axis = spec.parameters[index].axes[axisNumber];
  if (graph[i].type != ValueType::Int)
    throw SpecError{std::string("an index is an int, not ") +
                        describe(graph[i].type) +
                        (graph[i].type == ValueType::Real
                             ? "; write 'floor(...)'"
                             : "; write i or j for a position"),
                    place};
  NodeId low, high;
  if (isTable(axis)) {
    low = edge(axis.low, axis.place);
    high = edge(axis.high, axis.place);
  } else {
    low = graph.integer(0, place);
    high =
        arithmetic.binary(Operator::Subtract, extent(index, axisNumber, place),
                          graph.integer(1, place), place);
  }
  NodeId inside =
      arithmetic.maxInt(arithmetic.minInt(i, high, place), low, place);
  if (graph[low].op == NodeOp::IntConstant && graph[low].integer == 0)
    return inside;
  return arithmetic.binary(Operator::Subtract, inside, low, place);
}

NodeId Scope::wholeParameter(size_t index, Place place) {
  const Spec::Parameter &parameter = spec.parameters[index];
  for (const Spec::Axis &axis : parameter.axes)
    if (isTable(axis) || isExtent(axis.name.text))
      throw SpecError{
          "'" + parameter.name.text + "' is an array; index it, as in '" +
              parameter.name.text + (isTable(axis) ? "[i - j]'" : "[j]'"),
          place};
  return readParameter(index, {}, place);
}

NodeId Scope::readParameter(size_t index, const std::vector<NodeId> &indices,
                            Place place) {
  const Spec::Parameter &parameter = spec.parameters[index];
  const std::string &name = parameter.name.text;
  Node node;
  node.integer = index;
  node.place = place;
  std::vector<uint32_t> explicitAxes;
  for (uint32_t t = 0; t < parameter.axes.size(); ++t) {
    if (!isImplicit(parameter.axes[t]))
      explicitAxes.push_back(t);
    if (parameter.axes[t].name.text == "head")
      node.uses |= Node::UsesHead;
  }
  if (indices.size() > explicitAxes.size())
    throw SpecError{
        "'" + name + "' has " + std::to_string(explicitAxes.size()) +
            " axes to index, not " + std::to_string(indices.size()) +
            "; head, kv_head and batch are never written",
        place};
  for (size_t t = 0; t < indices.size(); ++t)
    node.operands.push_back(
        clampedIndex(index, explicitAxes[t], indices[t], place));

  size_t rest = explicitAxes.size() - indices.size();
  if (rest == 0) {
    node.op = NodeOp::Load;
    node.type = parameter.integer ? ValueType::Int : ValueType::Real;
    if (parameter.integer)
      noteBound(parameter, node);
    return graph.add(std::move(node));
  }
  if (rest > 2)
    throw SpecError{
        "'" + name + "' has " + std::to_string(rest) +
            " axes left, and a matrix has two; index the others, as "
            "in '" +
            name + "[...]'",
        place};
  if (parameter.integer)
    throw SpecError{"'" + name +
                        "' is an array of ints and rows are real; index "
                        "it, as in '" +
                        name + "[j]', or declare it real",
                    place};
  for (size_t t = 0; t < rest; ++t) {
    const Spec::Axis &axis = parameter.axes[parameter.axes.size() - 1 - t];
    if (isImplicit(axis))
      throw SpecError{
          "the axis '" + axis.name.text + "' of '" + name +
              "' stands behind those of the row or matrix; declare it "
              "first",
          place};
    if (isTable(axis) || isExtent(axis.name.text))
      throw SpecError{"'" + name + "' has an axis of positions left; index it",
                      place};
  }
  node.op = rest == 1 ? NodeOp::ParamRow : NodeOp::ParamMatrix;
  node.type = rest == 1 ? ValueType::Row : ValueType::Matrix;
  node.axis = static_cast<uint32_t>(parameter.axes.size() - rest);
  return graph.add(std::move(node));
}
