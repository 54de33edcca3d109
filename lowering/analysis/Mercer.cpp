//===- Mercer.cpp - positive semi-definite kernels ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Mercer.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace attn;

using Monomial = Polynomial::Monomial;

/// Nested deeper, a kernel stays unproven.
static constexpr int kDepth = 24;

Polynomial attn::asPolynomial(const Monomial &monomial) {
  Polynomial product = NormalForm::number(1);
  for (auto [id, power] : monomial)
    for (unsigned n = 0; n < power; ++n)
      product = product * Polynomial::atom(id);
  return product;
}

std::vector<PairGroup> attn::pairGroups(const NormalForm &form,
                                        const Polynomial &p) {
  std::map<Monomial, PairGroup> groups;
  for (const auto &[monomial, coefficient] : p.terms()) {
    Monomial none, query, key, pair;
    for (auto factor : monomial) {
      unsigned axes = form.atom(factor.first).axes & PairAxes;
      (axes == Uniform     ? none
       : axes == QueryAxis ? query
       : axes == KeyAxis   ? key
                           : pair)
          .push_back(factor);
    }
    PairGroup &group = groups[pair];
    group.pair = pair;
    Polynomial &entry = group.entries[{query, key}];
    entry = entry + asPolynomial(none).scaled(coefficient);
  }
  std::vector<PairGroup> list;
  for (auto &[pair, group] : groups)
    list.push_back(std::move(group));
  return list;
}

void Mercer::say(const std::string &step) {
  if (std::find(steps.begin(), steps.end(), step) == steps.end())
    steps.push_back(step);
}

