//===- CpuRowContract.cpp - contractions of few rows ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of keys and of values pass by as they lie in memory, once for all
// queries. A row of queries and a vector's worth of keys make as many vectors
// of partial sums, which a tree of additions folds into one vector; rows of
// values are added with a weight each. Both take one vector of memory a
// multiply-add: what is left is the time that memory takes.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

static Type elementOf(Value memory) {
  return cast<MemRefType>(memory.getType()).getElementType();
}

Value CpuEmitter::loadPart(Value memory, Value at, int64_t count) {
  Type element = elementOf(memory);
  if (count >= level.lanes)
    return widen(loadVector(memory, at, element));
  SmallVector<bool> flags(level.lanes, false);
  std::fill_n(flags.begin(), count, true);
  Value mask = make<arith::ConstantOp>(
      DenseElementsAttr::get(vectorOf(b.getI1Type()), flags));
  Value zeros = make<arith::ConstantOp>(
      cast<TypedAttr>(b.getZeroAttr(vectorOf(element))));
  return widen(
      make<vector::MaskedLoadOp>(vectorOf(element), memory, at, mask, zeros));
}

/// The first two steps stay within quarters of 16 bytes, where they are
/// cheapest; the others move quarters.
Value CpuEmitter::foldRows(Values rows) {
  int64_t n = level.lanes;
  auto fold = [&](ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
    Values next;
    for (size_t t = 0; t < rows.size(); t += 2)
      next.push_back(make<arith::AddFOp>(
          make<vector::ShuffleOp>(rows[t], rows[t + 1], low),
          make<vector::ShuffleOp>(rows[t], rows[t + 1], high)));
    rows = next;
  };
  SmallVector<int64_t> low, high;
  auto take = [&](std::initializer_list<int64_t> from, int64_t offset,
                  SmallVector<int64_t> &into) {
    for (int64_t l : from)
      into.push_back(l + offset);
  };
  for (int64_t g = 0; g < n; g += 4) { // a0 b0 a1 b1, a2 b2 a3 b3
    take({0, n, 1, n + 1}, g, low);
    take({2, n + 2, 3, n + 3}, g, high);
  }
  fold(low, high);
  low.clear();
  high.clear();
  for (int64_t g = 0; g < n; g += 4) { // ab0 cd0, ab1 cd1
    take({0, 1, n, n + 1}, g, low);
    take({2, 3, n + 2, n + 3}, g, high);
  }
  fold(low, high);
  while (rows.size() > 1) { // even quarters of both, odd quarters of both
    low.clear();
    high.clear();
    for (int64_t side = 0; side < 2; ++side)
      for (int64_t g = 0; g < n; g += 8) {
        take({0, 1, 2, 3}, side * n + g, low);
        take({4, 5, 6, 7}, side * n + g, high);
      }
    fold(low, high);
  }
  return rows[0];
}

