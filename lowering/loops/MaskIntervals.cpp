//===- MaskIntervals.cpp - empty and full tiles of any mask ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/loops/MaskIntervals.h"

using namespace mlir;
using namespace attn;
using arith::CmpIPredicate;

namespace {

/// A range of an integer, or (may, must) of a boolean. Null where not known.
struct Bounds {
  Value low, high;
  explicit operator bool() const { return static_cast<bool>(low); }
};

class Evaluator {
public:
  Evaluator(TileBuilder &b, const Box &box, function_ref<Value(Value)> uniform,
            function_ref<bool(Value)> isUniform)
      : b(b), box(box), uniform(uniform), isUniform(isUniform) {}

  void visit(Operation &op);
  Bounds operator()(Value v) {
    if (isUniform(v)) {
      Value scalar = uniform(v);
      return {scalar, scalar};
    }
    return ranges.lookup(v);
  }

private:
  Bounds compare(arith::CmpIOp op);
  Bounds multiply(Bounds x, Bounds y);
  Bounds floorDivide(Bounds x, Bounds y);
  Bounds remainder(arith::SubIOp op);
  Bounds loadRange(memref::LoadOp op);
  Bounds unknownBool() { return {b.boolean(true), b.boolean(false)}; }

  TileBuilder &b;
  const Box &box;
  function_ref<Value(Value)> uniform;
  function_ref<bool(Value)> isUniform;
  DenseMap<Value, Bounds> ranges;
};

} // namespace

Bounds Evaluator::multiply(Bounds x, Bounds y) {
  // The extremes are at corners, whatever the signs.
  Value corners[] = {b.mul(x.low, y.low), b.mul(x.low, y.high),
                     b.mul(x.high, y.low), b.mul(x.high, y.high)};
  Value low = corners[0], high = corners[0];
  for (Value c : llvm::drop_begin(corners)) {
    low = b.min(low, c);
    high = b.max(high, c);
  }
  return {low, high};
}

Bounds Evaluator::floorDivide(Bounds x, Bounds y) {
  if (y.low != y.high)
    return {};
  // x / d is monotone in x, in the direction of d's sign.
  auto divide = [&](Value v) -> Value {
    return b.make<arith::FloorDivSIOp>(v, y.low);
  };
  Value atLow = divide(x.low), atHigh = divide(x.high);
  return {b.min(atLow, atHigh), b.max(atLow, atHigh)};
}

/// x % d, which the importer writes x - (x // d) * d.
Bounds Evaluator::remainder(arith::SubIOp op) {
  auto product = op.getRhs().getDefiningOp<arith::MulIOp>();
  auto quotient = product
                      ? product.getLhs().getDefiningOp<arith::FloorDivSIOp>()
                      : arith::FloorDivSIOp();
  if (!quotient || quotient.getLhs() != op.getLhs() ||
      quotient.getRhs() != product.getRhs() || !isUniform(quotient.getRhs()))
    return {};
  Bounds x = (*this)(op.getLhs()), q = (*this)(quotient.getResult());
  if (!x || !q)
    return {};
  Value d = uniform(quotient.getRhs());
  Value same = b.cmp(CmpIPredicate::eq, q.low, q.high);
  Value base = b.mul(q.low, d), zero = b.index(0);
  // All residues lie between 0 and d - 1, or d + 1 and 0 for a negative d.
  Value one = b.index(1);
  Value positive = b.cmp(CmpIPredicate::sgt, d, zero);
  Value least = b.select(positive, zero, b.add(d, one));
  Value most = b.select(positive, b.sub(d, one), zero);
  return {b.select(same, b.sub(x.low, base), least),
          b.select(same, b.sub(x.high, base), most)};
}

/// The least and the greatest entry of a table over a range of its last index.
Bounds Evaluator::loadRange(memref::LoadOp op) {
  if (!isa<IntegerType>(op.getType()) || op.getIndices().empty())
    return {};
  SmallVector<Value> indices;
  for (Value index : op.getIndices().drop_back()) {
    if (!isUniform(index))
      return {};
    indices.push_back(uniform(index));
  }
  Bounds last = (*this)(op.getIndices().back());
  if (!last)
    return {};
  auto entry = [&](Value at) -> Value {
    SmallVector<Value> all(indices);
    all.push_back(at);
    return b.make<memref::LoadOp>(op.getMemRef(), all);
  };
  Value first = entry(last.low);
  auto loop = b.make<scf::ForOp>(
      b.add(last.low, b.index(1)), b.add(last.high, b.index(1)), b.index(1),
      ValueRange{first, first},
      [&](OpBuilder &nested, Location, Value at, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        Value value = entry(at);
        b.make<scf::YieldOp>(
            ValueRange{b.min(carried[0], value), b.max(carried[1], value)});
      });
  return {loop.getResult(0), loop.getResult(1)};
}

