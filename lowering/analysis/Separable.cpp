//===- Separable.cpp - kernels of finite rank and their feature maps ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Separable.h"

#include <cmath>

using namespace mlir;
using namespace attn;

using Monomial = Polynomial::Monomial;

namespace {
/// The rank while it is counted: a polynomial in D, and its value.
class Rank {
public:
  explicit Rank(const NormalForm &form) : form(form) {}

  void add(const FeatureMap &map, FeatureBlock &block);
  std::string formula() const;
  int64_t value() const {
    constexpr double exact = 9007199254740992.0;
    return known && total <= exact ? static_cast<int64_t>(total) : 0;
  }

private:
  /// Whether a row is as long as q stands in kappa.
  bool isPlain(RowId id) const;

  const NormalForm &form;
  Polynomial sum; ///< atom 0: D; atom 1: a length without a name
  double total = 0;
  bool known = true;
};
} // namespace

bool Rank::isPlain(RowId id) const {
  for (;;) {
    const FormRow &row = form.row(id);
    if (row.kind == FormRow::Input)
      return true;
    bool same = row.kind == FormRow::Map || row.kind == FormRow::Unit ||
                row.kind == FormRow::Scaled || row.kind == FormRow::Rope;
    if (!same || row.rows.size() != 1)
      return false;
    id = row.rows[0];
  }
}

/// binom(n + d - 1, d) channels for every degree.
void Rank::add(const FeatureMap &map, FeatureBlock &block) {
  Polynomial channels = NormalForm::number(1);
  double count = 1;
  bool countable = true;
  for (auto [pair, degree] : llvm::zip(map.rows, block.degrees)) {
    if (degree == 0)
      continue;
    int64_t length = form.row(pair.first).length;
    if (ShapedType::isDynamic(length))
      length = form.row(pair.second).length;
    countable &= !ShapedType::isDynamic(length);
    Polynomial n = isPlain(pair.first) || isPlain(pair.second)
                       ? Polynomial::atom(0)
                   : ShapedType::isDynamic(length) ? Polynomial::atom(1)
                                                   : NormalForm::number(length);
    for (unsigned t = 0; t < degree; ++t) {
      channels = (channels * (n + NormalForm::number(t)))
                     .scaled(Rational(1) / Rational(int64_t(t) + 1));
      count = count * (static_cast<double>(length) + t) / (t + 1);
    }
  }
  sum = sum + channels;
  block.channels =
      countable && count < 9e15 ? static_cast<int64_t>(std::llround(count)) : 0;
  total += std::round(count);
  known &= countable;
}

std::string Rank::formula() const {
  llvm::DynamicAPInt denominator(1);
  for (const auto &term : sum.terms())
    denominator = lcm(denominator, term.second.denominator());
  Polynomial whole = sum.scaled(Rational(denominator, llvm::DynamicAPInt(1)));
  std::vector<std::pair<Monomial, Rational>> terms(whole.terms().begin(),
                                                   whole.terms().end());
  std::sort(terms.begin(), terms.end(), [](const auto &a, const auto &b) {
    auto degree = [](const Monomial &m) {
      unsigned sum = 0;
      for (auto factor : m)
        sum += factor.second;
      return sum;
    };
    return degree(a.first) > degree(b.first);
  });
  std::string text;
  for (const auto &[monomial, coefficient] : terms) {
    std::string one;
    for (auto [atom, power] : monomial)
      one += (one.empty() ? "" : "*") + std::string(atom == 0 ? "D" : "n") +
             (power > 1 ? "^" + std::to_string(power) : "");
    if (one.empty() || !(coefficient == Rational(1)))
      one = str(coefficient) + (one.empty() ? "" : "*" + one);
    text += (text.empty() ? "" : " + ") + one;
  }
  if (denominator == 1)
    return text;
  return "(" + text + ")/" + str(Rational(denominator, llvm::DynamicAPInt(1)));
}

//===----------------------------------------------------------------------===//
// Decay
//===----------------------------------------------------------------------===//

/// The part of the exponents of a monomial that depends on positions alone.
static Polynomial positionExponent(NormalForm &form, const Monomial &monomial) {
  Polynomial result;
  for (auto [id, power] : monomial) {
    const FormAtom atom = form.atom(id);
    if (atom.kind != FormAtom::Exp)
      continue;
    for (const auto &[term, coefficient] : atom.args[0].terms()) {
      Polynomial p = asPolynomial(term).scaled(coefficient);
      if (form.dependsOnPositions(p) && !form.dependsOnRows(p))
        result = result + p;
    }
  }
  return result;
}

/// e where every term has the factors exp(e(i)) and exp(-e(j)).
static Polynomial commonDecay(NormalForm &form,
                              const std::vector<PairGroup> &groups) {
  std::optional<Polynomial> common;
  for (const PairGroup &group : groups)
    for (const auto &entry : group.entries) {
      Polynomial query = positionExponent(form, entry.first.first);
      Polynomial key = positionExponent(form, entry.first.second);
      if (!(form.mirrored(query) + key).isZero() ||
          (common && !(*common - query).isZero()))
        return {};
      common = query;
    }
  return common.value_or(Polynomial());
}