/// result(x, y) = sum_d a(x, d) b(y, d).
void CpuEmitter::emitRowDots(tile::ContractOp op) {
  TileType type = typeOf(op.getA()), result = op.getResult().getType();
  if (forms[op.getA()].kind != TileForm::View)
    materialize(op.getA());
  const TileForm a = forms[op.getA()], k = asView(op.getB());
  Value target = allocate(result);
  const TileForm made = {
      TileForm::Buffer, target, {}, {}, result.has('k') ? k.rows : Value(),
      a.queryRows};
  TileType block = TileType::get(
      b.getContext(), "kd", {level.lanes, type.getShape()[1]}, b.getF32Type());
  Value aStride = strideOf(type, a), last = add(k.rows, -1);
  int64_t lanes = level.lanes, depth = type.getShape()[1];
  int64_t whole = depth / lanes * lanes;
  constexpr int64_t inlined = 8; // vectors of a row without a loop
  llvm::SmallVector<Ahead> ahead = keysAhead(op);
  Value rows = rowsOf(type, {}, a.queryRows);
  Value share = make<arith::DivUIOp>(add(rows, lanes - 1), rows);
  // `count` rows of queries, one or two, and the rows of keys that begin at
  // `starts`: two read each vector of keys once. One that is alone asks for the
  // next tile's rows line by line, between its products.
  auto rowsOfDots = [&](Value x, int64_t count, Value y0, Value memory,
                        const Values &starts, bool isAlone) {
    // Every query asks for its share of the next tile: more at once would have
    // to wait for each other.
    if (!isAlone) {
      Value from = mul(x, share);
      Value to = add(from, mul(share, index(count)));
      loop(from, min(to, index(lanes)), 1, [&](Value l) {
        for (const Ahead &next : ahead)
          askForRows(next, add(y0, l), 1);
      });
    }
    int64_t keys = lanes / count;
    Values folded;
    for (int64_t first = 0; first < lanes; first += keys) {
      auto step = [&](Value d, int64_t width, ValueRange sums) {
        Values left, next(lanes);
        for (int64_t u = 0; u < count; ++u)
          left.push_back(
              loadPart(a.memory, add(mul(add(x, u), aStride), d), width));
        for (int64_t l = 0; l < keys; ++l) {
          Value right = loadPart(memory, add(starts[first + l], d), width);
          for (int64_t u = 0; u < count; ++u)
            next[u * keys + l] = fma(right, left[u], sums[u * keys + l]);
          if (isAlone)
            for (const Ahead &rows : ahead)
              if (beginsLine(rows, getConstantIntValue(d).value_or(0)))
                askForLine(rows, add(y0, l), d);
        }
        return next;
      };
      Values sums(lanes, dense(0));
      if (whole <= inlined * lanes)
        for (int64_t d = 0; d < whole; d += lanes)
          sums = step(index(d), lanes, sums);
      else
        sums = loop(
            index(0), index(whole), lanes, sums,
            [&](Value d, ValueRange carried) {
              return step(d, lanes, carried);
            },
            level.unroll);
      if (whole < depth)
        sums = step(index(whole), depth - whole, sums);
      folded.push_back(foldRows(sums));
    }
    for (int64_t u = 0; u < count; ++u) {
      SmallVector<int64_t> own; // each vector has `keys` sums of every row
      for (int64_t from = 0; from < count * lanes; from += lanes)
        for (int64_t l = 0; l < keys; ++l)
          own.push_back(from + u * keys + l);
      Value sums = count == 1
                       ? folded[0]
                       : make<vector::ShuffleOp>(folded[0], folded[1], own);
      storeVector(sums, target, alongRow(result, made, {y0, 0, add(x, u)}));
    }
  };
  loop(index(0), k.rows, lanes, [&](Value y0) {
    Values starts; // rows past the end repeat the last one
    for (int64_t l = 0; l < lanes; ++l)
      starts.push_back(mul(min(add(y0, l), last), k.stride));
    ifThenElse(
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, rows, index(1)),
        [&] { rowsOfDots(index(0), 1, y0, k.memory, starts, true); },
        [&] {
          // Several queries read rows that were widened once, and whose
          // addresses take no registers.
          Value wide = allocate(block);
          for (int64_t l = 0; l < lanes; ++l) {
            Value to = index(l * paddedRow(block));
            for (int64_t d = 0; d < depth; d += lanes)
              storeVector(loadPart(k.memory, add(starts[l], d), depth - d),
                          wide, add(to, d));
            starts[l] = to;
          }
          Value pairs = mul(make<arith::DivUIOp>(rows, index(2)), index(2));
          loop(index(0), pairs, 2,
               [&](Value x) { rowsOfDots(x, 2, y0, wide, starts, false); });
          loop(pairs, rows, 1,
               [&](Value x) { rowsOfDots(x, 1, y0, wide, starts, false); });
        });
  });
  forms[op.getResult()] = made;
}

