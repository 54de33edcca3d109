//===- CpuContract.cpp - one loop nest for every contraction --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes times a broadcast scalar: q.k and p v are the same nest, with the
// scalar operand read along its rows or across them. A register block is
// panelVectors vectors of queries by rowBlock rows of the result.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/CpuEmitter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using tile::TileType;

void CpuEmitter::contractPanel(function_ref<Value(Value, int64_t)> lanes,
                               int64_t vectors, Value panel, Value limitC,
                               Value limitX, int64_t extentX, const Scalars &s,
                               function_ref<Value(const Point &)> initial,
                               function_ref<void(const Point &, Value)> store,
                               Accumulate accumulate, int64_t rowBlock,
                               int64_t unroll, const AheadPlan *plan,
                               int64_t extentC) {
  // Blocks of at most `rowBlock` rows, as equal as can be: a last block of one
  // row would wait for its own sums.
  int64_t blocks = llvm::divideCeil(extentX, rowBlock);
  int64_t low = extentX / blocks, taller = extentX % blocks;
  int64_t middle = taller * (low + 1);
  // The plan is carried out between short runs of the sum: inside one it would
  // be in the way of its registers.
  bool asks = plan && !plan->rows.empty() && !plan->eachStep;
  bool asksEachStep = plan && !plan->rows.empty() && plan->eachStep;
  int64_t run = extentC % 16 == 0 ? 16 : extentC;
  auto block = [&](Value x0, int64_t rows) {
    Value share; // of the plan, of the first run
    if (asks) {
      share = make<arith::DivUIOp>(x0, index(low));
      if (plan->outer)
        share = add(mul(plan->outer, index(blocks)), share);
      share = mul(share, index(extentC / run));
    }
    SmallVector<Point> points;
    Values start, offsets;
    for (int64_t u = 0; u < rows; ++u) {
      Value x = add(x0, u);
      // Rows past the end repeat the last one; what they make is not read.
      Value row = s.rows && s.xIsRow ? min(x, add(s.rows, -1)) : x;
      offsets.push_back(s.xIsRow ? mul(row, s.stride) : row);
      for (int64_t v = 0; v < vectors; ++v) {
        points.push_back({panel, v, x});
        start.push_back(dense(0));
      }
    }
    auto once = [&](Value c, ValueRange carried) {
      Values next, left;
      Value across = s.xIsRow ? c : mul(c, s.stride);
      for (int64_t v = 0; v < vectors; ++v)
        left.push_back(lanes(c, v));
      for (int64_t u = 0; u < rows; ++u) {
        Value scalar = broadcast(
            widen(make<memref::LoadOp>(s.memory, add(across, offsets[u]))));
        for (int64_t v = 0; v < vectors; ++v)
          next.push_back(accumulate(carried[u * vectors + v], left[v], scalar,
                                    c, points[u * vectors + v]));
      }
      if (asksEachStep)
        askAtStep(*plan, make<arith::DivUIOp>(x0, index(low)), c, blocks,
                  extentC, unroll);
      return next;
    };
    auto whole = [&] { return loop(index(0), limitC, 1, start, once, unroll); };
    auto inRuns = [&] {
      return loop(
          index(0), limitC, run, start, [&](Value first, ValueRange carried) {
            askAhead(*plan, add(share, make<arith::DivUIOp>(first, index(run))),
                     plan->outerCount * blocks * (extentC / run));
            Value steps = index(run);
            if (unroll == 1)
              steps = min(steps, make<arith::SubIOp>(limitC, first));
            return loop(
                index(0), steps, 1, carried,
                [&](Value c, ValueRange sums) {
                  return once(add(first, c), sums);
                },
                unroll);
          });
    };
    Values sums = asks ? inRuns() : whole();
    // The sum of this tile joins what came before it at the end: rounding grows
    // with the number of tiles, not of keys.
    for (auto [point, sum] : llvm::zip(points, sums)) {
      Value before = initial(point);
      store(point, before ? make<arith::AddFOp>(before, sum).getResult() : sum);
    }
  };
  Value end = limitX ? limitX : index(extentX);
  if (middle)
    loop(index(0), min(end, index(middle)), low + 1,
         [&](Value x0) { block(x0, low + 1); });
  if (middle < extentX)
    loop(index(middle), end, low, [&](Value x0) { block(x0, low); });
}

