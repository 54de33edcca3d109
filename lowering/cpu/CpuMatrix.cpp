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

#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

namespace {
constexpr int64_t kTileRows = 16;  ///< of a tile register
constexpr int64_t kTileDepth = 32; ///< bf16 numbers in a row of it
} // namespace

/// Whole tiles.
static int64_t padded(int64_t extent, int64_t size) {
  return static_cast<int64_t>(llvm::alignTo(extent, size));
}

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

/// A buffer of bf16. Where it is padded it is zero at first: what nobody writes
/// stays padding.
Value CpuEmitter::tileBuffer(ArrayRef<int64_t> shape, bool isPadded) {
  Value memory = reserve(shape, b.getBF16Type());
  if (!isPadded)
    return memory;
  auto type = cast<MemRefType>(memory.getType());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(memory);
  Value flat = make<memref::ReinterpretCastOp>(
      MemRefType::get({type.getNumElements()}, b.getBF16Type()), memory, 0,
      ArrayRef<int64_t>{type.getNumElements()}, ArrayRef<int64_t>{1});
  VectorType row = VectorType::get({kTileDepth}, b.getBF16Type());
  Value zero = make<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(row)));
  loop(index(0), index(type.getNumElements()), kTileDepth,
       [&](Value at) { storeVector(zero, flat, at); });
  return memory;
}

/// body(first) for blocks of `size` elements; the last may reach back into the
/// one before.
void CpuEmitter::forOverlapping(int64_t extent, int64_t size,
                                function_ref<void(Value)> body) {
  loop(index(0), index(extent / size * size), size, body);
  if (extent % size)
    body(index(extent - size));
}

Value CpuEmitter::interleave(Value first, Value second) {
  int64_t n = cast<VectorType>(first.getType()).getNumElements();
  SmallVector<int64_t> order;
  for (int64_t l = 0; l < n; ++l)
    order.append({l, n + l});
  return make<vector::ShuffleOp>(first, second, order);
}

/// Rows of keys, padded to whole tiles.
void CpuEmitter::packRows(tile::LoadOp load, const TileForm &view) {
  TileType type = load.getResult().getType();
  int64_t depth = type.getShape()[1];
  Value packed = tileBuffer(
      {padded(type.getShape()[0], kTileRows), padded(depth, kTileDepth)},
      depth % kTileDepth != 0);
  VectorType block = VectorType::get({kTileRows}, b.getBF16Type());
  loop(index(0), view.rows, 1, [&](Value row) {
    Value start = mul(row, view.stride);
    forOverlapping(depth, kTileRows, [&](Value d) {
      storeVector(make<vector::LoadOp>(block, view.memory, add(start, d)),
                  packed, {row, d});
    });
  });
  matrixRows[load.getResult()] = packed;
}

/// Columns of values as rows.
void CpuEmitter::packColumns(tile::LoadOp load, const TileForm &view) {
  TileType type = load.getResult().getType();
  int64_t keys = type.getShape()[0], width = type.getShape()[1];
  Value packed =
      tileBuffer({padded(width, kTileRows), keys}, width % kTileRows != 0);
  matrixRows[load.getResult()] = packed;
  Value blocks = mul(make<arith::DivUIOp>(view.rows, index(kTileDepth)),
                     index(kTileDepth));
  transposeBlocks(packed, view, width, blocks);
  // Keys past the last count as zeros: 0 * NaN is NaN, and what stood there may
  // have been one.
  VectorType row = VectorType::get({kTileDepth}, b.getBF16Type());
  Value zero = make<arith::ConstantOp>(cast<TypedAttr>(b.getZeroAttr(row)));
  loop(blocks, index(keys), kTileDepth, [&](Value first) {
    loop(index(0), index(width), 1, [&](Value e) {
      storeVector(zero, packed, {e, first});
    });
  });
  transposeOneByOne(packed, view, width, blocks, /*onlyFinite=*/false);
}

/// 16 pairs of keys by 16 columns at a time are transposed as 32-bit numbers.
void CpuEmitter::transposeBlocks(Value packed, const TileForm &view,
                                 int64_t width, Value keys) {
  VectorType block = VectorType::get({kTileRows}, b.getBF16Type());
  VectorType pairs = VectorType::get({kTileRows}, b.getI32Type());
  VectorType row = VectorType::get({kTileDepth}, b.getBF16Type());
  loop(index(0), keys, kTileDepth, [&](Value first) {
    forOverlapping(width, kTileRows, [&](Value e) {
      auto load = [&](int64_t key) {
        Value start = mul(add(first, key), view.stride);
        return make<vector::LoadOp>(block, view.memory, add(start, e));
      };
      Values rows;
      for (int64_t p = 0; p < kTileRows; ++p)
        rows.push_back(make<vector::BitCastOp>(
            pairs, interleave(load(2 * p), load(2 * p + 1))));
      transpose(rows);
      for (int64_t p = 0; p < kTileRows; ++p)
        storeVector(make<vector::BitCastOp>(row, rows[p]), packed,
                    {add(e, p), first});
    });
  });
}