/// result(x, e) = acc(x, e) + sum_k a(x, k) b(k, e).
void CpuEmitter::emitRowSums(tile::ContractOp op) {
  TileType type = typeOf(op.getA()), rowType = typeOf(op.getB()),
           result = op.getResult().getType();
  Value memory = materialize(op.getA());
  const TileForm a = forms[op.getA()], view = asView(op.getB());
  Tree accTree = treeOf(op.getAcc());
  Value target;
  for (Value leaf : accTree.leaves)
    if (!target)
      target = reusable(leaf, op.getResult(), accTree.ops);
  if (!target)
    target = allocate(result);
  const TileForm made = {TileForm::Buffer, target, {}, {}, {}, a.queryRows};
  int64_t lanes = level.lanes, width = result.getShape()[1];
  Value stride = strideOf(type, a);
  llvm::SmallVector<Ahead> ahead = keysAhead(op);
  using Weigh = function_ref<Value(Value sum, Value row, Value x, Value k)>;
  // Rows [x0, x0 + rows) and `vectors` vectors from e0 on, of which the last
  // may be `tail` elements.
  auto block = [&](Value x0, int64_t rows, Value e0, int64_t vectors,
                   int64_t tail, Value limit, int64_t unroll, Weigh weigh) {
    Values sums = loop(
        index(0), limit, 1, Values(rows * vectors, dense(0)),
        [&](Value k, ValueRange carried) {
          Value row = add(mul(k, view.stride), e0);
          Values values, next;
          for (int64_t v = 0; v < vectors; ++v) {
            values.push_back(loadPart(view.memory, add(row, v * lanes),
                                      v + 1 < vectors ? lanes : tail));
            for (const Ahead &rows : ahead)
              if (vectors * lanes % rows.lineElements != 0 ||
                  beginsLine(rows, v * lanes))
                askForLine(rows, k, add(e0, v * lanes));
          }
          for (int64_t u = 0; u < rows; ++u) {
            Value x = add(x0, u);
            for (int64_t v = 0; v < vectors; ++v)
              next.push_back(weigh(carried[u * vectors + v], values[v], x, k));
          }
          return next;
        },
        unroll);
    // The sum of this tile joins what came before it at the end: rounding grows
    // with the number of tiles, not of keys.
    for (int64_t u = 0; u < rows; ++u)
      for (int64_t v = 0; v < vectors; ++v) {
        Point p{e0, v, add(x0, u)};
        laneAxis = result.getAxes().back();
        Value sum =
            make<arith::AddFOp>(at(op.getAcc(), p), sums[u * vectors + v]);
        storeVector(sum, target, alongRow(result, made, p));
      }
  };
  auto nest = [&](Value limit, int64_t unroll, Weigh weigh) {
    auto rowsOfBlock = [&](Value x0, int64_t rows) {
      int64_t most = featureBlock.first * featureBlock.second / rows;
      most = std::min<int64_t>(most, rows == 1 ? 8 : featureBlock.first);
      int64_t whole = width / lanes, each = std::min(most, whole);
      int64_t inLoop = each ? whole / each * each : 0;
      if (inLoop)
        loop(index(0), index(inLoop * lanes), each * lanes, [&](Value e) {
          block(x0, rows, e, each, lanes, limit, unroll, weigh);
        });
      if (whole > inLoop)
        block(x0, rows, index(inLoop * lanes), whole - inLoop, lanes, limit,
              unroll, weigh);
      if (width % lanes)
        block(x0, rows, index(whole * lanes), 1, width % lanes, limit, unroll,
              weigh);
    };
    Value rows = rowsOf(type, {}, a.queryRows);
    int64_t tall = featureBlock.second;
    Value blocks = mul(make<arith::DivUIOp>(rows, index(tall)), index(tall));
    loop(index(0), blocks, tall, [&](Value x) { rowsOfBlock(x, tall); });
    loop(blocks, rows, 1, [&](Value x) { rowsOfBlock(x, 1); });
  };
  auto weightAt = [&](Value x, Value k) {
    return broadcast(make<memref::LoadOp>(memory, add(mul(x, stride), k)));
  };
  auto plain = [&] {
    auto weigh = [&](Value sum, Value row, Value x, Value k) {
      return fma(row, weightAt(x, k), sum);
    };
    Value all = index(rowType.getShape()[0]);
    ifThenElse(
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, view.rows, all),
        [&] { nest(all, level.unroll, weigh); },
        [&] { nest(view.rows, /*unroll=*/1, weigh); });
  };
  if (!op.getEdge()) {
    plain();
  } else {
    // S2: 0 * NaN would leak a masked row; seldom, so tested a tile at a time.
    auto isBad = make<scf::IfOp>(TypeRange{b.getI1Type()},
                                 scalars.lookupOrDefault(op.getEdge()),
                                 /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      auto flag = [&](bool v) -> Value {
        return make<arith::ConstantOp>(b.getBoolAttr(v));
      };
      b.setInsertionPointToStart(isBad.thenBlock());
      Value finite = isFinite(rowType, view);
      make<scf::YieldOp>(ValueRange{make<arith::XOrIOp>(finite, flag(true))});
      b.setInsertionPointToStart(isBad.elseBlock());
      make<scf::YieldOp>(ValueRange{flag(false)});
    }
    ifThenElse(
        isBad.getResult(0),
        [&] {
          // Which pairs count, as numbers: they are read one by one.
          Tree keepTree = treeOf(op.getKeep());
          keepTree.edge = Value();
          Value flags = allocate(type);
          laneAxis = type.getAxes().back();
          loop(index(0), rowsOf(type, {}, a.queryRows), 1, [&](Value x) {
            loop(index(0), index(paddedRow(type)), lanes, [&](Value k) {
              Value keep = at(op.getKeep(), {k, 0, x});
              storeVector(make<arith::SelectOp>(keep, dense(1), dense(0)),
                          flags, add(mul(x, index(paddedRow(type))), k));
            });
          });
          nest(view.rows, /*unroll=*/1,
               [&](Value sum, Value row, Value x, Value k) -> Value {
                 Value flag = make<memref::LoadOp>(
                     flags, add(mul(x, index(paddedRow(type))), k));
                 Value counts = make<arith::CmpFOp>(
                     arith::CmpFPredicate::ONE, flag,
                     make<arith::ConstantOp>(b.getF32FloatAttr(0)));
                 return make<arith::SelectOp>(
                     counts, fma(row, weightAt(x, k), sum), sum);
               });
        },
        plain);
  }
  forms[op.getResult()] = made;
}

