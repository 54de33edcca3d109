//===- CpuRows.cpp - row maps, one lane a row -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a tile lie across lanes, so every row operation is a loop over
// coordinates and nothing crosses lanes. Element-wise maps are evaluated where
// they are read; the others have a buffer of one panel.
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/RandomRows.h"
#include "lowering/cpu/CpuEmitter.h"
#include "lowering/cpu/CpuRandomRows.h"

#include <cmath>

using namespace mlir;
using namespace attn;
using tile::TileType;

namespace attn {

/// Evaluates the region of one tile.rows for one panel.
class RowEmitter {
public:
  RowEmitter(CpuEmitter &e, tile::RowsOp op, Value panel)
      : e(e), op(op), panel(panel), count(e.level.panelVectors) {}
  /// Lanes are keys, one vector of them from `first` on, whose rows `input` has
  /// as [coordinate][lane].
  RowEmitter(CpuEmitter &e, tile::RowsOp op, Value first, Value input)
      : e(e), op(op), firstKey(first), count(1) {
    buffers[op.getBody().getArgument(0)] = input;
  }
  LogicalResult run(ArrayRef<Value> targets);
  /// Writes the only row to `target`, [key][coordinate].
  LogicalResult runKeys(Value target);

private:
  using Values = CpuEmitter::Values;

  int64_t length(Value row) const {
    return cast<RowType>(row.getType()).getLength();
  }
  int64_t vectors() const { return count; }
  /// Coordinate d of vector v of a row.
  Value element(Value row, Value d, int64_t v);
  /// Vector v of a scalar.
  Value scalar(Value s, int64_t v);
  Value buffer(int64_t rowLength);
  void setElement(Value memory, Value d, int64_t v, Value x) {
    e.storeVector(x, memory, {d, e.index(v * e.level.lanes)});
  }
  void fill(Value result, int64_t n, function_ref<Value(Value, int64_t)> f);
  Value sum(int64_t n, int64_t v, function_ref<Value(Value, Value)> term);
  LogicalResult emit(Operation &nested);
  void emitUnit(UnitOp unit);
  void emitRope(RopeOp rope);
  void emitPower(PowerOp power);
  void emitProject(ProjectOp project);
  void emitRandom(RandomFeaturesOp random);
  /// memory[c] = sum_r row[r] matrix[leading, r, c], c < m.
  void multiply(Value row, Value matrix, ValueRange leading, int64_t m,
                Value memory);

  CpuEmitter &e;
  tile::RowsOp op;
  Value panel, firstKey;
  int64_t count; ///< vectors
  LogicalResult emitBody();
  DenseMap<Value, Value> buffers;                      ///< rows at hand
  DenseMap<std::pair<Value, int64_t>, Value> computed; ///< scalars
};

} // namespace attn

Value RowEmitter::buffer(int64_t rowLength) {
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(e.entry);
  return e.make<memref::AllocaOp>(
      MemRefType::get({rowLength, count * e.level.lanes}, e.b.getF32Type()),
      e.b.getI64IntegerAttr(64));
}

Value RowEmitter::scalar(Value s, int64_t v) {
  if (Value known = computed.lookup({s, v}))
    return known;
  Value vector = e.broadcast(e.scalars.lookupOrDefault(s));
  return vector;
}