Bounds Evaluator::compare(arith::CmpIOp op) {
  Bounds x = (*this)(op.getLhs()), y = (*this)(op.getRhs());
  if (!x || !y)
    return unknownBool();
  auto less = [&](CmpIPredicate p, Bounds s, Bounds t) -> Bounds {
    return {b.cmp(p, s.low, t.high), b.cmp(p, s.high, t.low)};
  };
  Bounds equal{b.both(b.cmp(CmpIPredicate::sle, x.low, y.high),
                      b.cmp(CmpIPredicate::sle, y.low, x.high)),
               b.both(b.cmp(CmpIPredicate::eq, x.low, y.high),
                      b.cmp(CmpIPredicate::eq, x.high, y.low))};
  switch (op.getPredicate()) {
  case CmpIPredicate::slt:
    return less(CmpIPredicate::slt, x, y);
  case CmpIPredicate::sle:
    return less(CmpIPredicate::sle, x, y);
  case CmpIPredicate::sgt:
    return less(CmpIPredicate::slt, y, x);
  case CmpIPredicate::sge:
    return less(CmpIPredicate::sle, y, x);
  case CmpIPredicate::eq:
    return equal;
  case CmpIPredicate::ne:
    return {b.negate(equal.high), b.negate(equal.low)};
  default:
    return unknownBool();
  }
}

void Evaluator::visit(Operation &op) {
  if (op.getNumResults() != 1 || isUniform(op.getResult(0)))
    return;
  Value result = op.getResult(0);
  auto operand = [&](unsigned n) { return (*this)(op.getOperand(n)); };
  bool isBool = result.getType().isInteger(1);
  Bounds range;
  if (auto index = dyn_cast<IndexOp>(op)) {
    range = index.getPosition() == Position::I ? Bounds{box.iLow, box.iHigh}
                                               : Bounds{box.jLow, box.jHigh};
  } else if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
    range = compare(cmp);
  } else if (isBool && isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    Bounds x = operand(0), y = operand(1);
    if (isa<arith::AndIOp>(op))
      range = {b.both(x.low, y.low), b.both(x.high, y.high)};
    else if (isa<arith::OrIOp>(op))
      range = {b.either(x.low, y.low), b.either(x.high, y.high)};
    else { // x xor y: known only where both are
      Value known = b.both(b.cmp(CmpIPredicate::eq, x.low, x.high),
                           b.cmp(CmpIPredicate::eq, y.low, y.high));
      Value value = b.make<arith::XOrIOp>(x.low, y.low);
      range = {b.either(value, b.negate(known)), b.both(value, known)};
    }
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Bounds c = operand(0), x = operand(1), y = operand(2);
    if (isBool) { // (may, must): one of the two, whichever c allows
      range = {b.either(b.both(c.low, x.low), b.both(b.negate(c.high), y.low)),
               b.both(x.high, y.high)};
    } else if (x && y) {
      range = {b.min(x.low, y.low), b.max(x.high, y.high)};
    }
  } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
    range = loadRange(load);
  } else if (auto sub = dyn_cast<arith::SubIOp>(op);
             sub && (range = remainder(sub))) {
    // x % d
  } else if (op.getNumOperands() > 0) {
    Bounds x = operand(0), y = op.getNumOperands() > 1 ? operand(1) : x;
    if (x && y) {
      if (isa<arith::AddIOp>(op))
        range = {b.add(x.low, y.low), b.add(x.high, y.high)};
      else if (isa<arith::SubIOp>(op))
        range = {b.sub(x.low, y.high), b.sub(x.high, y.low)};
      else if (isa<arith::MulIOp>(op))
        range = multiply(x, y);
      else if (isa<arith::FloorDivSIOp>(op))
        range = floorDivide(x, y);
      else if (isa<arith::MinSIOp>(op))
        range = {b.min(x.low, y.low), b.min(x.high, y.high)};
      else if (isa<arith::MaxSIOp>(op))
        range = {b.max(x.low, y.low), b.max(x.high, y.high)};
      else if (isa<math::AbsIOp>(op)) {
        Value zero = b.index(0);
        range = {b.max(b.max(x.low, b.sub(zero, x.high)), zero),
                 b.max(x.high, b.sub(zero, x.low))};
      } else if (auto cast = dyn_cast<arith::IndexCastOp>(op)) {
        auto convert = [&](Value v) -> Value {
          return b.make<arith::IndexCastOp>(result.getType(), v);
        };
        range = {convert(x.low), convert(x.high)};
      }
    }
  }
  if (!range && isBool)
    range = unknownBool();
  ranges[result] = range;
}

Visibility attn::emitVisibility(TileBuilder &b, Region &mask, const Box &box,
                                function_ref<Value(Value)> uniform,
                                function_ref<bool(Value)> isUniform) {
  if (mask.empty())
    return {b.boolean(true), b.boolean(true)};
  Evaluator evaluate(b, box, uniform, isUniform);
  for (Operation &op : mask.front())
    evaluate.visit(op);
  Bounds visible =
      evaluate(cast<YieldOp>(mask.front().getTerminator()).getValues()[0]);
  return {visible.low, visible.high};
}
