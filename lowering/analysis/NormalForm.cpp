//===- NormalForm.cpp - the arithmetic of normal forms --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/NormalForm.h"

#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace attn;

using Monomial = Polynomial::Monomial;

NormalForm::NormalForm(AttentionOp op, ValueRangeAnalysis &ranges, bool ordered)
    : op(op), ranges(ranges), ordered(ordered) {
  Block &body = op.getKappa().front();
  expand(body);
  whole = scalar(body.getTerminator()->getOperand(0));
}

//===----------------------------------------------------------------------===//
// Numbers of atoms and rows
//===----------------------------------------------------------------------===//

std::string NormalForm::key(const Polynomial &p) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const auto &[monomial, coefficient] : p.terms()) {
    stream << coefficient.numerator() << '/' << coefficient.denominator();
    for (auto [atom, power] : monomial)
      stream << '*' << atom << '^' << power;
    stream << '+';
  }
  return text;
}

Polynomial NormalForm::intern(FormAtom atom) {
  std::string name = std::to_string(atom.kind) + atom.tag;
  for (const Polynomial &argument : atom.args)
    name += '(' + key(argument) + ')';
  for (RowId row : atom.rows)
    name += '[' + std::to_string(row) + ']';
  if (atom.kind == FormAtom::Power)
    name += '^' + ::str(atom.exponent);
  auto [entry, isNew] =
      atomKeys.try_emplace(name, static_cast<AtomId>(atoms.size()));
  if (isNew) {
    for (const Polynomial &argument : atom.args)
      atom.axes |= axesOf(argument);
    for (RowId row : atom.rows)
      atom.axes |= rows[row].axes;
    atomRanges.push_back(atom.range);
    atoms.push_back(std::move(atom));
  } else if (!atoms[entry->second].origin) {
    atoms[entry->second].origin = atom.origin;
  }
  return Polynomial::atom(entry->second);
}

RowId NormalForm::intern(FormRow row) {
  std::string name = std::to_string(row.kind) + row.tag;
  for (RowId operand : row.rows)
    name += '[' + std::to_string(operand) + ']';
  for (const Polynomial &argument : row.args)
    name += '(' + key(argument) + ')';
  auto [entry, isNew] =
      rowKeys.try_emplace(name, static_cast<RowId>(rows.size()));
  if (!isNew) {
    if (!rows[entry->second].origin)
      rows[entry->second].origin = row.origin;
    return entry->second;
  }
  for (RowId operand : row.rows)
    row.axes |= rows[operand].axes;
  for (const Polynomial &argument : row.args)
    row.axes |= axesOf(argument) & PairAxes;
  row.range = rangeOfRow(row);
  rows.push_back(std::move(row));
  return entry->second;
}

unsigned NormalForm::axesOf(const Monomial &monomial) const {
  unsigned axes = Uniform;
  for (auto [atom, power] : monomial)
    axes |= atoms[atom].axes;
  return axes;
}

unsigned NormalForm::axesOf(const Polynomial &p) const {
  unsigned axes = Uniform;
  for (const auto &term : p.terms())
    axes |= axesOf(term.first);
  return axes;
}

/// On positions, on input rows.
std::pair<bool, bool> NormalForm::dependencies(const Polynomial &p) const {
  std::pair<bool, bool> found;
  std::set<AtomId> seen;
  std::set<RowId> seenRows;
  std::vector<AtomId> work;
  std::vector<RowId> rowWork;
  auto visit = [&](const Polynomial &part) {
    for (const auto &term : part.terms())
      for (auto [id, power] : term.first)
        if (seen.insert(id).second)
          work.push_back(id);
  };
  auto visitRow = [&](RowId id) {
    if (seenRows.insert(id).second)
      rowWork.push_back(id);
  };
  visit(p);
  while (!work.empty() || !rowWork.empty()) {
    if (!work.empty()) {
      const FormAtom &atom = atoms[work.back()];
      work.pop_back();
      if (atom.kind == FormAtom::Leaf && (atom.tag == "i" || atom.tag == "j"))
        found.first = true;
      for (const Polynomial &argument : atom.args)
        visit(argument);
      for (RowId row : atom.rows)
        visitRow(row);
    } else {
      const FormRow &row = rows[rowWork.back()];
      rowWork.pop_back();
      found.second |= row.kind == FormRow::Input;
      for (const Polynomial &argument : row.args)
        visit(argument);
      for (RowId operand : row.rows)
        visitRow(operand);
    }
  }
  return found;
}

bool NormalForm::dependsOnPositions(const Polynomial &p) const {
  return dependencies(p).first;
}

bool NormalForm::dependsOnRows(const Polynomial &p) const {
  return dependencies(p).second;
}

/// 1 or -1 if p is a positive or negative multiple of i - j, and j <= i.
int NormalForm::orderOf(const Polynomial &p) {
  if (!ordered || p.terms().size() != 2)
    return 0;
  Polynomial distance = position(Position::I) - position(Position::J);
  Rational factor =
      p.terms().begin()->second / distance.terms().begin()->second;
  return (p - distance.scaled(factor)).isZero() ? factor.sign() : 0;
}