//===----------------------------------------------------------------------===//
// The map
//===----------------------------------------------------------------------===//

/// The blocks of one product of dots: sum_ab M_ab u_a(q) w_b(k) with as few
/// products as rows or columns of M, or one where M is of rank one.
static void addBlocks(NormalForm &form, const PairGroup &group,
                      const std::vector<unsigned> &degrees,
                      std::vector<FeatureBlock> &blocks) {
  std::map<Monomial, Polynomial> byQuery, byKey;
  for (const auto &[sides, coefficient] : group.entries) {
    auto &query = byQuery[sides.first];
    query = query + form.multiply(coefficient, asPolynomial(sides.second));
    auto &key = byKey[sides.second];
    key = key + form.multiply(coefficient, asPolynomial(sides.first));
  }
  // Of rank one if all rows are multiples of the first.
  const auto &first = *group.entries.begin();
  // (divided by M_11, so that must be a number unless one row is all).
  bool rankOne = byQuery.size() == 1 || byKey.size() == 1 ||
                 (first.second.terms().size() == 1 &&
                  first.second.terms().begin()->first.empty());
  auto at = [&](const Monomial &a, const Monomial &b) {
    auto found = group.entries.find({a, b});
    return found == group.entries.end() ? Polynomial() : found->second;
  };
  for (const auto &row : byQuery)
    for (const auto &column : byKey)
      rankOne &= (form.multiply(at(row.first, column.first), first.second) -
                  form.multiply(at(row.first, first.first.second),
                                at(first.first.first, column.first)))
                     .isZero();
  if (rankOne) {
    FeatureBlock block;
    if (byKey.size() == 1) {
      block.query = byKey[first.first.second];
      block.key = asPolynomial(first.first.second);
    } else if (byQuery.size() == 1) {
      block.query = asPolynomial(first.first.first);
      block.key = byQuery[first.first.first];
    } else { // M = x y' / M_11 with x a column and y a row
      block.query = byKey[first.first.second].scaled(
          Rational(1) / first.second.terms().begin()->second);
      block.key = byQuery[first.first.first];
    }
    block.degrees = degrees;
    blocks.push_back(std::move(block));
    return;
  }
  bool perQuery = byQuery.size() <= byKey.size();
  for (const auto &[side, other] : perQuery ? byQuery : byKey) {
    FeatureBlock block;
    block.query = perQuery ? asPolynomial(side) : other;
    block.key = perQuery ? other : asPolynomial(side);
    block.degrees = degrees;
    blocks.push_back(std::move(block));
  }
}

SeparableVerdict attn::deriveFeatures(NormalForm &form) {
  SeparableVerdict verdict;
  const Polynomial &kappa = form.kappa();
  FeatureMap map;
  std::vector<PairGroup> groups = pairGroups(form, kappa);
  std::map<AtomId, size_t> dots;
  for (const PairGroup &group : groups)
    for (auto [id, power] : group.pair) {
      const FormAtom &atom = form.atom(id);
      bool splits = atom.kind == FormAtom::Dot &&
                    form.row(atom.rows[0]).axes == QueryAxis &&
                    form.row(atom.rows[1]).axes == KeyAxis;
      if (!splits) {
        verdict.reasons = {form.str(Polynomial::atom(id)) +
                           " is no finite sum of products of one side each, "
                           "as far as the rules see"};
        verdict.culprit = form.originOf(id);
        return verdict;
      }
      if (dots.try_emplace(id, map.rows.size()).second)
        map.rows.push_back({atom.rows[0], atom.rows[1]});
    }
  map.decay = commonDecay(form, groups);
  for (const PairGroup &group : groups) {
    std::vector<unsigned> degrees(map.rows.size());
    for (auto [id, power] : group.pair)
      degrees[dots[id]] = power;
    addBlocks(form, group, degrees, map.blocks);
  }
  if (!map.decay.isZero()) {
    Polynomial undo = form.exp(map.decay.scaled(Rational(-1)));
    Polynomial undoKey = form.exp(form.mirrored(map.decay));
    for (FeatureBlock &block : map.blocks) {
      block.query = form.multiply(block.query, undo);
      block.key = form.multiply(block.key, undoKey);
    }
  }
  Rank rank(form);
  for (FeatureBlock &block : map.blocks)
    rank.add(map, block);
  map.rank = rank.value();
  map.formula = map.blocks.empty() ? "0" : rank.formula();
  verdict.verdict = Verdict::Yes;
  verdict.reasons = {
      "kappa is a sum of products of powers of dots and of functions of one "
      "side (symmetric tensor powers): " +
      form.str(kappa)};
  if (!map.decay.isZero())
    verdict.reasons.push_back("times exp(e(i) - e(j)) with e(i) = " +
                              form.str(map.decay));
  verdict.map = std::move(map);
  return verdict;
}
