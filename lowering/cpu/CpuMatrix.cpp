//===- CpuMatrix.cpp - products of 16-bit tiles ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The matrix unit (Intel AMX) multiplies 16 rows of 32 bf16 numbers, of one
// operand, with 16 columns of the other, whose rows lie in pairs: elements
// (2 r, c) and (2 r + 1, c) side by side. It adds in f32. Lanes stay queries:
//
//     S^T (k, q) = K (k, d) Q^T (d, q)      K as rows, Q as pairs of rows
//     O^T (e, q) = V^T (e, k) P^T (k, q)    V transposed, P as pairs of rows
//
// so that what lies between the two products is what it always is. Rows are
// packed once a tile of keys, for all its queries; padding is zero.
//
// A level without such a unit multiplies the same rows and pairs by vectors
// (AVX512_BF16), with two of a row broadcast at a time.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuRowProducts.h"
#include "lowering/cpu/MatrixTiles.h"

#include "mlir/Dialect/AMX/AMXDialect.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

static bool isStoredAsBf16(tile::LoadOp load) {
  return load &&
         cast<MemRefType>(load.getMemory().getType()).getElementType().isBF16();
}

/// Whether a load's rows go to the matrix unit, for all contractions of them.
bool CpuEmitter::isForMatrixUnit(tile::LoadOp load) {
  TileType type = load.getResult().getType();
  if (!matrixUnit || type.rank() != 2 || !isStoredAsBf16(load) ||
      type.getShape()[1] < kTileRows)
    return false;
  bool found = false;
  for (Operation *user : load.getResult().getUsers()) {
    auto contract = dyn_cast<tile::ContractOp>(user);
    if (!contract)
      continue;
    Value other =
        contract.getA() == load.getResult() ? contract.getB() : contract.getA();
    TileType otherType = typeOf(other);
    auto rows = other.getDefiningOp<tile::LoadOp>();
    bool isPair = type.has('d') && otherType.has('d') && isStoredAsBf16(rows);
    bool isSum = type.has('e') && otherType.getAxes() == "qk";
    if (!isPair && !isSum)
      return false;
    found = true;
  }
  return found;
}

/// out (x, lanes of the panel) = rows (x, c) pairs (c, lanes).
void CpuEmitter::multiplyTiles(Value rows, Value pairs, Value pairsPanel,
                               Value out, Value outPanel) {
  auto shape = cast<MemRefType>(rows.getType()).getShape();
  int64_t count = shape[0], depth = shape[1], vectors = level.panelVectors;
  auto operand = amx::TileType::get({kTileRows, kTileDepth}, b.getBF16Type());
  auto sum = amx::TileType::get({kTileRows, level.lanes}, b.getF32Type());
  // Two by two tiles of sums, and two of either operand: all eight registers.
  auto block = [&](Value x0, int64_t tiles) {
    Values sums;
    for (int64_t n = 0; n < tiles * vectors; ++n)
      sums.push_back(make<amx::TileZeroOp>(sum));
    for (int64_t c = 0; c < depth; c += kTileDepth) {
      Values left, right;
      for (int64_t t = 0; t < tiles; ++t)
        left.push_back(make<amx::TileLoadOp>(
            operand, rows, ValueRange{add(x0, t * kTileRows), index(c)}));
      for (int64_t v = 0; v < vectors; ++v)
        right.push_back(make<amx::TileLoadOp>(
            operand, pairs,
            ValueRange{pairsPanel, index(c / 2), index(v * kTileDepth)}));
      for (int64_t t = 0; t < tiles; ++t)
        for (int64_t v = 0; v < vectors; ++v)
          sums[t * vectors + v] = make<amx::TileMulFOp>(sum, left[t], right[v],
                                                        sums[t * vectors + v]);
    }
    for (int64_t t = 0; t < tiles; ++t)
      for (int64_t v = 0; v < vectors; ++v)
        make<amx::TileStoreOp>(out,
                               ValueRange{outPanel, add(x0, t * kTileRows),
                                          index(v * level.lanes)},
                               sums[t * vectors + v]);
  };
  int64_t even = count / (2 * kTileRows) * (2 * kTileRows);
  loop(index(0), index(even), 2 * kTileRows, [&](Value x0) { block(x0, 2); });
  if (even < count)
    block(index(even), 1);
}