bool Mercer::fail(const std::string &why, Value where) {
  if (obstacle.empty()) {
    obstacle = why;
    culprit = where;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Sums of products
//===----------------------------------------------------------------------===//

std::optional<Mercer::SideForm> Mercer::sideForm(const PairGroup &group) {
  SideForm result;
  auto place = [&](const Monomial &function) {
    for (size_t n = 0; n < result.basis.size(); ++n)
      if (result.basis[n] == function)
        return n;
    result.basis.push_back(function);
    for (auto &row : result.matrix)
      row.emplace_back();
    result.matrix.emplace_back(result.basis.size());
    return result.basis.size() - 1;
  };
  for (const auto &[sides, coefficient] : group.entries) {
    Polynomial image = form.mirrored(asPolynomial(sides.second));
    if (image.terms().size() != 1 || (form.axesOf(image) & PairAxes) == KeyAxis)
      return std::nullopt;
    const auto &[key, factor] = *image.terms().begin();
    size_t a = place(sides.first), b = place(key);
    result.matrix[a][b] = result.matrix[a][b] + coefficient.scaled(factor);
  }
  for (size_t a = 0; a < result.basis.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if (!(result.matrix[a][b] - result.matrix[b][a]).isZero())
        return std::nullopt;
  return result;
}

/// By Schur complements, for all values of the parameters.
bool Mercer::isMatrixPsd(const std::vector<std::vector<Polynomial>> &matrix) {
  constexpr size_t largest = 6;
  size_t n = matrix.size(), pivot = n;
  if (n == 0)
    return true;
  if (n > largest)
    return false;
  for (size_t d = 0; d < n; ++d) {
    if (!form.rangeOf(matrix[d][d]).isNonNegative())
      return false;
    if (pivot == n || form.rangeOf(matrix[d][d]).isPositive())
      pivot = d;
  }
  const Polynomial &head = matrix[pivot][pivot];
  std::vector<std::vector<Polynomial>> rest, complement;
  bool coupled = false;
  for (size_t a = 0; a < n; ++a) {
    if (a == pivot)
      continue;
    rest.emplace_back();
    complement.emplace_back();
    coupled |= !matrix[a][pivot].isZero();
    for (size_t b = 0; b < n; ++b) {
      if (b == pivot)
        continue;
      rest.back().push_back(matrix[a][b]);
      complement.back().push_back(
          form.multiply(head, matrix[a][b]) -
          form.multiply(matrix[a][pivot], matrix[pivot][b]));
      if (complement.back().back().isLarge())
        return false;
    }
  }
  if (!coupled)
    return isMatrixPsd(rest);
  // Where the pivot may be 0 its row must vanish with it, which the complement
  // says, and the rest must do alone.
  return isMatrixPsd(complement) &&
         (form.rangeOf(head).isPositive() || isMatrixPsd(rest));
}

bool Mercer::isGroupPsd(const PairGroup &group) {
  std::optional<SideForm> sides = sideForm(group);
  Polynomial pair = asPolynomial(group.pair);
  if (!sides) {
    const auto &entry = group.entries.begin()->first;
    AtomId blamed = !entry.second.empty()  ? entry.second[0].first
                    : !entry.first.empty() ? entry.first[0].first
                                           : 0;
    return fail("functions of q and of k are no mirror images of each other",
                form.originOf(blamed));
  }
  if (!isMatrixPsd(sides->matrix)) {
    if (sides->matrix.size() != 1)
      return fail("the form " +
                      (group.pair.empty() ? std::string("of one side each")
                                          : "before " + form.str(pair)) +
                      " is not proven positive semi-definite",
                  group.pair.empty() ? Value()
                                     : form.originOf(group.pair[0].first));
    const Polynomial &c = sides->matrix[0][0];
    Polynomial term = form.multiply(asPolynomial(sides->basis[0]), pair);
    return fail("the coefficient of " + form.str(term) + " is " + form.str(c) +
                    ", not proven >= 0",
                group.pair.empty() ? Value()
                                   : form.originOf(group.pair[0].first));
  }
  for (auto [id, power] : group.pair)
    if (!isAtomPsd(id))
      return false;
  return true;
}

bool Mercer::isPsd(const Polynomial &p) {
  if (p.isZero())
    return true;
  if (depth >= kDepth || p.isLarge())
    return fail("too deep or too large to look into", {});
  auto [memo, isNew] = known.try_emplace(form.key(p), false);
  if (!isNew)
    return memo->second;
  ++depth;
  llvm::scope_exit restore([&] { --depth; });

  std::vector<PairGroup> groups = pairGroups(form, p);
  std::vector<bool> done(groups.size());
  size_t before = steps.size();
  std::string oldObstacle = obstacle;
  Value oldCulprit = culprit;
  for (size_t n = 0; n < groups.size(); ++n)
    if (isGroupPsd(groups[n]))
      done[n] = true;
  bool bySeries = false;
  for (size_t n = 0; n < groups.size(); ++n) {
    if (done[n])
      continue;
    if (!isSeriesPsd(groups, n, done)) {
      steps.resize(before);
      return false;
    }
    bySeries = true;
  }
  obstacle = oldObstacle; // saved by the series
  culprit = oldCulprit;
  Polynomial parameters;
  for (const PairGroup &group : groups)
    for (const auto &entry : group.entries)
      parameters = parameters + entry.second;
  size_t terms = p.terms().size(), factors = 0;
  for (const auto &term : p.terms())
    factors += term.first.size();
  std::string assumed = form.assumptions(parameters);
  if (terms > 1)
    say("a sum with coefficients >= 0" +
        std::string(bySeries ? " or of a power series" : "") +
        (factors > terms ? ", of products (Schur): " : ": ") + form.str(p) +
        assumed);
  else if (factors > 1)
    say("a product (Schur): " + form.str(p) + assumed);
  else if (factors == 0)
    say("a constant >= 0: " + form.str(p) + assumed);
  return known[form.key(p)] = true;
}

//===----------------------------------------------------------------------===//
// Power series
//===----------------------------------------------------------------------===//

/// c exp(t) + d exp(-t) + a polynomial in s, with t = l s: its n-th coefficient
/// in s is (c + (-1)^n d) l^n / n! and the polynomial's.
bool Mercer::isSeriesPsd(const std::vector<PairGroup> &groups, size_t failed,
                         std::vector<bool> &done) {
  // What stands beside the powers and exponentials of one dot.
  struct Part {
    std::optional<AtomId> dot;
    unsigned power = 0;
    Polynomial rate; ///< of the exponential, in the dot
    Monomial beside;
  };
  auto partOf = [&](const PairGroup &group) -> std::optional<Part> {
    Part part;
    for (auto [id, power] : group.pair) {
      const FormAtom &atom = form.atom(id);
      std::optional<AtomId> dot;
      Polynomial rate;
      if (atom.kind == FormAtom::Dot)
        dot = id;
      if (atom.kind == FormAtom::Exp && atom.args[0].terms().size() == 1)
        for (auto [inner, innerPower] : atom.args[0].terms().begin()->first)
          if (form.atom(inner).kind == FormAtom::Dot && innerPower == 1 &&
              form.axesOf(atom.args[0].inPowersOf(inner)[1]) == Uniform) {
            dot = inner;
            rate = atom.args[0].inPowersOf(inner)[1];
          }
      if (!dot) {
        part.beside.push_back({id, power});
        continue;
      }
      if (part.dot && *part.dot != *dot)
        return std::nullopt;
      part.dot = dot;
      part.power += atom.kind == FormAtom::Dot ? power : 0;
      part.rate = part.rate + rate;
    }
    return part;
  };
  std::optional<Part> first = partOf(groups[failed]);
  if (!first || !first->dot || groups[failed].entries.size() != 1 ||
      !isAtomPsd(*first->dot))
    return false;
  const auto &sides = groups[failed].entries.begin()->first;

  std::vector<Polynomial> powers;                              // of the dot
  std::vector<std::pair<Polynomial, Polynomial>> exponentials; // rate, factor
  std::vector<size_t> members;
  for (size_t n = 0; n < groups.size(); ++n) {
    std::optional<Part> part = partOf(groups[n]);
    if (!part || part->beside != first->beside ||
        groups[n].entries.size() != 1 ||
        groups[n].entries.begin()->first != sides ||
        (part->dot && *part->dot != *first->dot) ||
        (part->power > 0 && !part->rate.isZero()))
      continue;
    members.push_back(n);
    const Polynomial &c = groups[n].entries.begin()->second;
    if (part->rate.isZero()) {
      powers.resize(std::max<size_t>(powers.size(), part->power + 1));
      powers[part->power] = c;
    } else {
      exponentials.push_back({part->rate, c});
    }
  }
  if (std::find(members.begin(), members.end(), failed) == members.end() ||
      exponentials.empty() || exponentials.size() > 2)
    return false;
  Polynomial rate = exponentials[0].first, plus = exponentials[0].second, minus;
  if (exponentials.size() == 2) {
    minus = exponentials[1].second;
    if (!(exponentials[1].first + rate).isZero())
      return false;
    if (!form.rangeOf(rate).isNonNegative()) {
      rate = rate.scaled(Rational(-1));
      std::swap(plus, minus);
    }
  }
  Polynomial even = plus + minus, odd = plus - minus;
  bool signless = odd.isZero(); // only even powers: the rate's sign drops out
  if (!signless && !form.rangeOf(rate).isNonNegative())
    return false;
  if (!form.rangeOf(even).isNonNegative() || !form.rangeOf(odd).isNonNegative())
    return false;
  Polynomial term = NormalForm::number(1);
  for (size_t n = 0; n < powers.size(); ++n) {
    Polynomial c = form.multiply(term, n % 2 == 0 ? even : odd) + powers[n];
    if (!form.rangeOf(c).isNonNegative())
      return false;
    term = form.multiply(term, rate)
               .scaled(Rational(1) / Rational(static_cast<int64_t>(n + 1)));
  }
  // The factors beside the series, and the sides, must do on their own.
  PairGroup rest;
  rest.pair = first->beside;
  rest.entries[sides] = NormalForm::number(1);
  if (!isGroupPsd(rest))
    return false;
  Polynomial sum;
  for (size_t n : members) {
    done[n] = true;
    sum = sum + form.multiply(groups[n].entries.begin()->second,
                              asPolynomial(groups[n].pair));
  }
  say("a power series in " + form.str(Polynomial::atom(*first->dot)) +
      " with coefficients >= 0 (Schoenberg 1942): " + form.str(sum) +
      form.assumptions(rate));
  return true;
}
