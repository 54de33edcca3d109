//===- FormRows.cpp - the normal forms of rows and their dots -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/NormalForm.h"

#include "lowering/analysis/Declarations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn;

using Monomial = Polynomial::Monomial;

static bool isOne(const Polynomial &p) {
  return (p - NormalForm::number(1)).isZero();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

ScaledRow NormalForm::rowOf(Value value) {
  if (auto known = rowForms.find(value); known != rowForms.end())
    return known->second;
  ScaledRow result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // The arguments of kappa are rows 0 and 1, asked for in any order.
    bool ofKappa = argument.getOwner()->getParent() == &op.getKappa();
    for (unsigned side = 0; side < 2 && ofKappa; ++side) {
      FormRow row;
      row.kind = FormRow::Input;
      row.tag = side == 0 ? "q" : "k";
      row.axes = side == 0 ? QueryAxis : KeyAxis;
      row.origin = op.getKappa().getArgument(side);
      row.length = cast<RowType>(row.origin.getType()).getLength();
      result = {number(1), intern(std::move(row))};
      rowForms.try_emplace(op.getKappa().getArgument(side), result);
    }
    if (ofKappa)
      return rowForms.find(value)->second;
  } else {
    result = computeRow(value.getDefiningOp());
    FormRow &row = rows[result.row];
    if (isOne(result.factor) && !row.origin)
      row.origin = value;
    return rowForms.try_emplace(value, result).first->second;
  }
  FormRow row;
  row.tag =
      std::to_string(reinterpret_cast<uintptr_t>(value.getAsOpaquePointer()));
  row.axes = PairAxes;
  row.origin = value;
  result = {number(1), intern(std::move(row))};
  return rowForms.try_emplace(value, result).first->second;
}

RowId NormalForm::materialise(const ScaledRow &scaled) {
  if (isOne(scaled.factor))
    return scaled.row;
  FormRow row;
  row.kind = FormRow::Scaled;
  row.rows = {scaled.row};
  row.args = {scaled.factor};
  row.length = rows[scaled.row].length;
  return intern(std::move(row));
}

ScaledRow NormalForm::scaledOf(RowId id) {
  const FormRow &row = rows[id];
  if (row.kind == FormRow::Scaled)
    return {row.args[0], row.rows[0]};
  return {number(1), id};
}

RowRange NormalForm::rangeOfRow(const FormRow &row) {
  if (row.origin)
    return ranges.row(row.origin);
  if (row.kind == FormRow::Unit)
    return {Interval::closed(-1, 1), Interval::closed(0, 1)};
  if (row.kind == FormRow::Rope)
    return {Interval::all(), rows[row.rows[0]].range.sqnorm};
  return {};
}