Value RowEmitter::element(Value row, Value d, int64_t v) {
  if (Value memory = buffers.lookup(row))
    return e.loadVector(memory, {d, e.index(v * e.level.lanes)});
  if (row == op.getBody().getArgument(0))
    return e.at(op.getTile(), {panel, v, d});
  Operation *def = row.getDefiningOp();
  if (auto map = dyn_cast<MapOp>(def)) {
    DenseMap<Value, Value> inside;
    for (auto [argument, input] :
         llvm::zip(map.getBody().getArguments(), map.getRows()))
      inside[argument] = element(input, d, v);
    auto get = [&](Value x) -> Value {
      auto it = inside.find(x);
      return it != inside.end() ? it->second : scalar(x, v);
    };
    for (Operation &nested : map.getBody().front().without_terminator()) {
      if (nested.getNumOperands() == 0) {
        e.b.clone(nested, e.scalars);
        continue;
      }
      Value value = e.evaluateOp(nested, get);
      inside[nested.getResult(0)] = value;
    }
    return get(map.getBody().front().getTerminator()->getOperand(0));
  }
  // A row of a parameter: the same for every lane, or one a lane.
  auto param = cast<ParamRowOp>(def);
  Value memory = e.scalars.lookupOrDefault(param.getMemory());
  bool varies = llvm::any_of(param.getIndices(), [&](Value i) {
    return computed.count({i, v});
  });
  if (!varies) {
    Values at;
    for (Value i : param.getIndices())
      at.push_back(e.scalars.lookupOrDefault(i));
    at.push_back(d);
    return e.broadcast(e.make<memref::LoadOp>(memory, at));
  }
  Value result = e.dense(0);
  for (int64_t l = 0; l < e.level.lanes; ++l) {
    Values at;
    for (Value i : param.getIndices())
      at.push_back(e.make<arith::IndexCastOp>(
          e.b.getIndexType(), e.make<vector::ExtractOp>(scalar(i, v), l)));
    at.push_back(d);
    result =
        e.make<vector::InsertOp>(e.make<memref::LoadOp>(memory, at), result, l);
  }
  return result;
}

void RowEmitter::fill(Value result, int64_t n,
                      function_ref<Value(Value, int64_t)> f) {
  Value memory = buffer(n);
  e.loop(e.index(0), e.index(n), 1, [&](Value d) {
    for (int64_t v = 0; v < vectors(); ++v)
      setElement(memory, d, v, f(d, v));
  });
  buffers[result] = memory;
}

Value RowEmitter::sum(int64_t n, int64_t v,
                      function_ref<Value(Value, Value)> term) {
  return e.loop(e.index(0), e.index(n), 1, e.dense(0),
                [&](Value d, ValueRange carried) -> Values {
                  return {term(d, carried[0])};
                })[0];
}

/// x / |x| through x / max|x|: neither tiny nor huge rows leave the range.
void RowEmitter::emitUnit(UnitOp unit) {
  int64_t n = length(unit.getResult());
  Value memory = buffer(n);
  for (int64_t v = 0; v < vectors(); ++v) {
    Value largest =
        e.loop(e.index(0), e.index(n), 1, e.dense(0),
               [&](Value d, ValueRange carried) -> Values {
                 Value x = e.make<math::AbsFOp>(element(unit.getRow(), d, v));
                 Value greater = e.make<arith::CmpFOp>(
                     arith::CmpFPredicate::OGT, x, carried[0]);
                 return {e.make<arith::SelectOp>(greater, x, carried[0])};
               })[0];
    Value isZero =
        e.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, largest, e.dense(0));
    Value safe = e.make<arith::SelectOp>(isZero, e.dense(1), largest);
    Value squares = sum(n, v, [&](Value d, Value acc) {
      Value x = e.make<arith::DivFOp>(element(unit.getRow(), d, v), safe);
      return e.fma(x, x, acc);
    });
    Value norm = e.make<math::SqrtOp>(squares);
    norm = e.make<arith::SelectOp>(isZero, e.dense(1), norm);
    e.loop(e.index(0), e.index(n), 1, [&](Value d) {
      Value x = e.make<arith::DivFOp>(element(unit.getRow(), d, v), safe);
      setElement(memory, d, v, e.make<arith::DivFOp>(x, norm));
    });
  }
  buffers[unit.getResult()] = memory;
}

