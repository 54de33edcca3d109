//===- CpuAhead.cpp - what the next tile touches --------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The linear order does a few hundred multiply-adds with every row that it
// reads or writes: about as long as the row takes to come from memory. Rows of
// the next tile are asked for while products with the state run, a line every
// few steps, so that there are never more on their way than a core waits for.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

/// The operations of the block of `op` that it is computed from.
static llvm::SetVector<Operation *> sliceBefore(Operation *op) {
  llvm::SetVector<Operation *> slice;
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    for (Value operand : next->getOperands())
      if (Operation *def = operand.getDefiningOp();
          def && def->getBlock() == op->getBlock() && slice.insert(def))
        work.push_back(def);
  }
  return slice;
}

/// Whether all of them are computed where `op` stands.
static bool isKnownAt(Operation *op, ValueRange values) {
  return llvm::all_of(values, [&](Value value) {
    Operation *def = value.getDefiningOp();
    return !def || def->getBlock() != op->getBlock() ||
           def->isBeforeInBlock(op);
  });
}

/// The rows of a tile in memory.
CpuEmitter::Ahead CpuEmitter::rowsAt(Value memory, ValueRange at,
                                     TileType type) {
  Values indices;
  for (Value i : at)
    indices.push_back(scalars.lookupOrDefault(i));
  auto [flat, stride] = flatten(scalars.lookupOrDefault(memory), indices, 0);
  int64_t bits = cast<MemRefType>(flat.getType()).getElementTypeBitWidth();
  return {
      flat,           index(0), stride, type.getShape()[0], type.getShape()[1],
      512 / bits,
      /*write=*/false};
}

/// The rows after those that `op` is computed from, and after those that are
/// stored beside it; each by the first contraction with features that could.
CpuEmitter::AheadPlan CpuEmitter::planAhead(tile::ContractOp op) {
  AheadPlan plan;
  for (Operation *def : sliceBefore(op)) {
    auto found = loadsAhead.find(def);
    if (found == loadsAhead.end())
      continue;
    plan.rows.push_back(found->second);
    loadsAhead.erase(found);
  }
  for (auto store : op->getBlock()->getOps<tile::StoreOp>()) {
    TileType type = typeOf(store.getTile());
    if (!hasLanes(type) || type.rank() != 2 || other(type) != 'e' ||
        typeOf(op.getResult()) != type || !isKnownAt(op, store.getIndices()))
      continue;
    plan.rows.push_back(rowsAt(store.getMemory(), store.getIndices(), type));
    Ahead &next = plan.rows.back();
    next.start = mul(next.stride, index(type.size('q')));
    next.write = true;
  }
  return plan;
}

/// One of `shares` shares of the plan, in order.
void CpuEmitter::askAhead(const AheadPlan &plan, Value share, int64_t shares) {
  for (const Ahead &ahead : plan.rows) {
    int64_t each = llvm::divideCeil(ahead.width, ahead.lineElements);
    int64_t lines = ahead.rows * each;
    int64_t sharesPerLine = std::max<int64_t>(shares / lines, 1);
    int64_t perShare = llvm::divideCeil(lines, shares);
    for (int64_t t = 0; t < perShare; ++t) {
      Value line = add(mul(make<arith::DivUIOp>(share, index(sharesPerLine)),
                           index(perShare)),
                       t);
      Value row = make<arith::DivUIOp>(line, index(each));
      // The last element of each line's worth: where rows begin inside lines,
      // the first line of a tile is the last one of the tile before.
      Value column = add(mul(make<arith::RemUIOp>(line, index(each)),
                             index(ahead.lineElements)),
                         std::min(ahead.lineElements, ahead.width) - 1);
      Value at = add(add(ahead.start, mul(row, ahead.stride)), column);
      auto request = make<memref::PrefetchOp>(
          ahead.flat, ValueRange{at}, ahead.write,
          /*localityHint=*/plan.eachStep ? 2u : 3u, /*isDataCache=*/true);
      if (plan.eachStep)
        request->setAttr(kOnceAttrName, b.getUnitAttr());
    }
  }
}

