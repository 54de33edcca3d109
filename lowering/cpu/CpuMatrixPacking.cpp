//===- CpuMatrixPacking.cpp - 16-bit tiles from rows ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of keys are copied, values are transposed, queries and weights are put
// in pairs of rows. Padding is zero.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"
#include "lowering/cpu/MatrixTiles.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

/// Whole tiles.
static int64_t padded(int64_t extent, int64_t size) {
  return static_cast<int64_t>(llvm::alignTo(extent, size));
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
      auto load = [&](Value key) {
        Value start = mul(add(first, key), view.stride);
        return make<vector::LoadOp>(block, view.memory, add(start, e));
      };
      transpose(
          b.getI32Type(),
          [&](Value p) {
            Value key = mul(p, index(2));
            return make<vector::BitCastOp>(
                pairs, interleave(load(key), load(add(key, 1))));
          },
          [&](Value p, Value column) {
            storeVector(make<vector::BitCastOp>(row, column), packed,
                        {add(e, p), first});
          });
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
