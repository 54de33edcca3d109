//===- RowRange.cpp - the coordinates and norms of rows -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Declarations.h"
#include "lowering/analysis/ValueRange.h"

#include "dialect/attn/RandomRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace attn;

Interval attn::lengthOf(RowType row) {
  return row.hasStaticLength()
             ? Interval::point(static_cast<double>(row.getLength()))
             : Interval::atLeast(1);
}

/// A row whose coordinates lie in `coordinate`; what that says of its norm.
static RowRange byCoordinate(Interval coordinate, RowType type) {
  return {coordinate, power(coordinate, 2) * lengthOf(type)};
}

/// No coordinate is larger than the norm.
static RowRange sharpened(RowRange row) {
  Interval norm = sqrt(row.sqnorm);
  row.coordinate = intersect(
      row.coordinate, Interval{-norm.hi, norm.hi, norm.hiOpen, norm.hiOpen});
  return row;
}

/// c for a map whose body is x * c or x / c with c from outside.
static std::optional<Interval> matchScaling(ValueRangeAnalysis &ranges,
                                            MapOp map) {
  Block &body = map.getBody().front();
  Operation *op = body.getTerminator()->getOperand(0).getDefiningOp();
  if (map.getRows().size() != 1 ||
      !isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return std::nullopt;
  Value x = body.getArgument(0);
  for (unsigned side : {0u, 1u}) {
    Value other = op->getOperand(1 - side);
    if (op->getOperand(side) != x || other.getParentRegion() == &map.getBody())
      continue;
    if (isa<arith::MulFOp>(op))
      return ranges.scalar(other);
    if (side == 0)
      return Interval::point(1) / ranges.scalar(other);
  }
  return std::nullopt;
}

RowRange ValueRangeAnalysis::computeRow(Value value) {
  auto type = cast<RowType>(value.getType());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value mapped = mappedRowOfArgument(argument);
    RowRange result = mapped ? row(mapped) : RowRange();
    auto attention =
        dyn_cast_or_null<AttentionOp>(argument.getOwner()->getParentOp());
    if (!attention || argument.getOwner()->getParent() != &attention.getKappa())
      return result;
    if (assumed.oneSet) {
      Value other = mappedRowOfArgument(
          attention.getKappa().getArgument(1 - argument.getArgNumber()));
      RowRange partner = other ? row(other) : RowRange();
      result = {hull(result.coordinate, partner.coordinate),
                hull(result.sqnorm, partner.sqnorm)};
    }
    double r = assumed.radius;
    if (r < Interval::kInfinity)
      result = {intersect(result.coordinate, Interval::closed(-r, r)),
                intersect(result.sqnorm, Interval::closed(0, r * r))};
    return result;
  }
  Operation *op = value.getDefiningOp();
  auto in = [&](unsigned n) { return row(op->getOperand(n)); };
  return llvm::TypeSwitch<Operation *, RowRange>(op)
      .Case([&](ParamRowOp param) {
        return byCoordinate(declaredRange(declarationOf(param.getMemory())),
                            type);
      })
      .Case([&](MapOp map) {
        RowRange result = byCoordinate(scalar(yieldedRow(map.getBody())), type);
        if (std::optional<Interval> scale = matchScaling(*this, map))
          result.sqnorm =
              intersect(result.sqnorm, in(0).sqnorm * power(*scale, 2));
        return sharpened(result);
      })
      .Case([&](UnitOp) {
        Interval x = in(0).coordinate;
        RowRange result = {Interval::closed(-1, 1), Interval::closed(0, 1)};
        if (x.isNonNegative())
          result.coordinate = {0, 1, x.isPositive(), false};
        else if (x.isNonPositive())
          result.coordinate = {-1, 0, false, x.isNegative()};
        return result;
      })
      .Case([&](ProjectOp project) {
        Interval weights = declaredRange(declarationOf(project.getMatrix()));
        return byCoordinate(in(0).coordinate * weights *
                                lengthOf(project.getRow().getType()),
                            type);
      })
      .Case([&](RopeOp) {
        return sharpened({Interval::all(), in(0).sqnorm});
      })
      .Case([&](PowerOp op) {
        RowRange x = in(0);
        // A channel is a product of coordinates times a weight >= 1; only the
        // sign of the product survives that.
        Interval product =
            power(x.coordinate, static_cast<int64_t>(op.getDegree()));
        Interval coordinate =
            x.coordinate.isPositive() ? Interval::above(0)
            : product.isNonNegative() && x.coordinate.isNonNegative()
                ? Interval::atLeast(0)
                : Interval::all();
        return sharpened({coordinate, power(x.sqnorm, static_cast<int64_t>(
                                                          op.getDegree()))});
      })
      .Case([&](ConcatOp concat) {
        RowRange result = in(0);
        for (unsigned n = 1; n < concat.getRows().size(); ++n) {
          RowRange next = in(n);
          result = {hull(result.coordinate, next.coordinate),
                    result.sqnorm + next.sqnorm};
        }
        return result;
      })
      .Case([&](RandomFeaturesOp random) {
        double most = static_cast<double>(random.getCount());
        switch (random.getKind()) {
        case RandomKind::Positive:
          return byCoordinate(
              {0, std::exp(kLargestFeatureExponent + 1), true, false}, type);
        case RandomKind::Stabilised:
          return byCoordinate({0, 1, true, false}, type);
        case RandomKind::Trigonometric:
          return RowRange{Interval::closed(-1, 1), Interval::closed(0, most)};
        case RandomKind::Anchors:
          break;
        }
        return byCoordinate(Interval::atLeast(0), type);
      })
      .Case([&](OuterOp) {
        RowRange a = in(0), b = in(1);
        return RowRange{a.coordinate * b.coordinate, a.sqnorm * b.sqnorm};
      })
      .Default([](Operation *) { return RowRange(); });
}

