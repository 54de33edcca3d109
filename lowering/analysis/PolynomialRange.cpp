//===- PolynomialRange.cpp - the sign of sums and products ----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/PolynomialRange.h"

#include "lowering/analysis/Polynomial.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

static bool isPolynomialOp(Operation *op) {
  return isa_and_nonnull<arith::AddFOp, arith::SubFOp, arith::MulFOp,
                         arith::DivFOp, arith::NegFOp, math::FPowIOp>(op);
}

bool attn::isWholePolynomial(Value value) {
  return isPolynomialOp(value.getDefiningOp()) &&
         llvm::any_of(value.getUses(), [](OpOperand &use) {
           Operation *user = use.getOwner();
           return !isPolynomialOp(user) ||
                  (isa<arith::DivFOp>(user) && use.getOperandNumber() == 1);
         });
}

namespace {
/// Expands values into polynomials. Recursion is bounded by the budget: larger
/// expressions keep their deep parts as atoms.
class Expansion {
public:
  Expansion(ValueRangeAnalysis &ranges, int budget)
      : ranges(ranges), budget(budget) {}

  Polynomial expand(Value value);
  std::vector<Interval> atomRanges;
  int unused() const { return std::max(budget, 0); }
  /// The polynomial with one atom replaced by what it equals, for every
  /// identity |a - b|^2 = |a|^2 + |b|^2 - 2 a.b among the atoms.
  std::vector<Polynomial> rewritten(const Polynomial &p);

private:
  Polynomial expandOp(Operation *op);
  unsigned atomOf(Value value, bool inverse);

  ValueRangeAnalysis &ranges;
  llvm::DenseMap<Value, Polynomial> known;
  llvm::DenseMap<std::pair<Value, unsigned>, unsigned> atoms;
  int budget;
};
} // namespace

unsigned Expansion::atomOf(Value value, bool inverse) {
  auto [atom, isNew] = atoms.try_emplace(
      {value, inverse}, static_cast<unsigned>(atomRanges.size()));
  if (isNew) {
    Interval range = ranges.scalar(value);
    atomRanges.push_back(inverse ? Interval::point(1) / range : range);
  }
  return atom->second;
}

Polynomial Expansion::expand(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  bool opens =
      isPolynomialOp(op) ||
      isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp,
                      arith::SIToFPOp, arith::IndexCastOp, arith::ConstantOp>(
          op);
  Polynomial result;
  if (opens && --budget > 0)
    result = expandOp(op);
  else
    result = Polynomial::atom(atomOf(value, false));
  if (result.isLarge())
    result = Polynomial::atom(atomOf(value, false));
  known.try_emplace(value, result);
  return result;
}

Polynomial Expansion::expandOp(Operation *op) {
  auto in = [&](unsigned n) { return expand(op->getOperand(n)); };
  auto self = [&] { return Polynomial::atom(atomOf(op->getResult(0), false)); };
  auto exact = [&](Value value) -> std::optional<Rational> {
    Interval range = ranges.scalar(value);
    return range.isPoint() ? Rational::fromDouble(range.lo) : std::nullopt;
  };
  return llvm::TypeSwitch<Operation *, Polynomial>(op)
      .Case([&](arith::ConstantOp constant) {
        std::optional<Rational> value = exact(constant);
        return value ? Polynomial::constant(*value) : self();
      })
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return in(0) + in(1); })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return in(0) - in(1); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return in(0) * in(1); })
      .Case([&](arith::NegFOp) { return in(0).scaled(Rational(-1)); })
      .Case([&](arith::DivFOp) {
        std::optional<Rational> divisor = exact(op->getOperand(1));
        if (divisor && divisor->sign() != 0)
          return in(0).scaled(Rational(1) / *divisor);
        return in(0) * Polynomial::atom(atomOf(op->getOperand(1), true));
      })
      .Case([&](math::FPowIOp) {
        constexpr double highest = 16;
        Interval n = ranges.scalar(op->getOperand(1));
        if (!n.isPoint() || n.lo < 1 || n.lo > highest)
          return self();
        Polynomial base = in(0), result = base;
        for (int k = 1; k < static_cast<int>(n.lo) && !result.isLarge(); ++k)
          result = result * base;
        return result;
      })
      .Default([&](Operation *) { return in(0); }); // conversions of integers
}

/// p with `atom` replaced by q.
static Polynomial substituted(const Polynomial &p, unsigned atom,
                              const Polynomial &q) {
  Polynomial result;
  std::vector<Polynomial> c = p.inPowersOf(atom);
  for (size_t n = c.size(); n-- > 0;) {
    result = result * q + c[n];
    if (result.isLarge())
      return p;
  }
  return result;
}

std::vector<Polynomial> Expansion::rewritten(const Polynomial &p) {
  llvm::DenseMap<Value, unsigned> squares; // rows to atoms |x|^2
  SmallVector<std::pair<Operation *, unsigned>> pairs;
  for (auto [key, atom] : atoms) {
    Operation *op = key.first.getDefiningOp();
    if (key.second || !isa_and_nonnull<DotOp, SqDistOp, SqNormOp>(op))
      continue;
    if (isa<SqNormOp>(op) || op->getOperand(0) == op->getOperand(1))
      squares[op->getOperand(0)] = atom;
    else
      pairs.push_back({op, atom});
  }
  std::vector<Polynomial> result;
  for (auto [op, atom] : pairs) {
    auto a = squares.find(op->getOperand(0)),
         b = squares.find(op->getOperand(1));
    if (a == squares.end() || b == squares.end())
      continue;
    Polynomial norms =
        Polynomial::atom(a->second) + Polynomial::atom(b->second);
    unsigned other = atomRanges.size();
    for (auto [partner, partnerAtom] : pairs)
      if (partner != op && isa<DotOp>(partner) != isa<DotOp>(op) &&
          ((partner->getOperand(0) == op->getOperand(0) &&
            partner->getOperand(1) == op->getOperand(1)) ||
           (partner->getOperand(1) == op->getOperand(0) &&
            partner->getOperand(0) == op->getOperand(1))))
        other = partnerAtom;
    if (other == atomRanges.size())
      atomRanges.push_back(isa<DotOp>(op) ? Interval::atLeast(0)
                                          : Interval::all());
    Polynomial partner = Polynomial::atom(other);
    Rational half = Rational(1) / Rational(2);
    result.push_back(substituted(p, atom,
                                 isa<DotOp>(op)
                                     ? (norms - partner).scaled(half)
                                     : norms - partner.scaled(Rational(2))));
  }
  return result;
}

Interval attn::polynomialSign(ValueRange terms, ValueRangeAnalysis &ranges,
                              int &budget) {
  constexpr int largest = 256; // also bounds the recursion
  int allowed = std::min(budget, largest);
  Expansion expansion(ranges, allowed);
  Polynomial p;
  for (Value term : terms)
    p = p + expansion.expand(term);
  budget -= allowed - expansion.unused();
  if (p.isLarge())
    return Interval::all();
  Interval sign = signOf(p, expansion.atomRanges);
  auto decided = [&] { return sign.isNonNegative() || sign.isNonPositive(); };
  if (!decided())
    for (const Polynomial &other : expansion.rewritten(p)) {
      sign = signOf(other, expansion.atomRanges);
      if (decided())
        break;
    }
  return sign;
}
