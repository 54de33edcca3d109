//===- Documents.cpp - where documents begin ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/Documents.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

Documents::Documents(TileBuilder &b, Region &mask, const Coordinates &at)
    : b(b), mask(mask), conditions(documentConditions(mask)), axes(mask, {}) {
  if (conditions.empty())
    return;
  for (Operation &op : mask.front().without_terminator()) {
    if (op.getNumResults() != 1 || axes(op.getResult(0)) != Uniform)
      continue;
    auto index = dyn_cast<IndexOp>(op);
    if (!index) {
      b.clone(op, uniforms);
      continue;
    }
    uniforms.map(index.getResult(),
                 index.getPosition() == Position::Head     ? at.head
                 : index.getPosition() == Position::KvHead ? at.kvHead
                 : index.getPosition() == Position::Batch  ? at.batch
                 : index.getPosition() == Position::Nq     ? at.nq
                                                           : at.nk);
  }
}

/// The key's side of a condition says what the id of a position is.
SmallVector<Value> Documents::at(Value position) {
  IRMapping map(uniforms);
  for (Operation &op : mask.front().without_terminator()) {
    if (op.getNumResults() != 1 || axes(op.getResult(0)) != KeyAxis)
      continue;
    if (isa<IndexOp>(op))
      map.map(op.getResult(0), position);
    else
      b.clone(op, map);
  }
  SmallVector<Value> ids;
  for (arith::CmpIOp condition : conditions)
    ids.push_back(map.lookup(axes(condition.getLhs()) == KeyAxis
                                 ? condition.getLhs()
                                 : condition.getRhs()));
  return ids;
}

Value Documents::same(Value position, ValueRange ids) {
  Value all;
  for (auto [here, id] : llvm::zip(at(position), ids)) {
    Value equal = b.cmp(CmpIPredicate::eq, here, id);
    all = all ? b.both(all, equal) : equal;
  }
  return all;
}

Value Documents::inRuns(Value nk) {
  auto loop = b.make<scf::ForOp>(
      b.index(1), nk, b.index(1), ValueRange{b.boolean(true)},
      [&](OpBuilder &nested, Location, Value j, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        Value ordered = carried[0];
        for (auto [before, here] : llvm::zip(at(b.sub(j, b.index(1))), at(j)))
          ordered = b.both(ordered, b.cmp(CmpIPredicate::sle, before, here));
        b.make<scf::YieldOp>(ValueRange{ordered});
      });
  return loop.getResult(0);
}

Value Documents::begin(Value lo, Value hi) {
  SmallVector<Value> ids = at(b.max(b.sub(hi, b.index(1)), b.index(0)));
  auto loop = b.make<scf::ForOp>(
      lo, hi, b.index(1), ValueRange{lo},
      [&](OpBuilder &nested, Location, Value j, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        b.make<scf::YieldOp>(ValueRange{
            b.select(same(j, ids), carried[0], b.add(j, b.index(1)))});
      });
  return loop.getResult(0);
}