ScaledRow NormalForm::computeRow(Operation *op) {
  FormRow row;
  row.origin = op->getResult(0);
  row.length = cast<RowType>(row.origin.getType()).getLength();
  auto pointer = [](Value memory) {
    return std::to_string(
        reinterpret_cast<uintptr_t>(memory.getAsOpaquePointer()));
  };
  auto withIndices = [&](ValueRange indices) {
    for (Value index : indices)
      row.args.push_back(scalar(index));
  };
  auto operand = [&](unsigned n) { return rowOf(op->getOperand(n)); };
  auto made = [&](FormRow::Kind kind) -> ScaledRow {
    row.kind = kind;
    return {number(1), intern(std::move(row))};
  };
  return llvm::TypeSwitch<Operation *, ScaledRow>(op)
      .Case([&](ParamRowOp param) {
        row.tag = pointer(param.getMemory());
        withIndices(param.getIndices());
        return made(FormRow::Param);
      })
      .Case([&](MapOp map) { return computeMap(map); })
      .Case([&](UnitOp) {
        // The unit of c x with c > 0 is that of x.
        ScaledRow x = operand(0);
        bool drop = rangeOf(x.factor).isPositive();
        row.rows = {drop ? x.row : materialise(x)};
        return made(FormRow::Unit);
      })
      .Case([&](ProjectOp project) {
        ScaledRow x = operand(0);
        row.tag = pointer(project.getMatrix());
        row.rows = {x.row};
        if (!isOne(x.factor))
          row.origin = {};
        withIndices(project.getIndices());
        return ScaledRow{x.factor, made(FormRow::Project).row};
      })
      .Case([&](RopeOp rope) {
        ScaledRow x = operand(0);
        row.tag = std::to_string(rope.getBase().convertToDouble()) +
                  (rope.getInterleaved() ? "i" : "");
        row.rows = {x.row};
        if (!isOne(x.factor))
          row.origin = {};
        row.args = {scalar(rope.getPosition())};
        return ScaledRow{x.factor, made(FormRow::Rope).row};
      })
      .Case([&](PowerOp power) {
        ScaledRow x = operand(0);
        row.tag = std::to_string(power.getDegree());
        row.rows = {x.row};
        if (!isOne(x.factor))
          row.origin = {};
        Polynomial factor =
            this->power(x.factor, static_cast<int64_t>(power.getDegree()));
        return ScaledRow{factor, made(FormRow::Power).row};
      })
      .Case([&](ConcatOp concat) {
        for (unsigned n = 0; n < concat.getRows().size(); ++n)
          row.rows.push_back(materialise(operand(n)));
        return made(FormRow::Concat);
      })
      .Case([&](OuterOp) {
        ScaledRow a = operand(0), b = operand(1);
        row.rows = {a.row, b.row};
        Polynomial factor = multiply(a.factor, b.factor);
        if (!isOne(factor))
          row.origin = {};
        return ScaledRow{factor, made(FormRow::Outer).row};
      })
      .Case([&](RandomFeaturesOp random) {
        // One map if all attributes are equal.
        llvm::raw_string_ostream(row.tag) << random->getAttrDictionary();
        row.rows = {materialise(operand(0))};
        return made(FormRow::Random);
      })
      .Default([&](Operation *) {
        row.tag = pointer(row.origin);
        row.axes = PairAxes;
        return made(FormRow::Opaque);
      });
}

/// A map by the polynomial of its body. Factors that do not depend on the
/// coordinate come out: x * cos(c i) is cos(c i) times the row itself.
ScaledRow NormalForm::computeMap(MapOp map) {
  Block &body = map.getBody().front();
  FormRow row;
  row.kind = FormRow::Map;
  row.origin = map.getResult();
  row.length = map.getResult().getType().getLength();
  SmallVector<ScaledRow> operands;
  for (auto [n, operand] : llvm::enumerate(map.getRows())) {
    operands.push_back(rowOf(operand));
    row.rows.push_back(materialise(operands.back()));
    FormAtom coordinate;
    coordinate.tag = "x" + std::to_string(n);
    coordinate.axes = kCoordinateAxis;
    coordinate.range = Interval::all(); // shared by all maps
    scalars[body.getArgument(n)] = intern(std::move(coordinate));
  }
  expand(body);
  Polynomial p = scalar(body.getTerminator()->getOperand(0));
  if (p.isZero())
    return {p, row.rows[0]};
  std::optional<Monomial> common;
  for (const auto &term : p.terms()) {
    Monomial outside;
    for (auto factor : term.first) {
      unsigned power = 0;
      if (common)
        for (auto known : *common)
          if (known.first == factor.first)
            power = std::min(known.second, factor.second);
      if (!common && !(atoms[factor.first].axes & kCoordinateAxis))
        power = factor.second;
      if (power > 0)
        outside.push_back({factor.first, power});
    }
    common = outside;
  }
  Rational lead = p.terms().rbegin()->second;
  Polynomial factor = Polynomial::constant(lead), inside;
  for (auto [id, power] : *common)
    for (unsigned n = 0; n < power; ++n)
      factor = factor * Polynomial::atom(id);
  for (const auto &[monomial, coefficient] : p.terms()) {
    Polynomial term = Polynomial::constant(coefficient / lead);
    for (auto [id, power] : monomial) {
      unsigned taken = 0;
      for (auto known : *common)
        if (known.first == id)
          taken = known.second;
      for (unsigned n = taken; n < power; ++n)
        term = term * Polynomial::atom(id);
    }
    inside = inside + term;
  }
  if (!isOne(factor))
    row.origin = {};
  FormAtom first;
  first.tag = "x0";
  first.axes = kCoordinateAxis;
  if (operands.size() == 1 && (inside - intern(std::move(first))).isZero())
    return {multiply(factor, operands[0].factor), operands[0].row};
  row.args = {inside};
  return {factor, intern(std::move(row))};
}

//===----------------------------------------------------------------------===//
// Pairs of rows
//===----------------------------------------------------------------------===//