/// The keys from the `first` on: few, or seldom. `onlyFinite`: others as zeros.
void CpuEmitter::transposeOneByOne(Value packed, const TileForm &view,
                                   int64_t width, Value first,
                                   bool onlyFinite) {
  Value zero = make<arith::ConstantOp>(b.getFloatAttr(b.getBF16Type(), 0));
  loop(first, view.rows, 1, [&](Value key) {
    loop(index(0), index(width), 1, [&](Value e) {
      Value x =
          make<memref::LoadOp>(view.memory, add(mul(key, view.stride), e));
      if (onlyFinite)
        x = make<arith::SelectOp>(isOdd(widen(x)), zero, x);
      make<memref::StoreOp>(x, packed, ValueRange{e, key});
    });
  });
}

/// Infinities and NaN.
Value CpuEmitter::isOdd(Value x) {
  Value difference = make<arith::SubFOp>(x, x);
  return make<arith::CmpFOp>(arith::CmpFPredicate::UNO, difference, difference);
}

/// Rows of queries, which came from bf16 and are lanes by now, as pairs: the
/// upper halves of their bits.
void CpuEmitter::packQueries(tile::LoadOp load, Value buffer) {
  int64_t depth = load.getResult().getType().getShape()[1];
  Value packed =
      tileBuffer({panels, padded(depth, kTileDepth) / 2, 2 * panelLanes()},
                 depth % kTileDepth != 0);
  VectorType bits = VectorType::get({level.lanes}, b.getI32Type());
  VectorType row = VectorType::get({kTileDepth}, b.getBF16Type());
  auto constant = [&](uint32_t v) -> Value {
    return make<arith::ConstantOp>(DenseElementsAttr::get(bits, APInt(32, v)));
  };
  forPanels([&](Value panel) {
    auto pack = [&](Value pair, bool both) {
      for (int64_t v = 0; v < level.panelVectors; ++v) {
        Value d = mul(pair, index(2)), lane = index(v * level.lanes);
        Value low =
            make<arith::BitcastOp>(bits, loadVector(buffer, {panel, d, lane}));
        Value x = make<arith::ShRUIOp>(low, constant(16));
        if (both) {
          Value high = make<arith::BitcastOp>(
              bits, loadVector(buffer, {panel, add(d, 1), lane}));
          x = make<arith::OrIOp>(
              x, make<arith::AndIOp>(high, constant(0xffff0000u)));
        }
        storeVector(make<vector::BitCastOp>(row, x), packed,
                    {panel, pair, index(v * kTileDepth)});
      }
    };
    loop(index(0), index(depth / 2), 1, [&](Value pair) { pack(pair, true); });
    if (depth % 2)
      pack(index(depth / 2), false);
  });
  matrixPairs[load.getResult()] = packed;
}

/// Weights of a panel, rounded, as pairs of keys. Keys past the last weigh
/// nothing.
Value CpuEmitter::packWeights(Value weights, int64_t keys, Value panel,
                              Value existing) {
  Value &packed = weightTiles;
  if (!packed)
    packed = tileBuffer({1, keys / 2, 2 * panelLanes()}, false);
  VectorType flags = vectorOf(b.getI1Type());
  auto pack = [&](bool whole) {
    // A matrix unit takes whole tiles.
    Value pairs = whole || level.hasMatrixUnit
                      ? index(keys / 2)
                      : make<arith::CeilDivUIOp>(existing, index(2));
    loop(index(0), pairs, 1, [&](Value pair) {
      for (int64_t v = 0; v < level.panelVectors; ++v) {
        auto load = [&](int64_t odd) -> Value {
          Value key = add(mul(pair, index(2)), odd);
          Value x = loadVector(
              weights, {panelIn(weights, panel), key, index(v * level.lanes)});
          if (whole)
            return x;
          Value exists = make<vector::BroadcastOp>(
              flags,
              make<arith::CmpIOp>(arith::CmpIPredicate::slt, key, existing));
          return make<arith::SelectOp>(exists, x, dense(0));
        };
        storeVector(roundedPairs(load(0), load(1)), packed,
                    {index(0), pair, index(v * kTileDepth)});
      }
    });
  };
  Value isWhole =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, existing, index(keys));
  ifThenElse(
      isWhole, [&] { pack(true); }, [&] { pack(false); });
  return packed;
}

/// Two vectors rounded to bf16, lane by lane side by side.
Value CpuEmitter::roundedPairs(Value first, Value second) {
  Type bf16 = b.getBF16Type();
  if (!level.hasPairProducts)
    return interleave(narrow(first, bf16), narrow(second, bf16));
  // One instruction rounds both, the second to the upper half; LLVM would take
  // one for each.
  SmallVector<int64_t> order;
  VectorType row = VectorType::get({kTileDepth}, bf16);
  Value rounded =
      make<LLVM::CallIntrinsicOp>(
          row, b.getStringAttr("llvm.x86.avx512bf16.cvtne2ps2bf16.512"),
          ValueRange{second, first})
          .getResult(0);
  for (int64_t l = 0; l < level.lanes; ++l)
    order.append({l, level.lanes + l});
  return make<vector::ShuffleOp>(rounded, rounded, order);
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