/// result(x) = acc(x) + sum_r a(x, r) b(r).
void CpuEmitter::emitRowProducts(tile::ContractOp op) {
  TileType type = typeOf(op.getA()), result = op.getResult().getType();
  Value memory = materialize(op.getA()), initial = materialize(op.getAcc());
  const TileForm a = forms[op.getA()], factors = asView(op.getB());
  Value target = allocate(result), stride = strideOf(type, a);
  loop(index(0), rowsOf(type, {}, a.queryRows), 1, [&](Value x) {
    Value row = mul(x, stride);
    Value sum = loop(index(0), index(type.getShape()[1]), level.lanes, dense(0),
                     [&](Value r, ValueRange carried) -> Values {
                       return {fma(loadVector(memory, add(row, r)),
                                   loadVector(factors.memory, r), carried[0])};
                     })[0];
    auto fast = arith::FastMathFlagsAttr::get(b.getContext(),
                                              arith::FastMathFlags::reassoc);
    Value folded = make<vector::ReductionOp>(vector::CombiningKind::ADD, sum,
                                             fast.getValue());
    Value before = make<memref::LoadOp>(initial, x);
    make<memref::StoreOp>(make<arith::AddFOp>(before, folded), target, x);
  });
  forms[op.getResult()] = {TileForm::Buffer, target, {}, {}, {}, a.queryRows};
}

/// The rows of a tile, wherever they lie.
TileForm CpuEmitter::asView(Value tile) {
  if (forms[tile].kind != TileForm::View)
    materialize(tile);
  TileType type = typeOf(tile);
  TileForm view = forms[tile];
  view.stride = strideOf(type, view);
  if (!view.rows || !type.has('k'))
    view.rows = index(type.getShape()[0]);
  return view;
}

LogicalResult CpuEmitter::emitRowContract(tile::ContractOp op) {
  TileType a = typeOf(op.getA()), k = typeOf(op.getB()),
           result = op.getResult().getType();
  bool isRank2 = a.rank() == 2 && k.rank() == 2 && result.rank() == 2;
  const TileForm &acc = forms[op.getAcc()];
  bool fromZero =
      acc.kind == TileForm::Splat && matchPattern(acc.scalar, m_AnyZeroFloat());
  if (isRank2 && a.getAxes()[0] == result.getAxes()[0]) {
    if (a.getAxes()[1] == k.getAxes()[1] && fromZero && !op.getEdge())
      return emitRowDots(op), success();
    if (a.getAxes()[1] == k.getAxes()[0])
      return emitRowSums(op), success();
  }
  // Features are whole vectors.
  if (a.rank() == 2 && k.getAxes() == "r" && a.getAxes()[1] == 'r' &&
      a.getAxes()[0] == result.getAxes()[0] && !op.getEdge())
    return emitRowProducts(op), success();
  return op.emitOpError("contracts something else than rows with rows");
}

Value CpuEmitter::directDistance(tile::SqDistOp op, Value query, Value key) {
  const TileForm &q = forms[op.getQuery()], &k = forms[op.getKey()];
  TileType type = typeOf(op.getQuery());
  int64_t lanes = level.lanes, depth = type.size('d');
  int64_t whole = depth / lanes * lanes;
  Value left = mul(query, strideOf(type, q)), right = mul(key, k.stride);
  auto term = [&](Value d, int64_t count, Value sum) {
    Value x = loadPart(q.memory, add(left, d), count);
    Value y = loadPart(k.memory, add(right, d), count);
    Value difference = make<arith::SubFOp>(x, y);
    return fma(difference, difference, sum);
  };
  Value sum = dense(0);
  if (whole)
    sum = loop(index(0), index(whole), lanes, sum,
               [&](Value d, ValueRange carried) -> Values {
                 return {term(d, lanes, carried[0])};
               })[0];
  if (whole < depth)
    sum = term(index(whole), depth - whole, sum);
  auto fast = arith::FastMathFlagsAttr::get(b.getContext(),
                                            arith::FastMathFlags::reassoc);
  return make<vector::ReductionOp>(vector::CombiningKind::ADD, sum,
                                   fast.getValue());
}