//===----------------------------------------------------------------------===//
// Pairs of rows
//===----------------------------------------------------------------------===//

/// The row as it was computed, seen through the maps of q and k.
static Value computedRow(Value row) {
  if (auto argument = dyn_cast<BlockArgument>(row))
    if (Value mapped = mappedRowOfArgument(argument))
      return mapped;
  return row;
}

Interval attn::dotRange(const RowRange &a, const RowRange &b,
                        const Interval &length) {
  Interval norms = sqrt(a.sqnorm * b.sqnorm);
  return intersect(a.coordinate * b.coordinate * length,
                   Interval{-norms.hi, norms.hi, norms.hiOpen, norms.hiOpen});
}

static Interval dotRange(ValueRangeAnalysis &ranges, Value lhs, Value rhs,
                         int depth) {
  RowRange a = ranges.row(lhs), b = ranges.row(rhs);
  lhs = computedRow(lhs);
  rhs = computedRow(rhs);
  if (lhs == rhs)
    return a.sqnorm;
  Interval range = attn::dotRange(a, b, lengthOf(cast<RowType>(lhs.getType())));
  if (depth == 0)
    return range;
  // Tensor powers and products are made for these identities.
  auto power = lhs.getDefiningOp<PowerOp>(),
       other = rhs.getDefiningOp<PowerOp>();
  if (power && other && power.getDegree() == other.getDegree())
    range = intersect(
        range,
        attn::power(dotRange(ranges, power.getRow(), other.getRow(), depth - 1),
                    static_cast<int64_t>(power.getDegree())));
  auto outer = lhs.getDefiningOp<OuterOp>(),
       partner = rhs.getDefiningOp<OuterOp>();
  auto agree = [](Value x, Value y) {
    RowType a = cast<RowType>(x.getType()), b = cast<RowType>(y.getType());
    return a.hasStaticLength() && a == b;
  };
  if (outer && partner && agree(outer.getLhs(), partner.getLhs()) &&
      agree(outer.getRhs(), partner.getRhs()))
    range = intersect(
        range,
        dotRange(ranges, outer.getLhs(), partner.getLhs(), depth - 1) *
            dotRange(ranges, outer.getRhs(), partner.getRhs(), depth - 1));
  return range;
}

Interval attn::dotRange(ValueRangeAnalysis &ranges, DotOp op) {
  constexpr int depth = 4;
  return ::dotRange(ranges, op.getLhs(), op.getRhs(), depth);
}

Interval attn::sqdistRange(ValueRangeAnalysis &ranges, SqDistOp op) {
  if (op.getLhs() == op.getRhs())
    return Interval::point(0);
  RowRange a = ranges.row(op.getLhs()), b = ranges.row(op.getRhs());
  Interval sum = sqrt(a.sqnorm) + sqrt(b.sqnorm);
  Interval byNorm = power(Interval{0, sum.hi, false, sum.hiOpen}, 2);
  Interval bySum =
      power(a.coordinate - b.coordinate, 2) * lengthOf(op.getLhs().getType());
  return intersect(intersect(Interval::atLeast(0), byNorm), bySum);
}
