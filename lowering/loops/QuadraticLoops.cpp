//===- QuadraticLoops.cpp - attn.quadratic as tile loops ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of queries stays, tiles of keys pass by. Carried from tile to tile:
// the weighted sum, the mass, the gauge m (in base 2, S6) and what other
// results need, all in units of 2^m. Knows masks, gauge and normaliser; nothing
// of vectors, warps or memory spaces.
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/QuadraticLoops.h"

#include "lowering/loops/MaskIntervals.h"
#include "lowering/loops/RegionTiles.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

Value attn::emitLength(TileBuilder &b, Value lengths, Value batch,
                       Value extent) {
  if (!lengths)
    return extent;
  Value given = b.cmp(CmpIPredicate::ne, b.dim(lengths, 0), b.index(0));
  auto choice = b.make<scf::IfOp>(
      given,
      [&](OpBuilder &nested, Location loc) {
        Value length =
            memref::LoadOp::create(nested, loc, lengths, ValueRange{batch});
        length = arith::IndexCastOp::create(nested, loc, nested.getIndexType(),
                                            length);
        scf::YieldOp::create(nested, loc, length);
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, extent);
      });
  return choice.getResult(0);
}

namespace {

constexpr double kLn2 = 0.693147180559945309417;
constexpr double kLog2e = 1.442695040888963407360;

class QuadraticLoops {
public:
  QuadraticLoops(QuadraticOp op)
      : op(op), b(OpBuilder(op), op.getLoc()),
        tileQ(op.getSchedule()->getTileQ()),
        tileK(op.getSchedule()->getTileK()) {}
  LogicalResult lower();

private:
  /// The names of what is carried over key tiles, in order.
  enum Slot { Acc, Mass, GaugeMax, Best, BestAt, PLogP, NumSlots };
  using State = SmallVector<Value>;
  Value get(const State &state, Slot slot) const {
    return index[slot] < 0 ? Value() : state[index[slot]];
  }

  void makeCoordinates();
  Value offset();
  LogicalResult loopOverKeys(State &state);
  FailureOr<State> keyStep(Value j0, const State &state, Visibility visible);
  Visibility visibility(Value j0, Value j1);
  LogicalResult finish(const State &state);
  LogicalResult storeWeights(const State &state, Value denominator,
                             Value empty);
  void store(Value tile, Result kind);

  /// kappa of a tile in units of 2^m: the exponent (null without a gauge), and
  /// the function that maps pairs to p.
  struct Weights {
    Value exponent, edge, keep;
  };
  FailureOr<Weights> enterTile(Value j0, Visibility visible);
  Value pairWeights(const Weights &w, Value gauge);

  QuadraticOp op;
  TileBuilder b;
  int64_t tileQ, tileK, dimE = 0;
  Coordinates at;
  Value q0, queries, positions, lastPosition, firstPosition, keyExtent,
      queryExtent;
  std::optional<RegionTiles> kappa, mask;
  bool gauge = false, unitFactor = true;
  int index[NumSlots];
  tile::TileType perQuery, perQueryInt, perQueryValue, perPair;
};

} // namespace

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

/// S1: `offset` as given, else key_len - query_len.
Value QuadraticLoops::offset() {
  Value derived = b.select(b.cmp(CmpIPredicate::eq, queryExtent, keyExtent),
                           at.nk, queryExtent);
  Value queryLength = derived;
  if (Value lengths = op.getQueryLengths()) {
    Value given = b.cmp(CmpIPredicate::ne, b.dim(lengths, 0), b.index(0));
    queryLength = b.select(given, at.nq, derived);
  }
  Value natural = b.sub(at.nk, queryLength);
  Value offsets = op.getOffset();
  if (!offsets)
    return natural;
  Value extent = b.dim(offsets, 0);
  Value given = b.cmp(CmpIPredicate::ne, extent, b.index(0));
  auto choice = b.make<scf::IfOp>(
      given,
      [&](OpBuilder &nested, Location loc) {
        TileBuilder n(nested, loc);
        Value one = n.cmp(CmpIPredicate::eq, extent, n.index(1));
        Value i = n.select(one, n.index(0), at.batch);
        Value load = n.make<memref::LoadOp>(offsets, ValueRange{i});
        n.make<scf::YieldOp>(
            ValueRange{n.make<arith::IndexCastOp>(n.getIndexType(), load)});
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, natural);
      });
  return choice.getResult(0);
}

