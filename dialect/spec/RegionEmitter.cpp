//===- RegionEmitter.cpp - a region from checked expressions --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/spec/RegionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

static constexpr NodeId kNone = CheckedSpec::kNone;

RegionEmitter::RegionEmitter(const CheckedSpec &checked, ValueRange arguments,
                             StringAttr file)
    : checked(checked), graph(checked.graph()), arguments(arguments),
      file(file), builder(file.getContext()) {}

Location attn::locationOf(StringAttr file, Spec::Place place) {
  if (place.line == 0) // made by a program, not read from text
    return NameLoc::get(file);
  return FileLineColLoc::get(file, place.line, place.column);
}

Location RegionEmitter::locOf(const Node &node) const {
  return locationOf(file, node.place);
}

Value RegionEmitter::memoryOf(unsigned input) const {
  for (unsigned r = 0; r < 3; ++r)
    if (checked.roles[r].input == input)
      return arguments[r];
  return {};
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void RegionEmitter::begin(Region &region, unsigned rows) {
  Block *block = builder.createBlock(&region);
  Type row = RowType::get(builder.getContext(), ShapedType::kDynamic,
                          builder.getF32Type());
  for (unsigned r = 0; r < rows; ++r)
    block->addArgument(row, region.getLoc());
  values.clear();
  indices.clear();
}

void RegionEmitter::emitRowMap(Region &region, unsigned input, NodeId result) {
  begin(region, 1);
  expandRoles = true;
  for (NodeId id = 0; id < graph.size(); ++id)
    if (graph[id].op == NodeOp::Input && graph[id].integer == input)
      values[id] = region.getArgument(0);
  emit({result});
}

void RegionEmitter::emitKappa(Region &region) {
  begin(region, 2);
  expandRoles = false;
  for (unsigned r = 0; r < 2; ++r)
    values[checked.roles[r].row] = region.getArgument(r);
  emit({checked.kappa});
}

void RegionEmitter::emitScalars(Region &region, ArrayRef<NodeId> results) {
  begin(region, 0);
  expandRoles = false;
  emit(results);
}

NodeId RegionEmitter::target(NodeId id) const {
  while (true) {
    const Node &node = graph[id];
    if (node.op == NodeOp::Role && expandRoles)
      id = node.operands[0];
    else if (node.op == NodeOp::Dim && node.operands.size() == 2 &&
             !values.contains(node.operands[0]))
      id = node.operands[1]; // the row is not here: its length without it
    else
      return id;
  }
}

template <typename F> void RegionEmitter::forOperands(NodeId id, F f) const {
  const Node &node = graph[id];
  if (node.op == NodeOp::Dim || node.op == NodeOp::Role)
    return; // an argument of the region, or the extent of an array
  for (NodeId operand : node.operands)
    f(target(operand));
}

/// Users come after their operands, so one walk backwards knows all users of a
/// node. An element-wise row belongs to the map of its users if that is one.
void RegionEmitter::mark(ArrayRef<NodeId> results) {
  NodeId end = 0;
  for (NodeId result : results)
    end = std::max(end, target(result) + 1);
  needed.assign(end, false);
  mapOf.assign(end, kNone);
  for (NodeId result : results) {
    needed[target(result)] = true;
    mapOf[target(result)] = target(result);
  }
  for (NodeId id = end; id-- > 0;) {
    if (!needed[id])
      continue;
    bool elementwise = graph[id].isElementwiseRow();
    forOperands(id, [&](NodeId operand) {
      needed[operand] = true;
      NodeId map = elementwise ? mapOf[id] : operand;
      mapOf[operand] =
          mapOf[operand] == kNone || mapOf[operand] == map ? map : operand;
    });
  }
}

void RegionEmitter::emit(ArrayRef<NodeId> results) {
  mark(results);
  DenseMap<NodeId, SmallVector<NodeId>> members;
  for (NodeId id = 0; id < needed.size(); ++id) {
    if (!needed[id] || values.contains(id))
      continue;
    if (!graph[id].isElementwiseRow()) {
      values[id] = emitNode(id);
      continue;
    }
    SmallVector<NodeId> &map = members[mapOf[id]];
    map.push_back(id);
    if (mapOf[id] == id)
      values[id] = emitMap(id, map);
  }
  SmallVector<Value> yields;
  for (NodeId result : results)
    yields.push_back(values[target(result)]);
  Location loc = locOf(graph[results.back()]);
  YieldOp::create(builder, loc, yields);
}

Value RegionEmitter::emitMap(NodeId root, ArrayRef<NodeId> members) {
  DenseMap<NodeId, Value> inside;
  SmallVector<NodeId> rows;
  auto block = std::make_unique<Block>();
  Location loc = locOf(graph[root]);
  for (NodeId member : members)
    forOperands(member, [&](NodeId operand) {
      bool member = graph[operand].isElementwiseRow() && mapOf[operand] == root;
      if (!graph[operand].isRow() || member || inside.count(operand))
        return;
      rows.push_back(operand);
      inside[operand] = block->addArgument(builder.getF32Type(), loc);
    });
  OpBuilder::InsertionGuard guard(builder);
  OpBuilder outer = builder;
  builder.setInsertionPointToEnd(block.get());
  for (NodeId member : members) {
    SmallVector<Value> operands;
    forOperands(member, [&](NodeId operand) {
      auto it = inside.find(operand);
      operands.push_back(it != inside.end() ? it->second : values[operand]);
    });
    inside[member] = emitScalar(graph[member], operands);
  }
  YieldOp::create(builder, loc, inside[root]);

  SmallVector<Value> inputs;
  for (NodeId row : rows)
    inputs.push_back(values[row]);
  auto map = MapOp::create(outer, loc, inputs);
  map.getBody().push_back(block.release());
  return map;
}

//===----------------------------------------------------------------------===//
// Leaves and rows
//===----------------------------------------------------------------------===//

Value RegionEmitter::index(Position position, Location loc) {
  Value &value = indices[static_cast<unsigned>(position)];
  if (!value)
    value = IndexOp::create(builder, loc, position);
  return value;
}

/// One index for every axis but those of the row or matrix, the implicit ones
/// written out.
SmallVector<Value> RegionEmitter::parameterIndices(const Node &node) {
  const Spec::Parameter &parameter = checked.spec->parameters[node.integer];
  size_t count =
      node.op == NodeOp::Load ? parameter.axes.size() : size_t(node.axis);
  SmallVector<Value> result;
  size_t next = 0;
  for (size_t t = 0; t < count; ++t) {
    StringRef axis = parameter.axes[t].name.text;
    if (axis == "head")
      result.push_back(index(Position::Head, locOf(node)));
    else if (axis == "kv_head")
      result.push_back(index(Position::KvHead, locOf(node)));
    else if (axis == "batch")
      result.push_back(index(Position::Batch, locOf(node)));
    else
      result.push_back(values[target(node.operands[next++])]);
  }
  return result;
}

Value RegionEmitter::emitLength(const Node &node) {
  Location loc = locOf(node);
  if (node.op == NodeOp::Dim) {
    NodeId row = target(node.operands[0]);
    if (Value value = values.lookup(row))
      return DimOp::create(builder, loc, value);
    return memref::DimOp::create(builder, loc, memoryOf(graph[row].integer), 3);
  }
  Value memory = node.integer == Node::kQueryArray ? arguments[0]
                 : node.integer == Node::kKeyArray
                     ? arguments[1]
                     : arguments[3 + node.integer];
  return memref::DimOp::create(builder, loc, memory, node.axis);
}

Value RegionEmitter::emitNode(NodeId id) {
  const Node &node = graph[id];
  Location loc = locOf(node);
  SmallVector<Value> x;
  forOperands(id, [&](NodeId operand) { x.push_back(values.lookup(operand)); });
  switch (node.op) {
  case NodeOp::IntConstant:
    return arith::ConstantIndexOp::create(builder, loc, node.integer);
  case NodeOp::RealConstant:
    return arith::ConstantOp::create(
        builder, loc, builder.getF32FloatAttr(static_cast<float>(node.real)));
  case NodeOp::BoolConstant:
    return arith::ConstantOp::create(builder, loc,
                                     builder.getBoolAttr(node.integer != 0));
  case NodeOp::Index:
    return index(static_cast<Position>(node.integer), loc);
  case NodeOp::Extent:
  case NodeOp::Dim:
    return emitLength(node);
  case NodeOp::Load: {
    Value loaded = memref::LoadOp::create(
        builder, loc, arguments[3 + node.integer], parameterIndices(node));
    return node.type == ValueType::Int
               ? Value(arith::IndexCastOp::create(
                     builder, loc, builder.getIndexType(), loaded))
               : loaded;
  }
  case NodeOp::ParamRow:
    return ParamRowOp::create(builder, loc, arguments[3 + node.integer],
                              parameterIndices(node));
  case NodeOp::ParamMatrix: // read by attn.project itself
    return {};
  case NodeOp::Dot:
    if (x[0] == x[1])
      return SqNormOp::create(builder, loc, x[0]);
    return DotOp::create(builder, loc, x[0], x[1]);
  case NodeOp::SqDist:
    return SqDistOp::create(builder, loc, x[0], x[1]);
  case NodeOp::Unit:
    return UnitOp::create(builder, loc, x[0]);
  case NodeOp::Project: {
    const Node &matrix = graph[target(node.operands[1])];
    return ProjectOp::create(builder, loc, x[0], arguments[3 + matrix.integer],
                             parameterIndices(matrix));
  }
  case NodeOp::Rope:
    return RopeOp::create(builder, loc, x[0], x[1],
                          builder.getF64FloatAttr(node.real),
                          node.integer ? builder.getUnitAttr() : UnitAttr());
  case NodeOp::TensorPower:
    return PowerOp::create(builder, loc, x[0],
                           builder.getI64IntegerAttr(node.integer));
  case NodeOp::Concat:
    return ConcatOp::create(builder, loc, x);
  case NodeOp::Outer:
    return OuterOp::create(builder, loc, x[0], x[1]);
  default:
    return emitScalar(node, x);
  }
}
