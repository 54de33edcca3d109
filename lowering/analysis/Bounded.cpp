//===- Bounded.cpp - an upper bound for rows of bounded norm --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Bounded.h"

#include "lowering/analysis/Mercer.h"

using namespace mlir;
using namespace attn;

using Monomial = Polynomial::Monomial;
using Bound = std::optional<Polynomial>;

namespace {
/// Bounds from above by the triangle inequality, Cauchy and Schwarz, and what
/// is monotone. All results are >= 0 but those of `upper` and `lower`.
class Bounds {
public:
  explicit Bounds(NormalForm &form) : form(form), radius(form.symbol("R")) {}

  Bound magnitude(const Polynomial &p, int depth);
  Bound upper(const Polynomial &p, int depth);

private:
  Bound lower(const Polynomial &p, int depth);
  Bound atom(AtomId id, int depth);
  Bound norm(RowId id, int depth);
  Bound bodyOver(const Polynomial &body, const Bound &length, RowId row,
                 int depth);
  Polynomial absolute(const Polynomial &p) {
    Interval range = form.rangeOf(p);
    if (range.isNonNegative())
      return p;
    if (range.isNonPositive())
      return p.scaled(Rational(-1));
    return form.power(form.multiply(p, p), Rational(1) / Rational(2));
  }
  Polynomial root(const Polynomial &p) {
    return form.power(p, Rational(1) / Rational(2));
  }

  NormalForm &form;
  Polynomial radius;
};
} // namespace

Bound Bounds::magnitude(const Polynomial &p, int depth) {
  Polynomial sum;
  for (const auto &[monomial, coefficient] : p.terms()) {
    Polynomial product = Polynomial::constant(
        coefficient.sign() < 0 ? -coefficient : coefficient);
    Polynomial exponent;
    for (auto [id, power] : monomial) {
      const FormAtom atom = form.atom(id);
      if (atom.kind == FormAtom::Exp) { // all sides at once
        exponent = exponent + atom.args[0].scaled(Rational(power));
        continue;
      }
      Bound factor = this->atom(id, depth);
      if (!factor)
        return std::nullopt;
      product = form.multiply(product, form.power(*factor, int64_t(power)));
    }
    if (!exponent.isZero()) {
      Bound top = upper(exponent, depth - 1);
      if (!top)
        return std::nullopt;
      product = form.multiply(product, form.exp(*top));
    }
    sum = sum + product;
  }
  return sum.isLarge() ? std::nullopt : Bound(sum);
}

Bound Bounds::upper(const Polynomial &p, int depth) {
  if (depth <= 0)
    return std::nullopt;
  if (std::optional<DistanceForm> distance = asDistance(form, p))
    if (form.rangeOf(distance->factor).isNonPositive())
      return upper(distance->constant, depth - 1);
  Polynomial sum;
  for (const auto &[monomial, coefficient] : p.terms()) {
    Polynomial term = asPolynomial(monomial).scaled(coefficient);
    if (form.axesOf(monomial) == Uniform) {
      sum = sum + term;
      continue;
    }
    if (form.rangeOf(term).isNonPositive())
      continue;
    Bound bound = magnitude(term, depth - 1);
    if (!bound)
      return std::nullopt;
    sum = sum + *bound;
  }
  return sum;
}

Bound Bounds::lower(const Polynomial &p, int depth) {
  if (std::optional<DistanceForm> distance = asDistance(form, p))
    if (form.rangeOf(distance->factor).isNonNegative())
      return distance->constant;
  Bound negated = upper(p.scaled(Rational(-1)), depth);
  return negated ? Bound(negated->scaled(Rational(-1))) : std::nullopt;
}

Bound Bounds::atom(AtomId id, int depth) {
  const FormAtom atom = form.atom(id);
  Polynomial self = Polynomial::atom(id);
  if (atom.axes == Uniform)
    return absolute(self);
  if (depth <= 0)
    return std::nullopt;
  switch (atom.kind) {
  case FormAtom::Dot: {
    Bound a = norm(atom.rows[0], depth - 1), b = norm(atom.rows[1], depth - 1);
    return a && b ? Bound(form.multiply(*a, *b)) : std::nullopt;
  }
  case FormAtom::Norm: {
    Bound a = norm(atom.rows[0], depth - 1);
    return a ? Bound(form.multiply(*a, *a)) : std::nullopt;
  }
  case FormAtom::Exp: {
    Bound top = upper(atom.args[0], depth - 1);
    return top ? Bound(form.exp(*top)) : std::nullopt;
  }
  case FormAtom::Power: {
    if (atom.exponent.sign() > 0) {
      Bound base = magnitude(atom.args[0], depth - 1);
      return base ? Bound(form.power(*base, atom.exponent)) : std::nullopt;
    }
    Bound base = lower(atom.args[0], depth - 1);
    if (base && form.rangeOf(*base).isPositive())
      return form.power(*base, atom.exponent);
    break;
  }
  case FormAtom::Function:
    if (atom.tag == "tanh" || atom.tag == "cos" || atom.tag == "sin")
      return NormalForm::number(1);
    if (atom.tag == "relu")
      return magnitude(atom.args[0], depth - 1);
    break;
  default:
    break;
  }
  double largest = std::max(-atom.range.lo, atom.range.hi);
  std::optional<Rational> number = Rational::fromDouble(largest);
  return number ? Bound(Polynomial::constant(*number)) : std::nullopt;
}