Value NormalForm::originOf(AtomId id) const {
  const FormAtom &atom = atoms[id];
  // A position stands where it was first written, in the mask perhaps.
  if (atom.origin && !atom.origin.getDefiningOp<IndexOp>())
    return atom.origin;
  for (RowId row : atom.rows)
    if (rows[row].origin)
      return rows[row].origin;
  if (id > 0) // arguments have smaller numbers
    for (const Polynomial &argument : atom.args)
      for (const auto &term : argument.terms())
        for (auto [inner, power] : term.first)
          if (Value found = inner < id ? originOf(inner) : Value())
            return found;
  return {};
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

Interval NormalForm::intervalOf(const Polynomial &p) {
  Interval sum = Interval::point(0);
  for (const auto &[monomial, coefficient] : p.terms()) {
    Interval term = Interval::point(1);
    for (auto [atom, power] : monomial)
      term = term * attn::power(atomRanges[atom], power);
    // Rounded outwards by a little more than the conversion is off.
    double c = toDouble(coefficient), error = std::fabs(c) * 1e-15;
    Interval factor = c == std::floor(c) && std::fabs(c) < 1e15
                          ? Interval::point(c)
                          : Interval::closed(c - error, c + error);
    sum = sum + term * factor;
  }
  return sum;
}

Interval NormalForm::rangeOf(const Polynomial &p) {
  Interval range = intervalOf(p);
  auto decided = [&] {
    return range.isPositive() || range.isNegative() || range.isPoint();
  };
  if (decided() || p.isLarge())
    return range;
  range = intersect(range, signOf(p, atomRanges));
  if (decided())
    return range;
  // dot = (|a|^2 + |b|^2 - r) / 2 with a squared distance r >= 0.
  for (AtomId id = 0; id < atoms.size(); ++id) {
    if (atoms[id].kind != FormAtom::Dot || p.degreeIn(id) == 0)
      continue;
    RowId a = atoms[id].rows[0], b = atoms[id].rows[1];
    Polynomial norms = normRow(a) + normRow(b);
    auto distance = static_cast<unsigned>(atoms.size());
    std::vector<Interval> withDistance = atomRanges;
    withDistance.push_back(Interval::atLeast(0));
    Polynomial instead =
        (norms - Polynomial::atom(distance)).scaled(Rational(1) / Rational(2));
    Polynomial other;
    std::vector<Polynomial> c = p.inPowersOf(id);
    for (size_t n = c.size(); n-- > 0 && !other.isLarge();)
      other = other * instead + c[n];
    if (other.isLarge())
      continue;
    range = intersect(range, signOf(other, withDistance));
    if (decided())
      break;
  }
  return range;
}

//===----------------------------------------------------------------------===//
// Products: exponentials and powers are collected
//===----------------------------------------------------------------------===//

Polynomial NormalForm::multiply(const Polynomial &a, const Polynomial &b) {
  budget -= static_cast<int64_t>(a.terms().size() * b.terms().size());
  return collected(a * b);
}

/// Whether two factors of a monomial should be one: exponentials of the same
/// sides, powers of the same base.
static bool needsCollection(const NormalForm &form, const Monomial &monomial) {
  unsigned exponentials = 0; // a bit for each set of sides
  for (auto [id, power] : monomial) {
    const FormAtom &atom = form.atom(id);
    if (atom.kind == FormAtom::Exp) {
      unsigned bit = 1U << atom.axes;
      if (power > 1 || (exponentials & bit))
        return true;
      exponentials |= bit;
    } else if (atom.kind == FormAtom::Power) {
      if (power > 1)
        return true;
      for (auto [other, otherPower] : monomial) {
        const FormAtom &b = form.atom(other);
        if (other != id && b.kind == FormAtom::Power &&
            (b.args[0] - atom.args[0]).isZero())
          return true;
        if ((atom.args[0] - Polynomial::atom(other)).isZero())
          return true;
      }
    }
  }
  return false;
}

Polynomial NormalForm::collected(const Polynomial &p) {
  bool clean = true;
  for (const auto &term : p.terms())
    clean &= !needsCollection(*this, term.first);
  if (clean || p.isLarge())
    return p;
  Polynomial sum;
  for (const auto &[monomial, coefficient] : p.terms()) {
    Polynomial product = Polynomial::constant(coefficient);
    if (!needsCollection(*this, monomial)) {
      for (auto [id, power] : monomial)
        for (unsigned n = 0; n < power; ++n)
          product = product * Polynomial::atom(id);
      sum = sum + product;
      continue;
    }
    std::map<unsigned, Polynomial> exponents;            // by sides
    std::vector<std::pair<Polynomial, Rational>> powers; // by base
    Monomial rest;
    auto addPower = [&](const Polynomial &base, const Rational &exponent) {
      for (auto &[known, total] : powers)
        if ((known - base).isZero()) {
          total = total + exponent;
          return;
        }
      powers.push_back({base, exponent});
    };
    for (auto [id, power] : monomial) {
      const FormAtom &atom = atoms[id];
      if (atom.kind == FormAtom::Exp)
        exponents[atom.axes] =
            exponents[atom.axes] + atom.args[0].scaled(Rational(power));
      else if (atom.kind == FormAtom::Power)
        addPower(atom.args[0], atom.exponent * Rational(power));
      else
        rest.push_back({id, power});
    }
    for (auto [id, power] : rest) {
      bool shared = false;
      for (auto &entry : powers)
        if ((entry.first - Polynomial::atom(id)).isZero()) {
          entry.second = entry.second + Rational(power);
          shared = true;
        }
      for (unsigned n = 0; !shared && n < power; ++n)
        product = product * Polynomial::atom(id);
    }
    // Each is one factor of a monomial, or a polynomial with none of these.
    for (auto &[axes, exponent] : exponents)
      product = product * exp(exponent);
    for (auto &[base, exponent] : powers)
      product = product * power(base, exponent);
    sum = sum + product;
  }
  return sum;
}
