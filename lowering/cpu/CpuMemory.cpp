//===- CpuMemory.cpp - tiles from and to the caller's memory --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

/// Address arithmetic is spelled out, so that what does not change in a loop
/// can leave it.
std::pair<Value, Value> CpuEmitter::flatten(Value memory, ValueRange indices,
                                            int64_t innerAxes) {
  auto metadata = make<memref::ExtractStridedMetadataOp>(memory);
  Value offset = metadata.getOffset();
  for (auto [i, position] : llvm::enumerate(indices))
    offset = add(offset, mul(position, metadata.getStrides()[i]));
  auto type = MemRefType::get(
      {ShapedType::kDynamic},
      cast<MemRefType>(memory.getType()).getElementType(),
      StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {1}));
  // The extent is never looked at; the rows that exist are counted elsewhere.
  Value flat = make<memref::ReinterpretCastOp>(
      type, metadata.getBaseBuffer(), OpFoldResult(offset),
      ArrayRef<OpFoldResult>{OpFoldResult(index(int64_t(1) << 48))},
      ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  size_t rowAxis = indices.size() - 1 - innerAxes;
  // Workspaces have rows a known distance apart.
  int64_t base;
  SmallVector<int64_t> strides;
  if (succeeded(cast<MemRefType>(memory.getType())
                    .getStridesAndOffset(strides, base)) &&
      !ShapedType::isDynamic(strides[rowAxis]))
    return {flat, index(strides[rowAxis])};
  return {flat, metadata.getStrides()[rowAxis]};
}

/// Swaps blocks of `s` elements between vectors, for every distance s from
/// `from` down to `to`; vectors stand `apart` from each other in the matrix.
void CpuEmitter::swapBlocks(Values &rows, int64_t from, int64_t to,
                            int64_t apart) {
  int64_t n = level.lanes;
  for (int64_t s = from; s >= to; s /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t l = 0; l < n; ++l) {
      low.push_back((l & s) == 0 ? l : n + l - s);
      high.push_back((l & s) == 0 ? l + s : n + l);
    }
    int64_t step = s / apart;
    for (int64_t i = 0; i < static_cast<int64_t>(rows.size()); ++i) {
      if (i & step)
        continue;
      Value x = rows[i], y = rows[i + step];
      rows[i] = make<vector::ShuffleOp>(x, y, low);
      rows[i + step] = make<vector::ShuffleOp>(x, y, high);
    }
  }
}

/// In two loops, by way of a buffer: what moves by four or more lanes, of every
/// fourth vector; then the rest, of four that stand together. Unrolled it would
/// be most of what a kernel's compilation takes.
void CpuEmitter::transpose(Type element, function_ref<Value(Value)> take,
                           function_ref<void(Value, Value)> give) {
  constexpr int64_t together = 4;
  int64_t n = level.lanes;
  Value buffer = reserve({n, n}, element);
  loop(index(0), index(together), 1, [&](Value i) {
    Values rows;
    for (int64_t l = 0; l < n; l += together)
      rows.push_back(take(add(i, l)));
    swapBlocks(rows, n / 2, together, together);
    for (auto [l, row] : llvm::enumerate(rows))
      storeVector(row, buffer, {add(i, l * together), index(0)});
  });
  loop(index(0), index(n), together, [&](Value i) {
    Values rows;
    // As it is stored: loadVector would make lanes of an integer as wide as
    // all.
    VectorType stored = VectorType::get({n}, element);
    for (int64_t l = 0; l < together; ++l)
      rows.push_back(make<vector::LoadOp>(stored, buffer,
                                          ValueRange{add(i, l), index(0)}));
    swapBlocks(rows, together / 2, 1, 1);
    for (int64_t l = 0; l < together; ++l)
      give(add(i, l), rows[l]);
  });
}

/// Every vector of lanes of every panel: `first` is its first row in the tile.
void CpuEmitter::forLaneBlocks(function_ref<void(Value, Value, Value)> body) {
  forPanels([&](Value panel) {
    loop(index(0), index(panelLanes()), level.lanes, [&](Value lane0) {
      body(panel, lane0, add(mul(panel, index(panelLanes())), lane0));
    });
  });
}

static Type elementOf(Value memory) {
  return cast<MemRefType>(memory.getType()).getElementType();
}

