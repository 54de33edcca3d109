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

#include "lowering/cpu/CpuRowProducts.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

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
  const RowProducts products(*this, a.memory, k.memory);
  Value aStride = strideOf(type, a), last = add(k.rows, -1);
  int64_t lanes = level.lanes, depth = type.getShape()[1];
  int64_t width = products.width, whole = depth / width * width;
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
      auto step = [&](Value d, int64_t elements, ValueRange sums) {
        Values left, next(lanes);
        for (int64_t u = 0; u < count; ++u)
          left.push_back(products.load(
              a.memory, add(mul(add(x, u), aStride), d), elements));
        for (int64_t l = 0; l < keys; ++l) {
          Value right =
              products.load(memory, add(starts[first + l], d), elements);
          for (int64_t u = 0; u < count; ++u)
            next[u * keys + l] =
                products.add(sums[u * keys + l], right, left[u]);
          if (isAlone)
            for (const Ahead &rows : ahead)
              if (beginsLine(rows, getConstantIntValue(d).value_or(0)))
                askForLine(rows, add(y0, l), d);
        }
        return next;
      };
      Values sums(lanes, dense(0));
      if (whole <= inlined * width)
        for (int64_t d = 0; d < whole; d += width)
          sums = step(index(d), width, sums);
      else
        sums = loop(
            index(0), index(whole), width, sums,
            [&](Value d, ValueRange carried) {
              return step(d, width, carried);
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
          auto [memory, begin] = denseRows(k, y0, depth, starts, products);
          for (int64_t l = 0; l < lanes; ++l)
            starts[l] = add(begin, l * depth);
          Value pairs = mul(make<arith::DivUIOp>(rows, index(2)), index(2));
          Value from = memory;
          loop(index(0), pairs, 2,
               [&](Value x) { rowsOfDots(x, 2, y0, from, starts, false); });
          loop(pairs, rows, 1,
               [&](Value x) { rowsOfDots(x, 1, y0, from, starts, false); });
        });
  });
  forms[op.getResult()] = made;
}