/// Angles are reduced in f64: position * frequency loses whole turns in f32.
void RowEmitter::emitRope(RopeOp rope) {
  int64_t n = length(rope.getResult()), half = n / 2;
  Value memory = buffer(n);
  auto wide = VectorType::get({e.level.lanes}, e.b.getF64Type());
  auto wideConstant = [&](double c) -> Value {
    return e.make<arith::ConstantOp>(DenseElementsAttr::get(wide, c));
  };
  double base = rope.getBase().convertToDouble();
  // Frequencies of the pairs, a table in the code.
  auto tableType = MemRefType::get({half}, e.b.getF64Type());
  Value table;
  {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(e.entry);
    table = e.make<memref::AllocaOp>(tableType);
    for (int64_t t = 0; t < half; ++t)
      e.make<memref::StoreOp>(
          e.make<arith::ConstantOp>(e.b.getF64FloatAttr(
              std::pow(base, -static_cast<double>(t) / half))),
          table, e.index(t));
  }
  constexpr double turn = 6.283185307179586476925;
  e.loop(e.index(0), e.index(half), 1, [&](Value t) {
    Value frequency =
        e.make<vector::BroadcastOp>(wide, e.make<memref::LoadOp>(table, t));
    Value first = rope.getInterleaved() ? e.mul(t, e.index(2)) : t;
    Value second = rope.getInterleaved() ? e.add(first, 1) : e.add(t, half);
    for (int64_t v = 0; v < vectors(); ++v) {
      Value position =
          e.make<arith::ExtFOp>(wide, scalar(rope.getPosition(), v));
      Value angle = e.make<arith::MulFOp>(position, frequency);
      Value turns = e.make<math::FloorOp>(
          e.make<arith::MulFOp>(angle, wideConstant(1 / turn)));
      angle = e.make<arith::SubFOp>(
          angle, e.make<arith::MulFOp>(turns, wideConstant(turn)));
      Value reduced =
          e.make<arith::TruncFOp>(e.vectorOf(e.b.getF32Type()), angle);
      Value c = e.make<math::CosOp>(reduced), s = e.make<math::SinOp>(reduced);
      Value x = element(rope.getRow(), first, v),
            y = element(rope.getRow(), second, v);
      setElement(memory, first, v,
                 e.make<arith::SubFOp>(e.make<arith::MulFOp>(x, c),
                                       e.make<arith::MulFOp>(y, s)));
      setElement(memory, second, v,
                 e.make<arith::AddFOp>(e.make<arith::MulFOp>(x, s),
                                       e.make<arith::MulFOp>(y, c)));
    }
  });
  buffers[rope.getResult()] = memory;
}

/// Multisets i_1 <= ... <= i_p by nested loops; the multinomial coefficient
/// grows by t / (run length) when the t-th index is chosen.
void RowEmitter::emitPower(PowerOp power) {
  int64_t n = length(power.getRow()), degree = power.getDegree();
  Value memory = buffer(length(power.getResult()));
  auto real = [&](double c) -> Value {
    return e.make<arith::ConstantOp>(e.b.getF32FloatAttr(c));
  };
  // Level t: previous index, run length, coefficient, product; carries the
  // channel.
  std::function<Value(int64_t, Value, Value, Value, Values, Value)> level =
      [&](int64_t t, Value previous, Value run, Value coefficient,
          Values product, Value channel) -> Value {
    if (t > degree) {
      Value weight = e.broadcast(e.make<math::SqrtOp>(coefficient));
      for (int64_t v = 0; v < vectors(); ++v)
        setElement(memory, channel, v,
                   e.make<arith::MulFOp>(product[v], weight));
      return e.add(channel, 1);
    }
    return e.loop(
        previous, e.index(n), 1, channel,
        [&](Value i, ValueRange carried) -> Values {
          Value again =
              e.make<arith::CmpIOp>(arith::CmpIPredicate::eq, i, previous);
          Value longer = e.make<arith::AddFOp>(run, real(1));
          Value length =
              t == 1
                  ? real(1)
                  : e.make<arith::SelectOp>(again, longer, real(1)).getResult();
          Value c = e.make<arith::DivFOp>(
              e.make<arith::MulFOp>(coefficient, real(t)), length);
          Values next;
          for (int64_t v = 0; v < vectors(); ++v) {
            Value x = element(power.getRow(), i, v);
            next.push_back(
                t == 1 ? x : e.make<arith::MulFOp>(product[v], x).getResult());
          }
          return {level(t + 1, i, length, c, next, carried[0])};
        })[0];
  };
  level(1, e.index(0), real(0), real(1), Values(vectors()), e.index(0));
  buffers[power.getResult()] = memory;
}

