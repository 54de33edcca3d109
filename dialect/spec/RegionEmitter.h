//===- RegionEmitter.h - a region from checked expressions ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SPEC_REGIONEMITTER_H
#define ATTN_DIALECT_SPEC_REGIONEMITTER_H

#include "dialect/attn/Attn.h"
#include "dialect/spec/Checker.h"

namespace attn {

/// A place as a location of MLIR.
mlir::Location locationOf(mlir::StringAttr file, Spec::Place place);

/// Fills one region of attn.attention: every node that its results need becomes
/// one op, element-wise operations on rows become attn.map, as few as possible.
class RegionEmitter {
public:
  /// `arguments` are those of the function: q, k, v, parameters.
  RegionEmitter(const CheckedSpec &checked, mlir::ValueRange arguments,
                mlir::StringAttr file);

  /// A row map: one row of `input` to `result`.
  void emitRowMap(mlir::Region &region, unsigned input, NodeId result);
  /// Kappa: the mapped rows of q and k to a real.
  void emitKappa(mlir::Region &region);
  /// Mask or normaliser: no rows.
  void emitScalars(mlir::Region &region, llvm::ArrayRef<NodeId> results);

private:
  void begin(mlir::Region &region, unsigned rows);
  void emit(llvm::ArrayRef<NodeId> results);
  /// The node that is emitted in this region for another.
  NodeId target(NodeId id) const;
  /// Finds the nodes that are needed and groups them into maps.
  void mark(llvm::ArrayRef<NodeId> results);
  /// Calls f for every operand that a node is computed from in this region.
  template <typename F> void forOperands(NodeId id, F f) const;

  mlir::Value emitNode(NodeId id);
  mlir::Value emitMap(NodeId root, llvm::ArrayRef<NodeId> members);
  mlir::Value emitScalar(const Node &node, llvm::ArrayRef<mlir::Value> x);
  mlir::Value emitLength(const Node &node);
  mlir::Value index(Position position, mlir::Location loc);
  llvm::SmallVector<mlir::Value> parameterIndices(const Node &node);
  mlir::Value memoryOf(unsigned input) const;
  mlir::Location locOf(const Node &node) const;

  const CheckedSpec &checked;
  const Graph &graph;
  mlir::ValueRange arguments;
  mlir::StringAttr file;
  mlir::OpBuilder builder;
  llvm::DenseMap<NodeId, mlir::Value> values;
  llvm::DenseMap<unsigned, mlir::Value> indices; ///< attn.index, by position
  bool expandRoles = false; ///< a role is computed here, not an argument
  std::vector<bool> needed;
  std::vector<NodeId> mapOf; ///< the map that a node belongs to: its last node
};

} // namespace attn

#endif // ATTN_DIALECT_SPEC_REGIONEMITTER_H