/// Whether every entry of the rows that exist is finite: 0 * x is 0 then. Sums
/// of a few vectors of a row each wait for themselves only.
Value CpuEmitter::isFinite(TileType type, const TileForm &view) {
  int64_t width = type.getShape()[1], lanes = level.lanes;
  int64_t whole = width / lanes * lanes;
  int64_t ways = std::min<int64_t>(whole / lanes, 4);
  int64_t blocks = ways ? whole / (ways * lanes) * ways * lanes : 0;
  Value zero = make<arith::ConstantOp>(b.getF32FloatAttr(0));
  Type element = cast<MemRefType>(view.memory.getType()).getElementType();
  Values start(ways, dense(0));
  start.push_back(zero);
  Values sums =
      loop(index(0), view.rows, 1, start, [&](Value row, ValueRange carried) {
        Value first = mul(row, view.stride);
        Values next(carried);
        auto vectors = [&](Value d, int64_t count, Values &into) {
          for (int64_t w = 0; w < count; ++w)
            into[w] =
                fma(widen(loadVector(view.memory, add(first, add(d, w * lanes)),
                                     element)),
                    dense(0), into[w]);
        };
        if (blocks == ways * lanes)
          vectors(index(0), ways, next);
        else if (blocks) {
          Values inner(carried.drop_back());
          inner = loop(index(0), index(blocks), ways * lanes, inner,
                       [&](Value d, ValueRange sums) {
                         Values into(sums);
                         vectors(d, ways, into);
                         return into;
                       });
          std::copy(inner.begin(), inner.end(), next.begin());
        }
        vectors(index(blocks), (whole - blocks) / lanes, next);
        for (int64_t d = whole; d < width; ++d) {
          Value x = widen(make<memref::LoadOp>(view.memory, add(first, d)));
          next[ways] = make<math::FmaOp>(x, zero, next[ways]);
        }
        return next;
      });
  Value tail = sums.pop_back_val(), sum = dense(0);
  for (Value part : sums)
    sum = make<arith::AddFOp>(sum, part);
  Value vectorBad = make<arith::CmpFOp>(arith::CmpFPredicate::UNO, sum, sum);
  Value bad = make<vector::ReductionOp>(vector::CombiningKind::OR, vectorBad);
  Value tailBad = make<arith::CmpFOp>(arith::CmpFPredicate::UNO, tail, tail);
  Value any = make<arith::OrIOp>(bad, tailBad);
  return make<arith::XOrIOp>(any, make<arith::ConstantOp>(b.getBoolAttr(true)));
}

