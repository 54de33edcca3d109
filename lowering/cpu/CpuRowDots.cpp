//===- CpuRowDots.cpp - few queries with rows of keys ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of keys pass by as they lie in memory, once for all queries. A row of
// queries and a vector's worth of keys make as many vectors of partial sums,
// which additions fold into one: four at a time within quarters of 16 bytes, as
// soon as they are there, and quarters at the end.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuRowProducts.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

/// A step stays within quarters of 16 bytes, where it is cheapest: of four
/// vectors, the sums of every quarter of each, quarter by quarter.
Value CpuEmitter::foldFour(ArrayRef<Value> rows) {
  auto fold = [&](Value a, Value b2, std::array<int64_t, 4> low,
                  std::array<int64_t, 4> high) -> Value {
    SmallVector<int64_t> lows, highs;
    for (int64_t g = 0; g < level.lanes; g += 4)
      for (int64_t l = 0; l < 4; ++l) {
        auto at = [&](int64_t from) {
          return g + from % 4 + from / 4 * level.lanes;
        };
        lows.push_back(at(low[l]));
        highs.push_back(at(high[l]));
      }
    return make<arith::AddFOp>(make<vector::ShuffleOp>(a, b2, lows),
                               make<vector::ShuffleOp>(a, b2, highs));
  };
  auto two = [&](Value a, Value b2) { // a0 b0 a1 b1 and a2 b2 a3 b3
    return fold(a, b2, {0, 4, 1, 5}, {2, 6, 3, 7});
  };
  return fold(two(rows[0], rows[1]), two(rows[2], rows[3]), {0, 1, 4, 5},
              {2, 3, 6, 7});
}

/// The quarters of as many vectors, one sum of quarters each.
Value CpuEmitter::foldQuarters(Values rows) {
  int64_t n = level.lanes;
  while (rows.size() > 1) { // even quarters of both, odd quarters of both
    SmallVector<int64_t> even, odd;
    for (int64_t from = 0; from < 2 * n; from += 8)
      for (int64_t l = 0; l < 4; ++l) {
        even.push_back(from + l);
        odd.push_back(from + 4 + l);
      }
    Values next;
    for (size_t t = 0; t < rows.size(); t += 2)
      next.push_back(make<arith::AddFOp>(
          make<vector::ShuffleOp>(rows[t], rows[t + 1], even),
          make<vector::ShuffleOp>(rows[t], rows[t + 1], odd)));
    rows = next;
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
  constexpr int64_t four = 4;    // keys share the vectors of a query
  llvm::SmallVector<Ahead> ahead = keysAhead(op);
  Value rows = rowsOf(type, {}, a.queryRows);
  // Of a vector of keys, for a row of those that ask for whole rows.
  Value share = make<arith::CeilDivUIOp>(
      index(lanes), max(make<arith::AndIOp>(rows, index(-2)), index(1)));
  Value quarters = reserve({4 * lanes / four, lanes}, b.getF32Type());
  // `count` rows of queries, which read each vector of keys once, and a
  // vector's worth of keys. A single one asks for rows soon behind, line by
  // line, between its products.
  struct Keys {
    Value memory, stride, first, last;
  };
  auto rowsOfDots = [&](Value x, int64_t count, Value y0, const Keys &from) {
    loop(index(0), index(lanes), four, [&](Value y) {
      Value group = make<arith::DivUIOp>(y, index(four));
      if (count > 1) {
        // Queries ask for their share of the next tile bit by bit: more at once
        // would have to wait for each other.
        Value each = make<arith::CeilDivUIOp>(mul(share, index(count)),
                                              index(lanes / four));
        Value begin = add(mul(x, share), mul(group, each));
        Value end = min(add(begin, each), index(lanes));
        loop(begin, end, 1, [&](Value l) {
          for (const Ahead &next : ahead)
            askForRows(next, add(y0, l), 1);
        });
      }
      Values starts; // rows past the end repeat the last one
      for (int64_t l = 0; l < four; ++l)
        starts.push_back(
            mul(min(add(add(from.first, y), l), from.last), from.stride));
      // Sums are [query][key].
      auto step = [&](Value d, int64_t elements, ValueRange sums) {
        Values left, next(count * four);
        for (int64_t u = 0; u < count; ++u)
          left.push_back(products.load(
              a.memory, add(mul(add(x, u), aStride), d), elements));
        for (int64_t l = 0; l < four; ++l) {
          Value right = products.load(from.memory, add(starts[l], d), elements);
          for (int64_t u = 0; u < count; ++u)
            next[u * four + l] =
                products.add(sums[u * four + l], right, left[u]);
          if (count == 1)
            for (const Ahead &next : ahead)
              if (asksAt(next, getConstantIntValue(d).value_or(0)))
                askForLine(soonAfter(next), add(add(y0, y), l), d);
        }
        return next;
      };
      Values sums(count * four, dense(0));
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
      for (int64_t u = 0; u < count; ++u)
        storeVector(foldFour(ArrayRef(sums).slice(u * four, four)), quarters,
                    {add(group, u * lanes / four), index(0)});
    });
    for (int64_t u = 0; u < count; ++u) {
      Values groups;
      for (int64_t g = 0; g < lanes / four; ++g)
        groups.push_back(
            loadVector(quarters, {index(u * lanes / four + g), index(0)}));
      storeVector(foldQuarters(groups), target,
                  alongRow(result, made, {y0, 0, add(x, u)}));
    }
  };
  // Rows that are not as products take them are widened once for all queries.
  auto copied = [&](const Keys &keys) {
    Value buffer = reserve({lanes * depth + width}, products.element);
    loop(index(0), index(lanes), 1, [&](Value l) {
      Value start = mul(min(add(keys.first, l), last), keys.stride);
      // A vector may reach past its row, over what the next row then takes.
      for (int64_t d = 0; d < depth; d += width)
        storeVector(products.load(keys.memory, add(start, d), depth - d),
                    buffer, add(mul(l, index(depth)), d));
    });
    return Keys{buffer, index(depth), index(0), index(lanes - 1)};
  };
  loop(index(0), k.rows, lanes, [&](Value y0) {
    const Keys here{k.memory, k.stride, y0, last};
    auto all = [&](const Keys &keys) {
      Value begin = index(0);
      for (int64_t count : {4, 2, 1}) {
        if (count * four > featureBlock.first * featureBlock.second)
          continue; // sums for more registers than there are
        Value end = mul(make<arith::DivUIOp>(rows, index(count)), index(count));
        loop(begin, end, count,
             [&](Value x) { rowsOfDots(x, count, y0, keys); });
        begin = end;
      }
    };
    if (products.takes(k.memory))
      return all(here);
    ifThenElse(
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, rows, index(1)),
        [&] { rowsOfDots(index(0), 1, y0, here); }, [&] { all(copied(here)); });
  });
  forms[op.getResult()] = made;
}

/// Of one pair, by differences (S5).
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