/// Proven to be of one length.
bool NormalForm::agree(RowId a, RowId b) {
  int64_t n = rows[a].length, m = rows[b].length;
  if (!ShapedType::isDynamic(n) && !ShapedType::isDynamic(m))
    return n == m;
  return isMirrored(a, b);
}

Polynomial NormalForm::dot(const ScaledRow &a, const ScaledRow &b) {
  return multiply(multiply(a.factor, b.factor), dotRows(a.row, b.row));
}

Polynomial NormalForm::norm(const ScaledRow &a) {
  return multiply(multiply(a.factor, a.factor), normRow(a.row));
}

Polynomial NormalForm::normRow(RowId id) {
  const FormRow row = rows[id];
  switch (row.kind) {
  case FormRow::Scaled:
    return norm({row.args[0], row.rows[0]});
  case FormRow::Rope: // a rotation
    return normRow(row.rows[0]);
  case FormRow::Power:
    return power(normRow(row.rows[0]), std::stoll(row.tag));
  case FormRow::Outer:
    return multiply(normRow(row.rows[0]), normRow(row.rows[1]));
  case FormRow::Concat: {
    Polynomial sum;
    for (RowId part : row.rows)
      sum = sum + normRow(part);
    return sum;
  }
  default:
    break;
  }
  FormAtom atom;
  atom.kind = FormAtom::Norm;
  atom.rows = {id};
  atom.range = row.range.sqnorm;
  return intern(std::move(atom));
}

Polynomial NormalForm::dotRows(RowId a, RowId b) {
  if (a == b)
    return normRow(a);
  const FormRow x = rows[a], y = rows[b];
  if (x.kind == FormRow::Scaled || y.kind == FormRow::Scaled)
    return dot(scaledOf(a), scaledOf(b));
  if (x.kind == y.kind) {
    bool fit = x.rows.size() == y.rows.size();
    for (size_t n = 0; fit && n < x.rows.size(); ++n)
      fit = agree(x.rows[n], y.rows[n]);
    if (fit && x.kind == FormRow::Concat) {
      Polynomial sum;
      for (size_t n = 0; n < x.rows.size(); ++n)
        sum = sum + dotRows(x.rows[n], y.rows[n]);
      return sum;
    }
    if (fit && x.kind == FormRow::Outer)
      return multiply(dotRows(x.rows[0], y.rows[0]),
                      dotRows(x.rows[1], y.rows[1]));
    if (fit && x.kind == FormRow::Power && x.tag == y.tag)
      return power(dotRows(x.rows[0], y.rows[0]), std::stoll(x.tag));
    if (x.kind == FormRow::Rope && x.tag == y.tag &&
        (x.args[0] - y.args[0]).isZero()) // one rotation of both
      return dotRows(x.rows[0], y.rows[0]);
  }
  FormAtom atom;
  atom.kind = FormAtom::Dot;
  // The query's row first.
  bool swap = x.axes == KeyAxis || (x.axes == y.axes && b < a) ||
              (y.axes == QueryAxis && x.axes != QueryAxis);
  atom.rows = swap ? std::vector<RowId>{b, a} : std::vector<RowId>{a, b};
  int64_t n = x.length;
  atom.range = dotRange(x.range, y.range,
                        ShapedType::isDynamic(n)
                            ? Interval::atLeast(1)
                            : Interval::point(static_cast<double>(n)));
  return intern(std::move(atom));
}

std::optional<DistanceForm> attn::asDistance(NormalForm &form,
                                             const Polynomial &p) {
  for (AtomId id = 0; id < form.atomCount(); ++id) {
    if (form.atom(id).kind != FormAtom::Dot || p.degreeIn(id) != 1 ||
        form.atom(id).axes != PairAxes)
      continue;
    RowId a = form.atom(id).rows[0], b = form.atom(id).rows[1];
    Polynomial factor = p.inPowersOf(id)[1].scaled(Rational(-1) / Rational(2));
    Polynomial distance = form.norm({NormalForm::number(1), a}) +
                          form.norm({NormalForm::number(1), b}) -
                          Polynomial::atom(id).scaled(Rational(2));
    Polynomial constant = p - form.multiply(factor, distance);
    if ((form.axesOf(factor) | form.axesOf(constant)) == Uniform)
      return DistanceForm{constant, factor, id};
  }
  return std::nullopt;
}
