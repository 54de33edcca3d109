//===- CpuRowSums.cpp - rows of values, weighted by few queries -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of values pass by as they lie in memory and are added to the sums of
// several queries with a weight each; what is left is the time that memory
// takes.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuRowProducts.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

/// result(x, e) = acc(x, e) + sum_k a(x, k) b(k, e).
void CpuEmitter::emitRowSums(tile::ContractOp op) {
  TileType type = typeOf(op.getA()), rowType = typeOf(op.getB()),
           result = op.getResult().getType();
  Value memory = materialize(op.getA());
  const TileForm a = forms[op.getA()], view = asView(op.getB());
  Tree accTree = treeOf(op.getAcc());
  Value target = targetOf(op.getResult(), accTree);
  const TileForm made = {TileForm::Buffer, target, {}, {}, {}, a.queryRows};
  const RowProducts products(*this, memory, view.memory);
  int64_t lanes = level.lanes, width = result.getShape()[1];
  int64_t keysAStep = products.keys();
  Value stride = strideOf(type, a);
  llvm::SmallVector<Ahead> ahead = keysAhead(op);
  Value allRows = rowsOf(type, {}, a.queryRows);
  using Keep = function_ref<Value(Value x, Value k)>;
  // How rows are asked for: not at all; those soon behind, line by line; or the
  // next tile's by several blocks, each its share of rows, every few keys.
  enum class Asking { None, Lines, Rows };
  constexpr int64_t askedKeys = 8;
  // Rows [x0, x0 + rows) and `vectors` vectors from e0 on, of which the last
  // may be `tail` elements. Of keys that a row does not keep, values are 0.
  auto block = [&](Value x0, int64_t rows, Value e0, int64_t vectors,
                   int64_t tail, Value limit, int64_t unroll, Keep keep,
                   Asking asks, Value workBefore, Value workOfAll) {
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
      for (int64_t n = 0; asks == Asking::Lines && n < keys; ++n)
        for (int64_t v = 0; v < vectors; ++v)
          for (const Ahead &next : ahead)
            if (asksAt(next, v * lanes))
              askForLine(soonAfter(next), add(k, n), add(e0, v * lanes));
      for (int64_t u = 0; u < rows; ++u) {
        Value x = add(x0, u);
        Value weight = products.broadcast(memory, add(mul(x, stride), k), keys);
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
    auto sumOf = [&](Value from, Value to, ValueRange before) {
      return loop(
          from, to, keysAStep, before,
          [&](Value k, ValueRange carried) {
            return step(k, keysAStep, carried);
          },
          unroll);
    };
    Values sums(rows * each, dense(0));
    if (asks != Asking::Rows)
      sums = sumOf(index(0), whole, sums);
    else
      sums = loop(index(0), limit, askedKeys, sums,
                  [&](Value k, ValueRange carried) {
                    Value end = add(k, askedKeys);
                    auto rowsUpTo = [&](Value k) {
                      return make<arith::DivUIOp>(
                          add(workBefore, mul(k, index(rows))), workOfAll);
                    };
                    loop(rowsUpTo(k), rowsUpTo(end), 1, [&](Value l) {
                      for (const Ahead &next : ahead)
                        askForRows(next, l, 1);
                    });
                    return sumOf(k, end, carried);
                  });
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
  int64_t tall = featureBlock.second;
  Value inBlocks = mul(make<arith::DivUIOp>(allRows, index(tall)), index(tall));
  auto rowsOfBlock = [&](Value x0, int64_t rows, Value limit, int64_t unroll,
                         Keep keep, Asking asks) {
    int64_t most = featureBlock.first * featureBlock.second / rows;
    most = std::min<int64_t>(most, rows == 1 ? 8 : featureBlock.first);
    int64_t whole = width / lanes, each = std::min(most, whole);
    int64_t inLoop = each ? whole / each * each : 0;
    // Work is counted in rows of queries, keys and blocks of columns.
    int64_t parts = each ? llvm::divideCeil(whole, each) : 1;
    auto columns = [&](Value e0, int64_t vectors, int64_t tail, Asking asks) {
      Value part =
          make<arith::DivUIOp>(e0, index(std::max<int64_t>(each, 1) * lanes));
      Value before = add(mul(x0, index(parts)), mul(part, index(rows)));
      block(x0, rows, e0, vectors, tail, limit, unroll, keep, asks,
            mul(before, limit), mul(allRows, index(parts)));
    };
    if (inLoop)
      loop(index(0), index(inLoop * lanes), each * lanes,
           [&](Value e) { columns(e, each, lanes, asks); });
    if (whole > inLoop)
      columns(index(inLoop * lanes), whole - inLoop, lanes, asks);
    if (width % lanes)
      columns(index(whole * lanes), 1, width % lanes,
              asks == Asking::Rows && whole ? Asking::None : asks);
  };
  // Tiles that are not whole are few: their rows are summed one by one.
  auto oneByOne = [&](Value from, Value limit, int64_t unroll, Keep keep,
                      Asking asks) {
    loop(from, allRows, 1,
         [&](Value x) { rowsOfBlock(x, 1, limit, unroll, keep, asks); });
  };
  auto plain = [&] {
    Value all = index(rowType.getShape()[0]);
    ifThenElse(
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, view.rows, all),
        [&] {
          loop(index(0), inBlocks, tall, [&](Value x) {
            rowsOfBlock(x, tall, all, level.unroll, nullptr, Asking::Rows);
          });
          auto others = [&](Asking asks) {
            oneByOne(inBlocks, all, level.unroll, nullptr, asks);
          };
          ifThenElse(
              make<arith::CmpIOp>(arith::CmpIPredicate::eq, allRows, index(1)),
              [&] { others(Asking::Lines); }, [&] { others(Asking::Rows); });
        },
        [&] { oneByOne(index(0), view.rows, 1, nullptr, Asking::None); });
  };
  if (!op.getEdge()) {
    plain();
  } else {
    ifThenElse(
        hidesOdd(op.getEdge(), rowType, view),
        [&] {
          // Which pairs count, as numbers: they are read one by one.
          Tree keepTree = treeOf(op.getKeep());
          keepTree.edge = Value();
          TileType numbers = TileType::get(b.getContext(), type.getAxes(),
                                           type.getShape(), b.getF32Type());
          Value flags = allocate(numbers);
          laneAxis = type.getAxes().back();
          loop(index(0), allRows, 1, [&](Value x) {
            loop(index(0), index(paddedRow(type)), lanes, [&](Value k) {
              Value keep = at(op.getKeep(), {k, 0, x});
              storeVector(make<arith::SelectOp>(keep, dense(1), dense(0)),
                          flags, add(mul(x, index(paddedRow(type))), k));
            });
          });
          auto keep = [&](Value x, Value k) -> Value {
            Value flag = make<memref::LoadOp>(
                flags, add(mul(x, index(paddedRow(type))), k));
            return make<arith::CmpFOp>(
                arith::CmpFPredicate::ONE, flag,
                make<arith::ConstantOp>(b.getF32FloatAttr(0)));
          };
          oneByOne(index(0), view.rows, 1, keep, Asking::None);
        },
        plain);
  }
  forms[op.getResult()] = made;
}