LogicalResult QuadraticLoops::lower() {
  auto queryMemory = cast<MemRefType>(op.getQuery().getType());
  auto valueMemory = cast<MemRefType>(op.getValue().getType());
  auto keyMemory = cast<MemRefType>(op.getKey().getType());
  for (MemRefType memory : {queryMemory, keyMemory, valueMemory})
    if (memory.isDynamicDim(3))
      return op.emitOpError("is lowered once row lengths are known; specialise "
                            "the function first");
  dimE = valueMemory.getDimSize(3);
  perQuery = b.type("q", {tileQ});
  perQueryInt = b.type("q", {tileQ}, b.getIndexType());
  perQueryValue = b.type("qe", {tileQ, dimE});
  perPair = b.type("qk", {tileQ, tileK});

  auto yield = cast<YieldOp>(op.getKappa().front().getTerminator());
  gauge = yield.getValues().size() == 2;
  unitFactor = gauge && matchPattern(yield.getValues()[1], m_OneFloat());

  // Work items: batches, key/value heads, heads of the group, tiles of queries.
  Value batches = b.dim(op.getQuery(), 0), heads = b.dim(op.getQuery(), 1);
  Value kvHeads = b.dim(op.getKey(), 1);
  queryExtent = b.dim(op.getQuery(), 2);
  keyExtent = b.dim(op.getKey(), 2);
  // No heads, no groups: keep the division defined.
  Value group = b.make<arith::DivSIOp>(heads, b.max(kvHeads, b.index(1)));
  Value tiles = b.make<arith::CeilDivSIOp>(queryExtent, b.index(tileQ));
  auto grid = b.make<scf::ForallOp>(
      ArrayRef<OpFoldResult>{batches, kvHeads, group, tiles}, ValueRange{},
      std::nullopt);
  b.setInsertionPointToStart(grid.getBody());
  at.batch = grid.getInductionVar(0);
  at.kvHead = grid.getInductionVar(1);
  at.head = b.add(b.mul(at.kvHead, group), grid.getInductionVar(2));
  q0 = b.mul(grid.getInductionVar(3), b.index(tileQ));
  at.nk = emitLength(b, op.getKeyLengths(), at.batch, keyExtent);
  at.nq = emitLength(b, op.getQueryLengths(), at.batch, queryExtent);

  firstPosition = b.add(q0, offset());
  Value rowsHere = b.min(b.sub(queryExtent, q0), b.index(tileQ));
  lastPosition = b.sub(b.add(firstPosition, rowsHere), b.index(1));
  positions = b.iota(firstPosition, perQueryInt);
  queries = b.make<tile::LoadOp>(
      b.type("qd", {tileQ, queryMemory.getDimSize(3)}), op.getQuery(),
      ValueRange{at.batch, at.head, q0}, at.nq);

  kappa.emplace(b, op.getKappa(), at, tileQ, tileK);
  mask.emplace(b, op.getMask(), at, tileQ, tileK);
  if (failed(kappa->enterQuery(queries, &op.getQueryMap(), positions)) ||
      failed(mask->enterQuery({}, nullptr, positions)))
    return failure();

  // What is carried, and from what it starts. A sink starts the gauge (S3).
  State state;
  auto carry = [&](Slot slot, bool wanted, auto start) {
    index[slot] = wanted ? static_cast<int>(state.size()) : -1;
    if (wanted)
      state.push_back(start());
  };
  Value sink;
  RegionTiles normalizer(b, op.getNormalizer(), at, tileQ, tileK);
  if (failed(normalizer.enterQuery({}, nullptr, positions)))
    return failure();
  auto term = [&](NormalizerTerm t) -> Value {
    Value v = op.getTerm(t);
    return v ? normalizer.uniform(v) : Value();
  };
  sink = term(NormalizerTerm::Sink);
  bool wantsO = op.wants(Result::O);
  bool wantsBest = op.wants(Result::Max) || op.wants(Result::Argmax);
  carry(Acc, wantsO, [&] { return b.splat(0, perQueryValue); });
  carry(Mass, true, [&] { return b.splat(0, perQuery); });
  carry(GaugeMax, gauge, [&] {
    return sink ? b.splat(b.mul(sink, b.real(kLog2e)), perQuery)
                : b.splat(-INFINITY, perQuery);
  });
  carry(Best, wantsBest, [&] { return b.splat(-INFINITY, perQuery); });
  carry(BestAt, op.wants(Result::Argmax),
        [&] { return b.splat(b.index(-1), perQueryInt); });
  carry(PLogP, op.wants(Result::Entropy), [&] { return b.splat(0, perQuery); });

  if (failed(loopOverKeys(state)) || failed(finish(state)))
    return failure();
  op.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// The loop over keys
//===----------------------------------------------------------------------===//

Visibility QuadraticLoops::visibility(Value j0, Value j1) {
  Box box{firstPosition, lastPosition, j0, b.sub(j1, b.index(1))};
  return emitVisibility(
      b, op.getMask(), box, [&](Value v) { return mask->uniform(v); },
      [&](Value v) { return mask->axes()(v) == Uniform; });
}

LogicalResult QuadraticLoops::loopOverKeys(State &state) {
  bool failedInside = false;
  // A loop from `lo` to `hi`; under a mask its body runs where some pair of
  // [j, j + step) may be visible.
  auto loop =
      [&](Value lo, Value hi, int64_t step, State &carried,
          function_ref<State(Value, Value, Visibility, const State &)> body) {
        auto forOp = b.make<scf::ForOp>(
            lo, hi, b.index(step), carried,
            [&](OpBuilder &nested, Location, Value j, ValueRange arguments) {
              OpBuilder::InsertionGuard guard(b);
              b.setInsertionPoint(nested.getInsertionBlock(),
                                  nested.getInsertionPoint());
              State inside(arguments);
              Value end = b.min(b.add(j, b.index(step)), hi);
              Visibility visible = visibility(j, end);
              if (op.getMask().empty()) {
                b.make<scf::YieldOp>(body(j, end, visible, inside));
                return;
              }
              auto ifOp = b.make<scf::IfOp>(TypeRange(arguments), visible.some,
                                            /*withElse=*/true);
              b.setInsertionPointToStart(ifOp.elseBlock());
              b.make<scf::YieldOp>(arguments);
              b.setInsertionPointToStart(ifOp.thenBlock());
              b.make<scf::YieldOp>(body(j, end, visible, inside));
              b.setInsertionPointAfter(ifOp);
              b.make<scf::YieldOp>(ifOp.getResults());
            });
        carried.assign(forOp.getResults().begin(), forOp.getResults().end());
      };
  auto step = [&](Value j0, Value, Visibility visible, const State &inside) {
    FailureOr<State> next = keyStep(j0, inside, visible);
    failedInside |= failed(next);
    return failed(next) ? inside : *next;
  };
  if (op.getMask().empty()) {
    loop(b.index(0), at.nk, tileK, state, step);
    return failure(failedInside);
  }
  // Whole stretches that nobody sees are skipped at once.
  loop(b.index(0), at.nk, 32 * tileK, state,
       [&](Value lo, Value hi, Visibility, const State &outer) {
         State carried(outer);
         loop(lo, hi, tileK, carried, step);
         return carried;
       });
  return failure(failedInside);
}

FailureOr<QuadraticLoops::Weights>
QuadraticLoops::enterTile(Value j0, Visibility visible) {
  Weights w;
  Value keyPositions = b.iota(j0, b.type("k", {tileK}, b.getIndexType()));
  if (failed(kappa->enterKeys(op.getKey(), j0, keyPositions)) ||
      failed(mask->enterKeys({}, j0, keyPositions)))
    return failure();
  // A pair counts where the mask says so and the key exists.
  Value past = b.cmp(CmpIPredicate::sgt, b.add(j0, b.index(tileK)), at.nk);
  w.edge = b.either(past, b.negate(visible.all));
  SmallVector<Value> roots;
  if (!op.getMask().empty())
    roots.push_back(
        cast<YieldOp>(op.getMask().front().getTerminator()).getValues()[0]);
  w.keep = mask->mapPairs(
      roots, keyPositions, b.getI1Type(), [&](ValueRange root, ValueRange j) {
        Value exists = b.cmp(CmpIPredicate::slt, j[0], at.nk);
        return root.empty() ? exists : b.both(root[0], exists);
      });
  if (!w.keep)
    return failure();
  if (gauge) {
    Value exponent =
        cast<YieldOp>(op.getKappa().front().getTerminator()).getValues()[0];
    Value e = kappa->pairs(exponent);
    if (!e)
      return failure();
    w.exponent =
        b.make<tile::MaskOp>(perPair, e, w.edge, w.keep, b.real(-INFINITY));
  }
  return w;
}

/// p = kappa / 2^m, exactly 0 where masked.
Value QuadraticLoops::pairWeights(const Weights &w, Value gaugeShift) {
  auto yield = cast<YieldOp>(op.getKappa().front().getTerminator());
  auto masked = [&](Value p) -> Value {
    return b.make<tile::MaskOp>(perPair, p, w.edge, w.keep, b.real(0));
  };
  if (!gauge) {
    Value p = kappa->pairs(yield.getValues()[0]);
    return p ? masked(p) : p;
  }
  if (unitFactor) // exp2(-inf) is the exact zero
    return b.map(perPair, {w.exponent, gaugeShift},
                 [&](ValueRange x) { return b.exp2Below(x[0], x[1]); });
  return masked(
      kappa->mapPairs(yield.getValues()[1], {w.exponent, gaugeShift},
                      b.getF32Type(), [&](ValueRange factor, ValueRange x) {
                        return b.mul(b.exp2Below(x[0], x[1]), factor[0]);
                      }));
}

FailureOr<QuadraticLoops::State>
QuadraticLoops::keyStep(Value j0, const State &state, Visibility visible) {
  FailureOr<Weights> weights = enterTile(j0, visible);
  if (failed(weights))
    return failure();
  Value mass = get(state, Mass), acc = get(state, Acc);
  Value best = get(state, Best), plogp = get(state, PLogP);
  Value m = get(state, GaugeMax), m1, shift, scale;
  if (gauge) {
    m1 = b.reduce(tile::Combine::Max, weights->exponent, m);
    // A row without a visible key has maximum -inf; -inf - -inf is no number.
    shift = b.map(perQuery, m1, [&](ValueRange x) {
      Value none = b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY));
      return b.select(none, b.real(0), x[0]);
    });
    scale = b.map(perQuery, {m, shift},
                  [&](ValueRange x) { return b.exp2Below(x[0], x[1]); });
  }
  auto rescaled = [&](Value x) {
    return !gauge ? x
                  : b.map(cast<tile::TileType>(x.getType()), {x, scale},
                          [&](ValueRange v) { return b.mul(v[0], v[1]); });
  };
  Value p = pairWeights(*weights, shift);
  if (!p)
    return failure();

  State next(state.size());
  auto set = [&](Slot slot, Value v) {
    if (index[slot] >= 0)
      next[index[slot]] = v;
  };
  set(GaugeMax, m1);
  if (plogp) { // sum p log p in new units: scale (t + mass log scale)
    Value before = plogp;
    if (gauge)
      before = b.map(perQuery, {plogp, mass, scale}, [&](ValueRange x) {
        Value none = b.cmp(CmpFPredicate::OLE, x[2], b.real(0));
        Value moved = b.mul(x[2], b.add(x[0], b.mul(x[1], b.log(x[2]))));
        return b.select(none, b.real(0), moved);
      });
    Value pairs = b.map(perPair, p, [&](ValueRange x) {
      Value none = b.cmp(CmpFPredicate::OLE, x[0], b.real(0));
      return b.select(none, b.real(0), b.mul(x[0], b.log(x[0])));
    });
    set(PLogP, b.reduce(tile::Combine::Add, pairs, before));
  }
  set(Mass, b.reduce(tile::Combine::Add, p, rescaled(mass)));
  if (best) {
    // Under an exponential alone the exponent orders the keys, and never moves.
    bool byExponent = gauge && unitFactor;
    Value score =
        b.make<tile::MaskOp>(perPair, byExponent ? weights->exponent : p,
                             weights->edge, weights->keep, b.real(-INFINITY));
    Value before = best;
    if (gauge && !byExponent)
      before = b.map(perQuery, {best, scale}, [&](ValueRange x) {
        Value none = b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY));
        return b.select(none, x[0], b.mul(x[0], x[1]));
      });
    Value best1 = b.reduce(tile::Combine::Max, score, before);
    set(Best, best1);
    if (Value bestAt = get(state, BestAt)) {
      // The first key that attains the maximum of this tile, if it is a new
      // one.
      int64_t never = std::numeric_limits<int32_t>::max();
      Value keyPositions = b.iota(j0, b.type("k", {tileK}, b.getIndexType()));
      Value candidates =
          b.map(b.type("qk", {tileQ, tileK}, b.getIndexType()),
                {score, best1, keyPositions, weights->keep}, [&](ValueRange x) {
                  Value attains =
                      b.both(b.cmp(CmpFPredicate::OEQ, x[0], x[1]), x[3]);
                  return b.select(attains, x[2], b.index(never));
                });
      Value first = b.reduce(tile::Combine::Min, candidates,
                             b.splat(b.index(never), perQueryInt));
      set(BestAt,
          b.map(perQueryInt, {bestAt, first, before, best1}, [&](ValueRange x) {
            Value fresh =
                b.both(b.cmp(CmpIPredicate::slt, x[1], b.index(never)),
                       b.either(b.cmp(CmpFPredicate::OLT, x[2], x[3]),
                                b.cmp(CmpIPredicate::slt, x[0], b.index(0))));
            return b.select(fresh, x[1], x[0]);
          }));
    }
  }
  if (acc) {
    Value v = b.make<tile::LoadOp>(b.type("ke", {tileK, dimE}), op.getValue(),
                                   ValueRange{at.batch, at.kvHead, j0}, at.nk);
    set(Acc, b.contract(p, v, rescaled(acc), weights->edge, weights->keep));
  }
  return next;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void QuadraticLoops::store(Value tile, Result kind) {
  Value memory = op.getOutput(kind);
  b.make<tile::StoreOp>(tile, memory, ValueRange{at.batch, at.head, q0},
                        queryExtent);
}