/// Rows for several queries lie behind each other, so that their addresses take
/// no registers, and are as products take them: a vector's worth of keys where
/// they are, or a copy.
std::pair<Value, Value> CpuEmitter::denseRows(const TileForm &k, Value first,
                                              int64_t depth,
                                              ArrayRef<Value> starts,
                                              const RowProducts &products) {
  int64_t lanes = level.lanes;
  Type element = products.element;
  // A vector may reach past its row, over what the next row then takes.
  Value buffer = reserve({lanes * depth + products.width}, element);
  auto flat = MemRefType::get(
      {ShapedType::kDynamic}, element,
      StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {1}));
  Value copied = make<memref::CastOp>(flat, buffer);
  auto copy = [&] {
    for (int64_t l = 0; l < lanes; ++l)
      for (int64_t d = 0; d < depth; d += products.width)
        storeVector(products.load(k.memory, add(starts[l], d), depth - d),
                    buffer, index(l * depth + d));
  };
  if (k.memory.getType() != flat) {
    copy();
    return {copied, index(0)};
  }
  Value isDense = make<arith::AndIOp>(
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, k.stride, index(depth)),
      make<arith::CmpIOp>(arith::CmpIPredicate::sle, add(first, lanes),
                          k.rows));
  ifThenElse(
      isDense, [] {}, copy);
  return {make<arith::SelectOp>(isDense, k.memory, copied),
          make<arith::SelectOp>(isDense, mul(first, index(depth)), index(0))};
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
  const RowProducts products(*this, memory, view.memory);
  int64_t lanes = level.lanes, width = result.getShape()[1];
  int64_t keysAStep = products.keys();
  Value stride = strideOf(type, a);
  llvm::SmallVector<Ahead> ahead = keysAhead(op);
  using Keep = function_ref<Value(Value x, Value k)>;
  // Rows [x0, x0 + rows) and `vectors` vectors from e0 on, of which the last
  // may be `tail` elements. Of keys that a row does not keep, values are 0.
  auto block = [&](Value x0, int64_t rows, Value e0, int64_t vectors,
                   int64_t tail, Value limit, int64_t unroll, Keep keep) {
    int64_t columns = (vectors - 1) * lanes + tail;
    auto values = [&](Value k, int64_t keys, Value x) {
      Values made, kept;
      for (int64_t n = 0; keep && n < keys; ++n)
        kept.push_back(keep(x, add(k, n)));
      for (int64_t e = 0; e < columns; e += products.width) {
        Values next;
        for (int64_t n = 0; n < keys; ++n) {
          Value row = products.load(
              view.memory, add(add(mul(add(k, n), view.stride), e0), e),
              columns - e);
          Value zero = make<arith::ConstantOp>(
              cast<TypedAttr>(b.getZeroAttr(row.getType())));
          next.push_back(keep ? make<arith::SelectOp>(kept[n], row, zero)
                              : row);
        }
        made.append(products.columns(next));
      }
      return made;
    };
    auto step = [&](Value k, int64_t keys, ValueRange carried) {
      Values common = keep ? Values() : values(k, keys, {}), next;
      for (int64_t n = 0; n < keys; ++n)
        for (int64_t v = 0; v < vectors; ++v)
          for (const Ahead &rows : ahead)
            if (vectors * lanes % rows.lineElements != 0 ||
                beginsLine(rows, v * lanes))
              askForLine(rows, add(k, n), add(e0, v * lanes));
      for (int64_t u = 0; u < rows; ++u) {
        Value x = add(x0, u);
        Value weight = products.weight(memory, add(mul(x, stride), k), keys);
        for (Value row : keep ? values(k, keys, x) : common)
          next.push_back(products.add(carried[next.size()], row, weight));
      }
      return next;
    };
    int64_t each = llvm::divideCeil(columns, products.width) * keysAStep;
    Value whole = limit; // of steps
    bool hasRest = getConstantIntValue(limit).value_or(1) % keysAStep != 0;
    if (hasRest)
      whole =
          mul(make<arith::DivUIOp>(limit, index(keysAStep)), index(keysAStep));
    Values sums = loop(
        index(0), whole, keysAStep, Values(rows * each, dense(0)),
        [&](Value k, ValueRange carried) {
          return step(k, keysAStep, carried);
        },
        unroll);
    if (hasRest)
      sums =
          loop(whole, limit, keysAStep, sums, [&](Value k, ValueRange carried) {
            return step(k, 1, carried);
          });
    // The sum of this tile joins what came before it at the end: rounding grows
    // with the number of tiles, not of keys.
    for (int64_t u = 0; u < rows; ++u) {
      Values inOrder = products.inOrder(ArrayRef(sums).slice(u * each, each));
      for (int64_t v = 0; v < vectors; ++v) {
        Point p{e0, v, add(x0, u)};
        laneAxis = result.getAxes().back();
        Value sum = make<arith::AddFOp>(at(op.getAcc(), p), inOrder[v]);
        storeVector(sum, target, alongRow(result, made, p));
      }
    }
  };
  auto nest = [&](Value limit, int64_t unroll, Keep keep) {
    auto rowsOfBlock = [&](Value x0, int64_t rows) {
      int64_t most = featureBlock.first * featureBlock.second / rows;
      most = std::min<int64_t>(most, rows == 1 ? 8 : featureBlock.first);
      int64_t whole = width / lanes, each = std::min(most, whole);
      int64_t inLoop = each ? whole / each * each : 0;
      if (inLoop)
        loop(index(0), index(inLoop * lanes), each * lanes, [&](Value e) {
          block(x0, rows, e, each, lanes, limit, unroll, keep);
        });
      if (whole > inLoop)
        block(x0, rows, index(inLoop * lanes), whole - inLoop, lanes, limit,
              unroll, keep);
      if (width % lanes)
        block(x0, rows, index(whole * lanes), 1, width % lanes, limit, unroll,
              keep);
    };
    Value rows = rowsOf(type, {}, a.queryRows);
    int64_t tall = featureBlock.second;
    Value blocks = mul(make<arith::DivUIOp>(rows, index(tall)), index(tall));
    loop(index(0), blocks, tall, [&](Value x) { rowsOfBlock(x, tall); });
    loop(blocks, rows, 1, [&](Value x) { rowsOfBlock(x, 1); });
  };
  auto plain = [&] {
    Value all = index(rowType.getShape()[0]);
    ifThenElse(
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, view.rows, all),
        [&] { nest(all, level.unroll, nullptr); },
        [&] { nest(view.rows, /*unroll=*/1, nullptr); });
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
          TileType numbers = TileType::get(b.getContext(), type.getAxes(),
                                           type.getShape(), b.getF32Type());
          Value flags = allocate(numbers);
          laneAxis = type.getAxes().back();
          loop(index(0), rowsOf(type, {}, a.queryRows), 1, [&](Value x) {
            loop(index(0), index(paddedRow(type)), lanes, [&](Value k) {
              Value keep = at(op.getKeep(), {k, 0, x});
              storeVector(make<arith::SelectOp>(keep, dense(1), dense(0)),
                          flags, add(mul(x, index(paddedRow(type))), k));
            });
          });
          nest(view.rows, /*unroll=*/1, [&](Value x, Value k) -> Value {
            Value flag = make<memref::LoadOp>(
                flags, add(mul(x, index(paddedRow(type))), k));
            return make<arith::CmpFOp>(
                arith::CmpFPredicate::ONE, flag,
                make<arith::ConstantOp>(b.getF32FloatAttr(0)));
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
  const RowProducts numbers(*this);
  auto term = [&](Value d, int64_t count, Value sum) {
    Value x = numbers.load(q.memory, add(left, d), count);
    Value y = numbers.load(k.memory, add(right, d), count);
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