/// Rows that are not stored as f32, widened into a buffer: every query reads
/// them as scalars.
TileForm CpuEmitter::copyRows(TileType type, Value flat, Value stride,
                              Value rows) {
  int64_t width = type.getShape()[1], lanes = level.lanes;
  int64_t padded = llvm::alignTo(width, lanes), whole = width / lanes * lanes;
  Value buffer = reserve({type.getShape()[0] * padded}, b.getF32Type());
  Value step = index(padded);
  Type element = elementOf(flat);
  loop(index(0), rows, 1, [&](Value row) {
    Value from = mul(row, stride), to = mul(row, step);
    if (whole)
      loop(index(0), index(whole), lanes, [&](Value d) {
        storeVector(widen(loadVector(flat, add(from, d), element)), buffer,
                    add(to, d));
      });
    for (int64_t d = whole; d < width; ++d)
      make<memref::StoreOp>(widen(make<memref::LoadOp>(flat, add(from, d))),
                            buffer, ValueRange{add(to, d)});
  });
  return {TileForm::View, buffer, step, {}, rows};
}

void CpuEmitter::emitLoad(tile::LoadOp op) {
  TileType type = op.getResult().getType();
  Value memory = scalars.lookupOrDefault(op.getMemory());
  Values indices;
  for (Value i : op.getIndices())
    indices.push_back(scalars.lookupOrDefault(i));
  Value row0 = indices.back();
  auto [flat, stride] = flatten(memory, indices, 0);
  Value rows =
      make<arith::SubIOp>(scalars.lookupOrDefault(op.getLimit()), row0);
  rows = min(rows, index(type.getShape()[0]));
  Value queryRows = panels == 0 && type.has('q') ? rows : Value();
  if (type.rank() == 2 && (hasLanes(type) || type.has('k'))) {
    int64_t extent = type.getShape()[0];
    int64_t bits = elementOf(flat).getIntOrFloatBitWidth();
    loadsAhead[op] = {flat,   mul(stride, index(extent)), stride,
                      extent, type.getShape()[1],         512 / bits,
                      false};
  }

  if (!hasLanes(type) && (type.rank() == 2 || type.has('r'))) {
    TileForm &form = forms[op.getResult()];
    // Rows of keys of a row-major grid are widened where they are read; the
    // matrix unit takes them as they are, and who else reads them does so
    // seldom.
    bool forMatrixUnit = isForMatrixUnit(op);
    bool asStored = elementOf(flat).isF32() || forMatrixUnit ||
                    (panels == 0 && type.getAxes()[0] == 'k');
    form = asStored ? TileForm{TileForm::View, flat, stride, {}, rows}
                    : copyRows(type, flat, stride, rows);
    form.queryRows = queryRows;
    if (forMatrixUnit)
      type.has('d') ? packRows(op, form) : packColumns(op, form);
    return;
  }
  Value buffer = allocate(type);
  forms[op.getResult()] = {
      TileForm::Buffer, buffer, {}, {}, hasLanes(type) ? Value() : rows,
      queryRows};
  if (!hasLanes(type)) { // one value a row
    Value source = flat, step = stride;
    loop(index(0), rows, 1, [&](Value r) {
      make<memref::StoreOp>(
          toLaneType(widen(make<memref::LoadOp>(source, mul(r, step)))), buffer,
          r);
    });
    return;
  }

  // Queries: rows become lanes. Panels are counted by the rows of the array, so
  // that results past a given length are written too.
  Value extent =
      make<memref::DimOp>(memory, static_cast<int64_t>(indices.size()) - 1);
  Value here = min(make<arith::SubIOp>(extent, row0), index(type.size('q')));
  panelCount = make<arith::CeilDivSIOp>(here, index(panelLanes()));
  Value last = max(add(rows, -1), index(0));
  Value source = flat, step = stride;
  if (type.rank() == 2 && isSoonDone()) {
    int64_t line = 512 / elementOf(flat).getIntOrFloatBitWidth();
    queriesAhead.rows = resultsOf(op);
    queriesAhead.rows.push_back({flat, mul(rows, stride), stride,
                                 type.getShape()[0], type.getShape()[1], line,
                                 /*write=*/false});
  }
  forLaneBlocks([&](Value panel, Value lane0, Value first) {
    transposeRows(
        source, step, first, last, type.getShape()[1],
        [&](Value d, Value vector) {
          storeVector(vector, buffer, {panel, d, lane0});
        },
        [&](Value d, Value l, Value x) {
          make<memref::StoreOp>(x, buffer, ValueRange{panel, d, add(lane0, l)});
        });
  });
  if (isForMatrixUnit(op))
    packQueries(op, buffer);
}