LogicalResult QuadraticLoops::finish(const State &state) {
  RegionTiles normalizer(b, op.getNormalizer(), at, tileQ, tileK);
  if (failed(normalizer.enterQuery({}, nullptr, positions)))
    return failure();
  auto term = [&](NormalizerTerm t) -> Value {
    Value v = op.getTerm(t);
    return v ? normalizer.uniform(v) : Value();
  };
  Value delta = term(NormalizerTerm::Delta),
        floor = term(NormalizerTerm::Floor), sink = term(NormalizerTerm::Sink);
  Value m = get(state, GaugeMax), keyMass = get(state, Mass);
  Value rows = b.iota(q0, perQueryInt);
  // x 2^m in two halves: 2^m alone may be out of range where the product is
  // not.
  auto ungauge = [&](Value x, Value exponent) {
    Value half = b.exp2(b.mul(exponent, b.real(0.5)));
    Value zero = b.cmp(CmpFPredicate::OEQ, x, b.real(0));
    return b.select(zero, b.real(0), b.mul(b.mul(x, half), half));
  };
  Value mass = keyMass; // in units of 2^m, the sink included
  if (sink)
    mass = b.map(perQuery, {keyMass, m}, [&](ValueRange x) {
      Value e = b.sub(b.mul(sink, b.real(kLog2e)), x[1]);
      return b.add(x[0], b.exp2(e));
    });
  // S3: no mass, or a row past a given query length.
  Value empty = b.map(
      b.type("q", {tileQ}, b.getI1Type()), {mass, rows}, [&](ValueRange x) {
        Value magnitude = b.make<math::AbsFOp>(x[0]);
        return b.either(b.cmp(CmpFPredicate::OLT, magnitude, b.real(0x1p-126)),
                        b.cmp(CmpIPredicate::sge, x[1], at.nq));
      });

  bool normalized = op.getNormalize() == Normalize::Mass;
  Value denominator = mass;
  if (normalized && (delta || floor))
    denominator =
        b.map(perQuery, gauge ? ValueRange{mass, m} : ValueRange{mass},
              [&](ValueRange x) {
                // delta and floor are absolute; the mass is in units of 2^m.
                auto inUnits = [&](Value t) {
                  return gauge ? b.mul(t, b.exp2(b.sub(b.real(0), x[1]))) : t;
                };
                Value d = delta ? b.add(x[0], inUnits(delta)) : x[0];
                if (!floor)
                  return d;
                // The floor is for the mass, and replaces the denominator
                // whole.
                Value limit = inUnits(floor);
                Value magnitude = b.make<math::AbsFOp>(x[0]);
                Value small = b.cmp(CmpFPredicate::OLT, magnitude, limit);
                return b.select(
                    small, Value(b.make<math::CopySignOp>(limit, x[0])), d);
              });

  if (Value acc = get(state, Acc)) {
    Value o;
    if (normalized)
      o = b.map(perQueryValue, {acc, denominator, empty}, [&](ValueRange x) {
        return b.select(x[2], b.real(0), b.div(x[0], x[1]));
      });
    else if (gauge)
      o = b.map(perQueryValue, {acc, m, rows}, [&](ValueRange x) {
        Value none = b.cmp(CmpFPredicate::OEQ, x[1], b.real(-INFINITY));
        Value past = b.cmp(CmpIPredicate::sge, x[2], at.nq);
        return b.select(b.either(none, past), b.real(0), ungauge(x[0], x[1]));
      });
    else
      o = b.map(perQueryValue, {acc, rows}, [&](ValueRange x) {
        Value past = b.cmp(CmpIPredicate::sge, x[1], at.nq);
        return b.select(past, b.real(0), x[0]);
      });
    store(o, Result::O);
  }
  auto perRow = [&](Value x, Value whenEmpty, auto body) {
    SmallVector<Value> inputs{x, empty};
    if (gauge)
      inputs.push_back(m);
    return b.map(perQuery, inputs, [&](ValueRange v) {
      return b.select(v[1], whenEmpty, body(v[0], gauge ? v[2] : Value()));
    });
  };
  if (op.wants(Result::Mass))
    store(perRow(mass, b.real(0),
                 [&](Value x, Value e) { return gauge ? ungauge(x, e) : x; }),
          Result::Mass);
  if (op.wants(Result::Lse))
    store(perRow(mass, b.real(-INFINITY),
                 [&](Value x, Value e) {
                   Value l = b.log(x);
                   return gauge ? b.add(l, b.mul(e, b.real(kLn2))) : l;
                 }),
          Result::Lse);
  if (op.wants(Result::Entropy)) {
    // -sum w log w with w = p / mass: (keys' share) log mass - sum p log p /
    // mass
    Value h = b.map(
        perQuery, {mass, keyMass, get(state, PLogP), empty}, [&](ValueRange x) {
          Value share = b.div(x[1], x[0]);
          Value value = b.sub(b.mul(share, b.log(x[0])), b.div(x[2], x[0]));
          value = b.make<arith::MaximumFOp>(value, b.real(0));
          return b.select(x[3], b.real(0), value);
        });
    store(h, Result::Entropy);
  }
  if (op.wants(Result::Max)) {
    SmallVector<Value> inputs{get(state, Best), rows};
    if (gauge)
      inputs.push_back(m);
    Value best = b.map(perQuery, inputs, [&](ValueRange x) {
      Value none = b.either(b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY)),
                            b.cmp(CmpIPredicate::sge, x[1], at.nq));
      Value value = !gauge       ? x[0]
                    : unitFactor ? b.exp2(x[0])
                                 : ungauge(x[0], x[2]);
      return b.select(none, b.real(-INFINITY), value);
    });
    store(best, Result::Max);
  }
  if (op.wants(Result::Argmax))
    store(b.map(perQueryInt, {get(state, BestAt), rows},
                [&](ValueRange x) {
                  Value past = b.cmp(CmpIPredicate::sge, x[1], at.nq);
                  return b.select(past, b.index(-1), x[0]);
                }),
          Result::Argmax);
  if (op.wants(Result::Weights))
    return storeWeights(state, denominator, empty);
  return success();
}