/// |f(x)| over a row: by a + b |x|, so |f| <= a sqrt(D) + b |x|.
Bound Bounds::bodyOver(const Polynomial &body, const Bound &length, RowId row,
                       int depth) {
  Polynomial constant, slope;
  for (const auto &[monomial, coefficient] : body.terms()) {
    Polynomial factor = Polynomial::constant(
        coefficient.sign() < 0 ? -coefficient : coefficient);
    bool grows = false;
    for (auto [id, power] : monomial) {
      const FormAtom atom = form.atom(id);
      bool coordinate = atom.axes & kCoordinateAxis;
      if (!coordinate) {
        Bound outside = this->atom(id, depth - 1);
        if (!outside)
          return std::nullopt;
        factor = form.multiply(factor, form.power(*outside, int64_t(power)));
        continue;
      }
      auto isCoordinate = [&](const Polynomial &p) {
        if (p.terms().size() != 1)
          return false;
        const Monomial &inner = p.terms().begin()->first;
        return inner.size() == 1 && inner[0].second == 1 &&
               form.atom(inner[0].first).kind == FormAtom::Leaf &&
               p.terms().begin()->second == Rational(1);
      };
      bool linear = isCoordinate(Polynomial::atom(id)) ||
                    (atom.tag == "relu" && isCoordinate(atom.args[0]));
      if (linear && power == 1 && !grows) {
        grows = true;
        continue;
      }
      // exp(min(x, 0)), tanh and their like.
      bool minimum = false;
      if (atom.kind == FormAtom::Exp && atom.args[0].terms().size() == 2)
        for (const auto &term : atom.args[0].terms())
          if (term.second == Rational(-1) && term.first.size() == 1 &&
              form.atom(term.first[0].first).tag == "relu")
            minimum |= (atom.args[0] + asPolynomial(term.first) -
                        form.atom(term.first[0].first).args[0])
                           .isZero();
      bool small =
          minimum ||
          (atom.kind == FormAtom::Function &&
           (atom.tag == "tanh" || atom.tag == "cos" || atom.tag == "sin"));
      bool exponential =
          atom.kind == FormAtom::Exp && isCoordinate(atom.args[0]);
      if (exponential)
        factor = form.multiply(
            factor, form.exp(radius.scaled(Rational(int64_t(power)))));
      else if (!small)
        return std::nullopt;
    }
    (grows ? slope : constant) = (grows ? slope : constant) + factor;
  }
  Polynomial result;
  if (!slope.isZero()) {
    Bound inner = norm(row, depth - 1);
    if (!inner)
      return std::nullopt;
    result = form.multiply(slope, *inner);
  }
  if (constant.isZero())
    return result;
  if (!length)
    return std::nullopt;
  return result + form.multiply(constant, root(*length));
}

/// A bound of |x|.
Bound Bounds::norm(RowId id, int depth) {
  const FormRow row = form.row(id);
  if (depth <= 0)
    return std::nullopt;
  double finite = row.range.sqnorm.hi;
  if (finite < Interval::kInfinity)
    if (std::optional<Rational> number = Rational::fromDouble(finite))
      return root(Polynomial::constant(*number));
  Bound length;
  if (!ShapedType::isDynamic(row.length))
    length = NormalForm::number(row.length);
  switch (row.kind) {
  case FormRow::Input:
    return radius;
  case FormRow::Unit:
    return NormalForm::number(1);
  case FormRow::Rope:
    return norm(row.rows[0], depth - 1);
  case FormRow::Scaled: {
    Bound factor = magnitude(row.args[0], depth - 1),
          inner = norm(row.rows[0], depth - 1);
    return factor && inner ? Bound(form.multiply(*factor, *inner))
                           : std::nullopt;
  }
  case FormRow::Map:
    return row.rows.size() == 1
               ? bodyOver(row.args[0], length, row.rows[0], depth)
               : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<Polynomial> attn::boundOf(NormalForm &form) {
  constexpr int depth = 16;
  return Bounds(form).magnitude(form.kappa(), depth);
}