void CpuEmitter::transposeRows(Value flat, Value stride, Value first,
                               Value last, int64_t depth,
                               function_ref<void(Value, Value)> whole,
                               function_ref<void(Value, Value, Value)> single) {
  int64_t lanes = level.lanes, blocks = depth / lanes * lanes;
  auto start = [&](Value l) {
    return mul(min(make<arith::AddIOp>(first, l), last), stride);
  };
  if (blocks)
    loop(index(0), index(blocks), lanes, [&](Value d) {
      transpose(
          b.getF32Type(),
          [&](Value l) {
            return widen(loadVector(flat, add(start(l), d), elementOf(flat)));
          },
          [&](Value l, Value column) { whole(add(d, l), column); });
    });
  if (depth > blocks)
    loop(index(0), index(lanes), 1, [&](Value l) {
      Value from = start(l);
      loop(index(blocks), index(depth), 1, [&](Value d) {
        single(d, l, widen(make<memref::LoadOp>(flat, add(from, d))));
      });
    });
}

LogicalResult CpuEmitter::emitStore(tile::StoreOp op) {
  TileType type = typeOf(op.getTile());
  if (hasRowLanes(type) && (type.rank() == 2 || type.has('r')))
    return storeRowMajor(op);
  if (!hasLanes(type) && panels > 0)
    return op.emitOpError("stores something else than rows of queries");
  Value memory = scalars.lookupOrDefault(op.getMemory());
  Values indices;
  for (Value i : op.getIndices())
    indices.push_back(scalars.lookupOrDefault(i));
  bool corner = static_cast<int64_t>(indices.size()) ==
                    cast<MemRefType>(memory.getType()).getRank() &&
                type.rank() == 2;
  Value row0 = indices[indices.size() - 1 - corner];
  auto [target, step] = flatten(memory, indices, corner);
  Value rows =
      min(make<arith::SubIOp>(scalars.lookupOrDefault(op.getLimit()), row0),
          index(type.size('q')));
  Value buffer;
  if (corner) { // columns past the keys that exist are written too
    buffer = allocate(type);
    Tree tree = treeOf(op.getTile());
    tree.rows = Value();
    materializeInto(op.getTile(), buffer, tree);
  } else {
    buffer = materialize(op.getTile());
  }
  Value flat = target, stride = step;
  Type element = elementOf(flat);
  if (type.rank() == 1) {
    loop(index(0), rows, 1, [&](Value r) {
      Value x = narrow(make<memref::LoadOp>(buffer, r), element);
      if (x.getType() != element) // argmax
        x = make<arith::TruncIOp>(element, x);
      make<memref::StoreOp>(x, flat, mul(r, stride));
    });
    return success();
  }
  char x = other(type);
  int64_t width = type.size(x), lanes = level.lanes;
  Value end = index(width);
  if (corner) {
    Value extent =
        make<memref::DimOp>(memory, static_cast<int64_t>(indices.size()) - 1);
    end = min(end, make<arith::SubIOp>(extent, indices.back()));
  }
  int64_t whole = corner ? 0 : width / lanes * lanes;
  forLaneBlocks([&](Value panel, Value lane0, Value first) {
    auto ifRow = [&](Value l, function_ref<void(Value)> body) {
      Value row = add(first, l);
      ifThenElse(
          make<arith::CmpIOp>(arith::CmpIPredicate::slt, row, rows),
          [&] { body(mul(row, stride)); }, nullptr);
    };
    if (whole)
      loop(index(0), index(whole), lanes, [&](Value d) {
        transpose(
            b.getF32Type(),
            [&](Value l) {
              return loadVector(buffer, {panel, add(d, l), lane0});
            },
            [&](Value l, Value row) {
              ifRow(l, [&](Value start) {
                storeVector(narrow(row, element), flat, add(start, d));
              });
            });
      });
    if (width > whole)
      loop(index(0), index(lanes), 1, [&](Value l) {
        ifRow(l, [&](Value start) {
          loop(index(whole), end, 1, [&](Value d) {
            Value x = make<memref::LoadOp>(buffer,
                                           ValueRange{panel, d, add(lane0, l)});
            make<memref::StoreOp>(narrow(x, element), flat,
                                  ValueRange{add(start, d)});
          });
        });
      });
  });
  return success();
}