void RowEmitter::emitProject(ProjectOp project) {
  int64_t m = length(project.getResult());
  Value memory = buffer(m);
  Value matrix = e.scalars.lookupOrDefault(project.getMatrix());
  Values leading;
  for (Value i : project.getIndices())
    leading.push_back(e.scalars.lookupOrDefault(i));
  multiply(project.getRow(), matrix, leading, m, memory);
  buffers[project.getResult()] = memory;
}

void RowEmitter::multiply(Value row, Value matrix, ValueRange leading,
                          int64_t m, Value memory) {
  int64_t n = length(row);
  // Blocks of columns share the loads of the row.
  auto columns = [&](Value c0, int64_t count) {
    Values sums = e.loop(
        e.index(0), e.index(n), 1, Values(count * vectors(), e.dense(0)),
        [&](Value r, ValueRange carried) {
          Values left, next;
          for (int64_t v = 0; v < vectors(); ++v)
            left.push_back(element(row, r, v));
          for (int64_t u = 0; u < count; ++u) {
            Values at(leading);
            at.append({r, e.add(c0, u)});
            Value w = e.broadcast(e.make<memref::LoadOp>(matrix, at));
            for (int64_t v = 0; v < vectors(); ++v)
              next.push_back(e.fma(left[v], w, carried[u * vectors() + v]));
          }
          return next;
        });
    for (int64_t u = 0; u < count; ++u)
      for (int64_t v = 0; v < vectors(); ++v)
        setElement(memory, e.add(c0, u), v, sums[u * vectors() + v]);
  };
  int64_t width = e.level.rowBlock, whole = m / width * width;
  if (whole)
    e.loop(e.index(0), e.index(whole), width,
           [&](Value c0) { columns(c0, width); });
  if (m > whole)
    columns(e.index(whole), m - whole);
}

/// The products first, the functions of them in place.
void RowEmitter::emitRandom(RandomFeaturesOp random) {
  int64_t n = length(random.getRow());
  auto count = static_cast<int64_t>(random.getCount());
  Value memory = buffer(length(random.getResult()));
  multiply(random.getRow(), randomMatrix(e.b, e.entry, random, n), {}, count,
           memory);
  auto loadAt = [&](Value r, int64_t v) {
    return e.loadVector(memory, {r, e.index(v * e.level.lanes)});
  };
  auto minus = [&](Value x) -> Value { return e.make<arith::NegFOp>(x); };
  RandomKind kind = random.getKind();
  bool hyperbolic = random.getHyperbolic();
  for (int64_t v = 0; v < vectors(); ++v) {
    Value shift; // subtracted from the exponent
    if (kind == RandomKind::Positive)
      shift = e.make<arith::MulFOp>(
          sum(n, v,
              [&](Value d, Value acc) {
                Value x = element(random.getRow(), d, v);
                return e.fma(x, x, acc);
              }),
          e.dense(0.5));
    else if (kind == RandomKind::Stabilised)
      shift =
          e.loop(e.index(0), e.index(count), 1, e.dense(-INFINITY),
                 [&](Value r, ValueRange carried) -> Values {
                   Value u = loadAt(r, v);
                   if (hyperbolic)
                     u = e.make<math::AbsFOp>(u);
                   Value greater = e.make<arith::CmpFOp>(
                       arith::CmpFPredicate::OGT, u, carried[0]);
                   return {e.make<arith::SelectOp>(greater, u, carried[0])};
                 })[0];
    auto exponential = [&](Value u) -> Value {
      Value exponent = e.make<arith::SubFOp>(u, shift);
      if (kind == RandomKind::Positive)
        exponent = e.make<arith::MinimumFOp>(exponent,
                                             e.dense(kLargestFeatureExponent));
      return e.make<math::ExpOp>(exponent);
    };
    e.loop(e.index(0), e.index(count), 1, [&](Value r) {
      Value u = loadAt(r, v), first, second;
      switch (kind) {
      case RandomKind::Positive:
      case RandomKind::Stabilised:
        first = exponential(u);
        if (hyperbolic)
          second = exponential(minus(u));
        break;
      case RandomKind::Trigonometric:
        first = e.make<math::CosOp>(u);
        second = e.make<math::SinOp>(u);
        break;
      case RandomKind::Anchors:
        first = e.make<arith::MulFOp>(u, u);
        break;
      }
      setElement(memory, r, v, first);
      if (second)
        setElement(memory, e.add(r, count), v, second);
    });
  }
  buffers[random.getResult()] = memory;
}

