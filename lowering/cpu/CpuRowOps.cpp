//===- CpuRowOps.cpp - the operations of row maps -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/RandomRows.h"
#include "lowering/cpu/CpuRandomRows.h"
#include "lowering/cpu/CpuRowEmitter.h"

#include <cmath>

using namespace mlir;
using namespace attn;

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

/// Angles are reduced in f64: position * frequency loses whole turns in f32,
/// and whole positions lose digits there from 2^24 on.
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
      Value position;
      if (auto whole = rope.getPosition().getDefiningOp<arith::SIToFPOp>())
        position = e.make<arith::SIToFPOp>(wide, scalar(whole.getIn(), v));
      else
        position = e.make<arith::ExtFOp>(wide, scalar(rope.getPosition(), v));
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
      shift = e.make<arith::MulFOp>(sum(n, v,
                                        [&](Value d, Value acc) {
                                          Value x =
                                              element(random.getRow(), d, v);
                                          return e.fma(x, x, acc);
                                        }),
                                    e.dense(0.5));
    else if (kind == RandomKind::Stabilised)
      shift = e.loop(e.index(0), e.index(count), 1, e.dense(-INFINITY),
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
  if (auto random = dyn_cast<RandomFeaturesOp>(nested))
    return emitRandom(random), success();
  if (auto project = dyn_cast<ProjectOp>(nested))
    return emitProject(project), success();
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
