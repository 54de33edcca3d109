//===- CpuBuffers.cpp - where tiles are kept ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles are values, and nobody says where they are. What is computed takes the
// place of what it is computed from, as soon as nobody reads that any more.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

Value CpuEmitter::reserve(ArrayRef<int64_t> shape, Type element) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return make<memref::AllocaOp>(MemRefType::get(shape, element),
                                b.getI64IntegerAttr(64));
}

Value CpuEmitter::allocate(TileType type, Value v) {
  // What does not outlive the work on its panel takes the place of the last
  // panel's, and stays in the first-level cache.
  bool local = currentPanel && v && hasLanes(type) && type.rank() == 2 &&
               llvm::none_of(v.getUsers(), [](Operation *user) {
                 return user->hasTrait<OpTrait::IsTerminator>();
               });
  SmallVector<int64_t> shape;
  if (hasRowLanes(type))
    shape.push_back(paddedRow(type) *
                    (type.rank() == 1 ? 1 : type.getShape()[0]));
  else if (!hasLanes(type))
    shape.push_back(type.getShape()[0]);
  else if (type.rank() == 1)
    shape.push_back(type.size('q'));
  else
    shape = {local ? 1 : panels, type.size(other(type)), panelLanes()};
  Value memory = reserve(shape, laneType(type.getElementType()));
  if (local)
    localBuffers.insert(memory);
  return memory;
}

/// Whether nothing that is still to come reads what `op` reads, counting
/// `root`'s tree as read now.
bool CpuEmitter::isFinished(Operation *op, Operation *root,
                            const llvm::SetVector<Operation *> &tree) {
  if (op == root || done.contains(op))
    return true;
  bool deferred = tree.contains(op);
  if (!deferred && op->getNumResults() == 1) {
    auto it = forms.find(op->getResult(0));
    deferred = it != forms.end() && it->second.kind == TileForm::Deferred;
  }
  return deferred && llvm::all_of(op->getUsers(), [&](Operation *user) {
           return isFinished(user, root, tree);
         });
}

/// Whether only one of the two operations can run.
static bool onOtherBranch(Operation *a, Operation *b) {
  for (auto branch = b->getParentOfType<scf::IfOp>(); branch;
       branch = branch->getParentOfType<scf::IfOp>()) {
    Region *ofB = branch.getThenRegion().isAncestor(b->getParentRegion())
                      ? &branch.getElseRegion()
                      : &branch.getThenRegion();
    if (ofB->isAncestor(a->getParentRegion()))
      return true;
  }
  return false;
}

/// The buffer of a leaf, if the value of `root` may take its place.
Value CpuEmitter::reusable(Value leaf, Value root,
                           const llvm::SetVector<Operation *> &tree) {
  const TileForm &form = forms[leaf];
  Operation *rootOp = root.getDefiningOp();
  if (form.kind != TileForm::Buffer || leaf.getType() != root.getType())
    return {};
  // A loop in between would read the leaf again.
  Block *block = root.getParentBlock();
  while (block != leaf.getParentBlock()) {
    auto branch = dyn_cast_or_null<scf::IfOp>(block->getParentOp());
    if (!branch)
      return {};
    block = branch->getBlock();
  }
  bool free = llvm::all_of(leaf.getUsers(), [&](Operation *user) {
    return isFinished(user, rootOp, tree) || onOtherBranch(user, rootOp);
  });
  return free ? form.memory : Value();
}

/// The buffer of a leaf of what is computed, or a new one.
Value CpuEmitter::targetOf(Value root, const Tree &tree) {
  for (Value leaf : tree.leaves)
    if (Value memory = reusable(leaf, root, tree.ops))
      return memory;
  return allocate(typeOf(root), root);
}
