//===- RowsLoops.cpp - attn.rows as a loop over tiles of rows -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grid owns the rows, so they take the axis q here, whichever side of
// attention they come from: targets lay that axis out over lanes or threads.
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/QuadraticLoops.h"
#include "lowering/loops/Sequences.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;

static bool usesHead(RowsOp op) {
  bool found = false;
  op.getBody().walk(
      [&](IndexOp index) { found |= index.getPosition() == Position::Head; });
  return found;
}

LogicalResult attn::lowerRows(RowsOp op, int64_t tileQ, QuadraticOp reader) {
  TileBuilder b(OpBuilder(op), op.getLoc());
  auto memory = cast<MemRefType>(op.getInput().getType());
  if (memory.isDynamicDim(3))
    return op.emitOpError("is lowered once row lengths are known; specialise "
                          "the function first");
  // The function's lengths: rows past them are not read.
  Value lengths;
  for (BlockArgument argument :
       op->getParentOfType<func::FuncOp>().getArguments())
    if (auto arg =
            op->getParentOfType<func::FuncOp>().getArgAttrOfType<ArgAttr>(
                argument.getArgNumber(), kArgAttrName))
      if (arg.getKind() == ArgKind::KeyLengths)
        lengths = argument;

  Value first = op.getOutputs().front();
  Value kvHeads = b.dim(op.getInput(), 1);
  Value rows = b.dim(op.getInput(), 2);
  // Once a query head where the map reads it; once a key/value head otherwise.
  Value heads = usesHead(op) ? b.dim(first, 1) : kvHeads;
  Value group = b.make<arith::DivSIOp>(heads, b.max(kvHeads, b.index(1)));
  Value tiles = b.make<arith::CeilDivSIOp>(rows, b.index(tileQ));
  auto grid = b.make<scf::ForallOp>(
      ArrayRef<OpFoldResult>{b.dim(op.getInput(), 0), kvHeads, group, tiles},
      ValueRange{}, std::nullopt);
  b.setInsertionPointToStart(grid.getBody());
  Value batch = grid.getInductionVar(0), kvHead = grid.getInductionVar(1);
  Value head = b.add(b.mul(kvHead, group), grid.getInductionVar(2));
  Value j0 = b.mul(grid.getInductionVar(3), b.index(tileQ));
  Value nk = emitLength(b, lengths, batch, rows);
  // Rows of values are read by both orders, those of keys by one.
  bool both = reader && reader.getValue() == op.getOutputs().front();
  if (reader && !both) {
    Coordinates at{batch, head, kvHead, {}, nk, {}};
    at.nq = emitLength(b, reader.getQueryLengths(), batch,
                       b.dim(reader.getQuery(), 2));
    enterChosen(b, *reader.getSchedule(), reader.getMask(), at);
  }

  Value loaded =
      b.make<tile::LoadOp>(b.type("qd", {tileQ, memory.getDimSize(3)}),
                           op.getInput(), ValueRange{batch, kvHead, j0}, nk);
  Value positions = b.iota(j0, b.type("q", {tileQ}, b.getIndexType()));
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  SmallVector<Type> types;
  for (Value v : yield.getValues()) {
    auto row = dyn_cast<RowType>(v.getType());
    types.push_back(row ? b.type("qd", {tileQ, row.getLength()})
                        : b.type("q", {tileQ}));
  }
  auto made = b.make<tile::RowsOp>(types, loaded, ValueRange{positions});
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block =
        b.createBlock(&made.getBody(), {},
                      {op.getBody().getArgument(0).getType(), b.getIndexType()},
                      {b.loc, b.loc});
    IRMapping map;
    map.map(op.getBody().getArgument(0), block->getArgument(0));
    for (Operation &nested : op.getBody().front().without_terminator()) {
      auto index = dyn_cast<IndexOp>(nested);
      if (!index) {
        b.clone(nested, map);
        continue;
      }
      Value v;
      switch (index.getPosition()) {
      case Position::J:
        v = block->getArgument(1);
        break;
      case Position::Head:
        v = head;
        break;
      case Position::KvHead:
        v = kvHead;
        break;
      case Position::Batch:
        v = batch;
        break;
      case Position::Nk:
        v = nk;
        break;
      case Position::I:
      case Position::Nq:
        return index.emitError("a row of the key knows no query");
      }
      map.map(index.getResult(), v);
    }
    SmallVector<Value> yields;
    for (Value v : yield.getValues())
      yields.push_back(map.lookupOrDefault(v));
    b.make<tile::YieldOp>(yields);
  }
  Value outHead = usesHead(op) ? head : kvHead;
  for (auto [tile, output] : llvm::zip(made.getResults(), op.getOutputs()))
    b.make<tile::StoreOp>(tile, output, ValueRange{batch, outHead, j0}, nk);
  op.erase();
  return success();
}