/// Pairs of a row are broadcast, as f32 numbers are where rows are not packed.
void CpuEmitter::multiplyByVectors(
    Value rows, Value pairs, Value pairsPanel, Value count, Value steps,
    function_ref<void(Value x, int64_t v, Value sum)> done) {
  int64_t vectors = level.panelVectors;
  const RowProducts products(*this, /*isPairs=*/true);
  VectorType both = VectorType::get({2 * level.lanes}, b.getBF16Type());
  auto block = [&](Value x0, int64_t height) {
    Values sums = loop(
        index(0), steps, 1, Values(height * vectors, dense(0)),
        [&](Value pair, ValueRange carried) {
          Values left, next;
          for (int64_t v = 0; v < vectors; ++v)
            left.push_back(make<vector::LoadOp>(
                both, pairs,
                ValueRange{pairsPanel, pair, index(v * 2 * level.lanes)}));
          for (int64_t u = 0; u < height; ++u) {
            Value right =
                products.broadcast(rows, {add(x0, u), mul(pair, index(2))}, 2);
            for (int64_t v = 0; v < vectors; ++v)
              next.push_back(
                  products.add(carried[u * vectors + v], left[v], right));
          }
          return next;
        },
        level.unroll);
    for (int64_t u = 0; u < height; ++u)
      for (int64_t v = 0; v < vectors; ++v)
        done(add(x0, u), v, sums[u * vectors + v]);
  };
  int64_t height = level.rowBlock;
  Value whole = mul(make<arith::DivUIOp>(count, index(height)), index(height));
  loop(index(0), whole, height, [&](Value x0) { block(x0, height); });
  if (getConstantIntValue(count).value_or(1) % height != 0)
    loop(whole, count, 1, [&](Value x) { block(x, 1); });
}

/// The contraction of packed rows with packed queries, or with weights that are
/// packed here, panel by panel. The sums are in `target`, or `store` takes each
/// vector of them.
void CpuEmitter::emitMatrixContract(
    tile::ContractOp op, Value lanes, Value rows, Value laneMemory,
    Value existing, const Tree &tree, Value target,
    function_ref<Value(const Point &)> initial,
    function_ref<void(const Point &, Value)> store) {
  TileType result = op.getResult().getType();
  char x = other(result);
  Value left = matrixRows.lookup(rows), right = matrixPairs.lookup(lanes);
  auto finish = [&](Value panel, Value row, int64_t v, Value sum) {
    Point p{panel, v, row};
    if (Value before = initial(p)) // scaled, perhaps: the two may fuse
      sum = make<arith::AddFOp>(before, sum, arith::FastMathFlags::contract);
    store(p, sum);
  };
  int64_t count = cast<MemRefType>(left.getType()).getShape()[0];
  Value sums = target;
  if (!sums && level.hasMatrixUnit)
    sums = reserve({1, count, panelLanes()}, b.getF32Type());
  forPanels([&](Value panel) {
    Value pairs = right ? right
                        : packWeights(laneMemory, typeOf(lanes).size('k'),
                                      panel, existing);
    Value pairsPanel = right ? panel : index(0);
    preload(tree, panel);
    if (!level.hasMatrixUnit) {
      // Of the keys of a tile those that exist.
      Value pairCount = make<arith::CeilDivUIOp>(existing, index(2));
      multiplyByVectors(
          left, pairs, pairsPanel, x == 'k' ? existing : index(result.size(x)),
          right ? index(cast<MemRefType>(left.getType()).getShape()[1] / 2)
                : pairCount,
          [&](Value row, int64_t v, Value sum) { finish(panel, row, v, sum); });
    } else {
      multiplyTiles(left, pairs, pairsPanel, sums,
                    target ? panelIn(target, panel) : index(0));
      if (!target)
        loop(index(0), index(result.size(x)), 1, [&](Value row) {
          for (int64_t v = 0; v < level.panelVectors; ++v)
            finish(panel, row, v,
                   loadVector(sums, {index(0), row, index(v * level.lanes)}));
        });
    }
    preloaded.clear();
  });
}