LogicalResult RowEmitter::emit(Operation &nested) {
  if (isa<MapOp, ParamRowOp>(nested))
    return success(); // evaluated where they are read
  Value result = nested.getNumResults() ? nested.getResult(0) : Value();
  auto perVector = [&](auto f) {
    for (int64_t v = 0; v < vectors(); ++v) {
      Value value = f(v);
      computed[{result, v}] = value;
    }
    return success();
  };
  if (auto dot = dyn_cast<DotOp>(nested))
    return perVector([&](int64_t v) {
      return sum(std::max(length(dot.getLhs()), length(dot.getRhs())), v,
                 [&](Value d, Value acc) {
                   return e.fma(element(dot.getLhs(), d, v),
                                element(dot.getRhs(), d, v), acc);
                 });
    });
  if (auto distance = dyn_cast<SqDistOp>(nested))
    return perVector([&](int64_t v) {
      return sum(length(distance.getLhs()), v, [&](Value d, Value acc) {
        Value x = e.make<arith::SubFOp>(element(distance.getLhs(), d, v),
                                        element(distance.getRhs(), d, v));
        return e.fma(x, x, acc);
      });
    });
  if (auto norm = dyn_cast<SqNormOp>(nested))
    return perVector([&](int64_t v) {
      return sum(length(norm.getRow()), v, [&](Value d, Value acc) {
        Value x = element(norm.getRow(), d, v);
        return e.fma(x, x, acc);
      });
    });
  if (auto unit = dyn_cast<UnitOp>(nested))
    return emitUnit(unit), success();
  if (auto rope = dyn_cast<RopeOp>(nested))
    return emitRope(rope), success();
  if (auto power = dyn_cast<PowerOp>(nested))
    return emitPower(power), success();
  if (auto project = dyn_cast<ProjectOp>(nested))
    return emitProject(project), success();
  if (auto random = dyn_cast<RandomFeaturesOp>(nested))
    return emitRandom(random), success();
  if (auto concat = dyn_cast<ConcatOp>(nested)) {
    Value memory = buffer(length(result));
    int64_t start = 0;
    for (Value row : concat.getRows()) {
      e.loop(e.index(0), e.index(length(row)), 1, [&](Value d) {
        for (int64_t v = 0; v < vectors(); ++v)
          setElement(memory, e.add(d, start), v, element(row, d, v));
      });
      start += length(row);
    }
    buffers[result] = memory;
    return success();
  }
  if (auto outer = dyn_cast<OuterOp>(nested)) {
    Value memory = buffer(length(result));
    int64_t m = length(outer.getRhs());
    e.loop(e.index(0), e.index(length(outer.getLhs())), 1, [&](Value s) {
      e.loop(e.index(0), e.index(m), 1, [&](Value t) {
        for (int64_t v = 0; v < vectors(); ++v)
          setElement(memory, e.add(e.mul(s, e.index(m)), t), v,
                     e.make<arith::MulFOp>(element(outer.getLhs(), s, v),
                                           element(outer.getRhs(), t, v)));
      });
    });
    buffers[result] = memory;
    return success();
  }
  if (auto channels = dyn_cast<ChannelsOp>(nested)) {
    Value memory = buffer(length(result));
    for (auto [d, value] : llvm::enumerate(channels.getValues()))
      for (int64_t v = 0; v < vectors(); ++v)
        setElement(memory, e.index(d), v, scalar(value, v));
    buffers[result] = memory;
    return success();
  }
  if (isa_and_nonnull<AttnDialect>(nested.getDialect()))
    return nested.emitOpError("has no form on the CPU");
  if (!result)
    return success();
  // A scalar: once for all lanes where none of its operands differ by lane.
  bool varies = llvm::any_of(nested.getOperands(), [&](Value v) {
    return computed.count({v, 0});
  });
  if (!varies) {
    e.b.clone(nested, e.scalars);
    return success();
  }
  return perVector([&](int64_t v) {
    return e.evaluateOp(nested, [&](Value x) { return scalar(x, v); });
  });
}