llvm::SmallVector<CpuEmitter::Ahead>
CpuEmitter::keysAhead(tile::ContractOp op) {
  llvm::SmallVector<Ahead> all;
  for (auto load : op->getBlock()->getOps<tile::LoadOp>()) {
    TileType type = load.getResult().getType();
    // In a row-major grid every contraction asks for its own.
    bool isOther = panels == 0 && load.getResult() != op.getB();
    if (isOther || type.rank() != 2 || type.getAxes()[0] != 'k' ||
        !isKnownAt(op, load.getIndices()))
      continue;
    all.push_back(rowsAt(load.getMemory(), load.getIndices(), type));
    all.back().start = mul(all.back().stride, index(type.getShape()[0]));
  }
  // A state that lies in memory: that of the next item follows it.
  if (auto load = op.getB().getDefiningOp<tile::LoadOp>();
      load && typeOf(load.getResult()).getAxes() == "er") {
    TileType type = load.getResult().getType();
    auto memory = cast<MemRefType>(load.getMemory().getType());
    const TileForm &view = forms[load.getResult()];
    if (!memory.isDynamicDim(2) && view.kind == TileForm::View)
      all.push_back({view.memory, mul(view.stride, index(memory.getDimSize(2))),
                     view.stride, type.getShape()[0], type.getShape()[1],
                     /*lineElements=*/16, /*write=*/true});
  }
  return all;
}

void CpuEmitter::askAtStep(const AheadPlan &plan, Value block, Value c,
                           int64_t blocks, int64_t extentC, int64_t unroll) {
  // A request between every two steps would keep them from being scheduled
  // together: one for all that an unrolled iteration has.
  Value first = make<arith::DivUIOp>(c, index(unroll));
  int64_t steps = llvm::divideCeil(extentC, unroll);
  if (!plan.sumsKeys)
    return askAhead(plan, add(mul(block, index(steps)), first), blocks * steps);
  // All is asked for with the first keys, and again with later ones.
  int64_t shares = blocks * std::min<int64_t>(steps, 32 / unroll);
  Value share = add(mul(first, index(blocks)), block);
  askAhead(plan, make<arith::RemUIOp>(share, index(shares)), shares);
}

CpuEmitter::AheadPlan CpuEmitter::keysBehind(tile::ContractOp op, Value rows) {
  AheadPlan plan;
  plan.rows = keysAhead(op);
  for (Ahead &next : plan.rows)
    next.start = mul(rows, next.stride);
  return plan;
}

llvm::SmallVector<CpuEmitter::Ahead> CpuEmitter::resultsOf(tile::LoadOp op) {
  llvm::SmallVector<Ahead> all;
  for (auto store : op->getBlock()->getOps<tile::StoreOp>()) {
    TileType type = typeOf(store.getTile());
    if (!hasLanes(type) || type.getAxes() != "qe" ||
        !isKnownAt(op, store.getIndices()))
      continue;
    all.push_back(rowsAt(store.getMemory(), store.getIndices(), type));
    all.back().write = true;
  }
  return all;
}

/// A single row of queries is done with a key in a few cycles, and waits for
/// memory: it asks for what lies 2 KiB behind, a line in four. A core that sees
/// a stream fetches the lines between by itself, and requests take the place of
/// loads. Of rows from the third-level cache and from memory this was the best
/// of 1 to 16 KiB and of a line in one, two or four (Zen 4).
CpuEmitter::Ahead CpuEmitter::soonAfter(const Ahead &nextTile) {
  constexpr int64_t lines = 32;
  Ahead soon = nextTile;
  int64_t rows = llvm::divideCeil(lines * soon.lineElements, soon.width);
  soon.start = mul(soon.stride, index(rows));
  return soon;
}

bool CpuEmitter::asksAt(const Ahead &ahead, int64_t column) {
  constexpr int64_t lines = 4;
  return column % (lines * ahead.lineElements) < level.lanes;
}

void CpuEmitter::askForLine(const Ahead &ahead, Value row, Value d) {
  Value at = add(add(ahead.start, mul(row, ahead.stride)), d);
  make<memref::PrefetchOp>(ahead.flat, ValueRange{add(at, level.lanes - 1)},
                           ahead.write,
                           /*localityHint=*/2u, /*isDataCache=*/true);
}

void CpuEmitter::askForRows(const Ahead &ahead, Value first, int64_t count) {
  for (int64_t row = 0; row < count; ++row) {
    Value start = add(ahead.start, mul(add(first, row), ahead.stride));
    for (int64_t from = 0; from < ahead.width; from += ahead.lineElements) {
      // The last element, as above.
      int64_t last = std::min(from + ahead.lineElements, ahead.width) - 1;
      make<memref::PrefetchOp>(ahead.flat, ValueRange{add(start, last)},
                               ahead.write, /*localityHint=*/2u,
                               /*isDataCache=*/true);
    }
  }
}