/// A second pass over the keys, once the mass is known.
LogicalResult QuadraticLoops::storeWeights(const State &state,
                                           Value denominator, Value empty) {
  bool failedInside = false;
  Value m = get(state, GaugeMax), shift;
  if (gauge)
    shift = b.map(perQuery, m, [&](ValueRange x) {
      Value none = b.cmp(CmpFPredicate::OEQ, x[0], b.real(-INFINITY));
      return b.select(none, b.real(0), x[0]);
    });
  b.make<scf::ForOp>(
      b.index(0), keyExtent, b.index(tileK), ValueRange{},
      [&](OpBuilder &nested, Location, Value j0, ValueRange) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        Value end = b.min(b.add(j0, b.index(tileK)), keyExtent);
        FailureOr<Weights> w = enterTile(j0, visibility(j0, end));
        Value p = failed(w) ? Value() : pairWeights(*w, shift);
        if (!p) {
          failedInside = true;
        } else {
          Value weights =
              b.map(perPair, {p, denominator, empty}, [&](ValueRange x) {
                return op.getNormalize() == Normalize::Mass
                           ? b.select(x[2], b.real(0), b.div(x[0], x[1]))
                           : x[0];
              });
          if (op.getNormalize() == Normalize::None && gauge)
            weights = b.map(perPair, {p, shift}, [&](ValueRange x) {
              Value half = b.exp2(b.mul(x[1], b.real(0.5)));
              return b.mul(b.mul(x[0], half), half);
            });
          b.make<tile::StoreOp>(weights, op.getOutput(Result::Weights),
                                ValueRange{at.batch, at.head, q0, j0},
                                queryExtent);
        }
        b.make<scf::YieldOp>();
      });
  return failure(failedInside);
}

LogicalResult attn::lowerQuadratic(QuadraticOp op) {
  return QuadraticLoops(op).lower();
}