/// S2: 0 * NaN would leak a masked row; seldom, so tested a tile at a time.
Value CpuEmitter::hidesOdd(Value edge, TileType type, const TileForm &view) {
  auto choice =
      make<scf::IfOp>(TypeRange{b.getI1Type()}, scalars.lookupOrDefault(edge),
                      /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto flag = [&](bool v) -> Value {
    return make<arith::ConstantOp>(b.getBoolAttr(v));
  };
  b.setInsertionPointToStart(choice.thenBlock());
  Value finite = isFinite(type, view);
  make<scf::YieldOp>(ValueRange{make<arith::XOrIOp>(finite, flag(true))});
  b.setInsertionPointToStart(choice.elseBlock());
  make<scf::YieldOp>(ValueRange{flag(false)});
  return choice.getResult(0);
}

LogicalResult CpuEmitter::emitContract(tile::ContractOp op) {
  if (panels == 0 && !op.getResult().getType().has('r'))
    return emitRowContract(op);
  Value lanes = op.getA(), broadcasts = op.getB();
  if (!hasLanes(typeOf(lanes)))
    std::swap(lanes, broadcasts);
  TileType result = op.getResult().getType();
  TileType laneType = typeOf(lanes), scalarType = typeOf(broadcasts);
  if (hasRowLanes(result))
    return emitFeatureContract(op);
  if (hasLanes(result) && result.rank() == 1)
    return emitMassContract(op);
  // Features are row-major, as what lies in the caller's memory.
  bool areFeatures = hasRowLanes(scalarType) && scalarType.rank() == 2;
  if (areFeatures && forms[broadcasts].kind != TileForm::View)
    materialize(broadcasts);
  TileForm view = forms[broadcasts];
  if (areFeatures)
    view.stride = strideOf(scalarType, view);
  if (!hasLanes(result) || result.rank() != 2 || laneType.rank() != 2 ||
      hasLanes(scalarType) || (view.kind != TileForm::View && !areFeatures))
    return op.emitOpError("contracts something else than lanes of queries with "
                          "rows in memory");
  char x = other(result), c = other(laneType);
  Value laneMemory = materialize(lanes);
  bool xIsRow = scalarType.getAxes()[0] == x;
  // All keys of the tile, or those that exist.
  struct Limits {
    Value c, x, rows;
  };
  Limits whole{index(laneType.size(c)), Value(), Value()}, existing = whole;
  bool hasKeys = scalarType.has('k');
  if (hasKeys) {
    existing.rows = view.rows;
    (c == 'k' ? existing.c : existing.x) = view.rows;
  }

  Tree accTree = treeOf(op.getAcc());
  Value target = targetOf(op.getResult(), accTree);
  const TileForm &acc = forms[op.getAcc()];
  bool fromZero =
      acc.kind == TileForm::Splat && matchPattern(acc.scalar, m_AnyZeroFloat());
  bool isSummedAlready = false;
  auto initial = [&](const Point &p) {
    if (isSummedAlready)
      return loadVector(target, {panelIn(target, p.panel), p.x,
                                 index(p.vector * level.lanes)});
    return fromZero ? Value() : at(op.getAcc(), p);
  };
  auto store = [&](const Point &p, Value v) {
    storeVector(v, target,
                {panelIn(target, p.panel), p.x, index(p.vector * level.lanes)});
  };
  // Products with the state are long enough to ask ahead on the way. So are few
  // queries, which are soon done with a tile: what lies behind it is asked for,
  // the next tile's rows or the next head's, and where their results go.
  bool withState = areFeatures && scalarType.getAxes() == "er";
  AheadPlan plan;
  if (withState)
    plan = planAhead(op);
  else if (hasKeys && isSoonDone())
    plan = c == 'k' ? queriesAhead : keysBehind(op, view.rows);
  plan.eachStep = !withState;
  plan.sumsKeys = c == 'k';
  plan.outerCount = panels;
  auto nest = [&](const Tree &tree, const Limits &limits, Accumulate accumulate,
                  int64_t rowBlock, int64_t unroll) {
    Scalars s{view.memory, view.stride, xIsRow, limits.rows};
    forPanels([&](Value panel) {
      preload(tree, panel);
      plan.outer = panel;
      auto vectorAt = [&](Value c, int64_t v) {
        return loadVector(laneMemory, {panelIn(laneMemory, panel), c,
                                       index(v * level.lanes)});
      };
      contractPanel(vectorAt, level.panelVectors, panel, limits.c, limits.x,
                    result.size(x), s, initial, store, accumulate, rowBlock,
                    unroll, &plan, laneType.size(c));
      preloaded.clear();
    });
  };
  auto multiplyAdd = [&](Value acc, Value l, Value scalar, Value,
                         const Point &) { return fma(scalar, l, acc); };
  // Nearly all tiles are whole: their loops have constant bounds.
  bool byMatrixUnit = matrixRows.contains(broadcasts) &&
                      (matrixPairs.contains(lanes) || c == 'k');
  auto plain = [&] {
    if (byMatrixUnit) {
      bool isDirect = fromZero && x == 'k';
      return emitMatrixContract(op, lanes, broadcasts, laneMemory, view.rows,
                                accTree, isDirect ? target : Value(), initial,
                                store);
    }
    if (!hasKeys)
      return nest(accTree, whole, multiplyAdd, level.rowBlock, level.unroll);
    Value isWhole = make<arith::CmpIOp>(arith::CmpIPredicate::eq, view.rows,
                                        index(scalarType.size('k')));
    ifThenElse(
        isWhole,
        [&] {
          nest(accTree, whole, multiplyAdd, level.rowBlock, level.unroll);
        },
        [&] {
          // Few keys are what tiles of few queries often have.
          nest(accTree, existing, multiplyAdd, level.rowBlock,
               c != 'k' || isSoonDone() ? level.unroll : 1);
        });
  };
  if (!op.getEdge()) {
    plain();
  } else {
    Value isBad = hidesOdd(op.getEdge(), scalarType, view);
    auto careful = [&] {
      Tree tree = treeOf({op.getAcc(), op.getKeep()});
      nest(
          tree, existing,
          [&](Value acc, Value l, Value scalar, Value row,
              const Point &p) -> Value {
            Value keep = at(op.getKeep(), {p.panel, p.vector, row});
            if (byMatrixUnit)
              keep = make<arith::AndIOp>(keep, isOdd(scalar));
            return make<arith::SelectOp>(keep, fma(scalar, l, acc), acc);
          },
          /*rowBlock=*/1,
          /*unroll=*/1); // seldom run: as little code as can be
    };
    if (!byMatrixUnit) {
      ifThenElse(isBad, careful, plain);
    } else {
      // S9: rows that see no such value sum what they always do.
      ifThenElse(
          isBad,
          [&] {
            transposeOneByOne(matrixRows.lookup(broadcasts), view,
                              result.size(x), index(0), /*onlyFinite=*/true);
          },
          nullptr);
      plain();
      isSummedAlready = true;
      ifThenElse(isBad, careful, nullptr);
    }
  }
  forms[op.getResult()] = {
      TileForm::Buffer, target, {}, {}, x == 'k' ? view.rows : Value()};
  return success();
}