LogicalResult RowEmitter::emitBody() {
  Block &block = op.getBody().front();
  for (auto [argument, input] :
       llvm::zip(block.getArguments().drop_front(), op.getScalars()))
    for (int64_t v = 0; v < vectors(); ++v) {
      Value vector = e.at(input, {panel, v, firstKey});
      computed[{argument, v}] = vector;
    }
  for (Operation &nested : block.without_terminator())
    if (failed(emit(nested)))
      return failure();
  return success();
}

LogicalResult RowEmitter::runKeys(Value target) {
  if (failed(emitBody()))
    return failure();
  Value row = op.getBody().front().getTerminator()->getOperand(0);
  int64_t n = length(row), lanes = e.level.lanes;
  if (!buffers.count(row))
    fill(row, n, [&](Value d, int64_t v) { return element(row, d, v); });
  e.loop(e.index(0), e.index(n), lanes, [&](Value d) {
    Values block;
    for (int64_t l = 0; l < lanes; ++l)
      block.push_back(element(row, e.add(d, l), 0));
    e.transpose(block);
    for (int64_t l = 0; l < lanes; ++l)
      e.storeVector(block[l], target,
                    e.add(e.mul(e.add(firstKey, l), e.index(n)), d));
  });
  return success();
}

LogicalResult RowEmitter::run(ArrayRef<Value> targets) {
  if (failed(emitBody()))
    return failure();
  Block &block = op.getBody().front();
  for (auto [value, target] :
       llvm::zip(block.getTerminator()->getOperands(), targets)) {
    Value yielded = value, memory = target;
    if (isa<RowType>(yielded.getType())) {
      e.loop(e.index(0), e.index(length(yielded)), 1, [&](Value d) {
        for (int64_t v = 0; v < vectors(); ++v)
          e.storeVector(element(yielded, d, v), memory,
                        {panel, d, e.index(v * e.level.lanes)});
      });
      continue;
    }
    for (int64_t v = 0; v < vectors(); ++v)
      e.storeVector(
          scalar(yielded, v), memory,
          e.add(e.mul(panel, e.index(e.panelLanes())), v * e.level.lanes));
  }
  return success();
}

/// Rows of keys: a vector of keys at a time goes across lanes and back.
LogicalResult CpuEmitter::emitKeyRows(tile::RowsOp op) {
  TileType type = typeOf(op.getTile());
  const TileForm view = forms[op.getTile()];
  Value target = allocate(typeOf(op.getResult(0))), input;
  int64_t depth = type.getShape()[1];
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    input = make<memref::AllocaOp>(
        MemRefType::get({depth, level.lanes}, b.getF32Type()),
        b.getI64IntegerAttr(64));
  }
  forms[op.getResult(0)] = {TileForm::Buffer, target, {}, {}, view.rows};
  LogicalResult result = success();
  loop(index(0), view.rows, level.lanes, [&](Value first) {
    transposeRows(
        view.memory, view.stride, first, add(view.rows, -1), depth,
        [&](Value d, int64_t, Value vector) {
          storeVector(vector, input, {d, index(0)});
        },
        [&](Value d, int64_t l, Value x) {
          make<memref::StoreOp>(x, input, ValueRange{d, index(l)});
        });
    result = RowEmitter(*this, op, first, input).runKeys(target);
  });
  return result;
}

LogicalResult CpuEmitter::emitRows(tile::RowsOp op) {
  if (typeOf(op.getTile()).getAxes() == "kd" && op.getNumResults() == 1 &&
      hasFeatureLanes(typeOf(op.getResult(0))) &&
      forms[op.getTile()].kind == TileForm::View)
    return emitKeyRows(op);
  if (!hasLanes(typeOf(op.getTile())))
    return op.emitOpError("maps something else than rows across lanes");
  Values targets;
  for (Value result : op.getResults()) {
    targets.push_back(allocate(typeOf(result)));
    forms[result] = {TileForm::Buffer, targets.back(), {}, {}, {}};
  }
  LogicalResult result = success();
  forPanels(
      [&](Value panel) { result = RowEmitter(*this, op, panel).run(targets); });
  return result;
}
