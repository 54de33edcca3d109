//===- Universal.cpp - kernels whose functions approximate all others -----===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Universal.h"

#include "lowering/analysis/Declarations.h"

using namespace mlir;
using namespace attn;

using Monomial = Polynomial::Monomial;

namespace {
class UniversalRules {
public:
  explicit UniversalRules(Mercer &mercer) : mercer(mercer), form(mercer.form) {}

  /// exp(e) is universal; e is conditionally positive definite.
  bool isExponent(const Polynomial &e, int depth);
  bool isAtom(AtomId id, int depth);
  /// Not 0 at any (x, x); may take 0 out of X for it.
  bool isPositiveOnDiagonal(AtomId id);
  bool tellsRowsApart(AtomId dot);
  bool isUnit(RowId id);

  Mercer &mercer;
  NormalForm &form;
  bool sphere = false, withoutZero = false;
  std::string why;
  std::string blocked;
  Value culprit;
};
} // namespace

bool UniversalRules::isUnit(RowId id) {
  const FormRow &row = form.row(id);
  if (row.kind == FormRow::Unit)
    return true;
  if (row.kind != FormRow::Input)
    return false;
  AttentionOp op = form.getOp();
  for (Region *map : {&op.getQueryMap(), &op.getKeyMap()}) {
    Value mapped = yieldedRow(*map);
    if (!mapped || !mapped.getDefiningOp<UnitOp>())
      return false;
  }
  return true;
}

/// elu(x) + 1, exp(c x), tanh(c x) and sums of increasing functions.
static bool isIncreasing(const NormalForm &form, const Polynomial &body,
                         int depth) {
  bool strict = false;
  for (const auto &[monomial, coefficient] : body.terms()) {
    if (monomial.empty())
      continue;
    if (monomial.size() != 1 || coefficient.sign() < 0 || depth == 0)
      return false;
    auto [id, power] = monomial[0];
    const FormAtom &atom = form.atom(id);
    if (atom.kind == FormAtom::Leaf && atom.tag[0] == 'x') {
      if (power % 2 == 0)
        return false;
      strict = true;
      continue;
    }
    if (power != 1 || atom.args.size() != 1)
      return false;
    bool monotone = atom.kind == FormAtom::Exp || atom.tag == "tanh";
    if (monotone && isIncreasing(form, atom.args[0], depth - 1)) {
      strict = true;
      continue;
    }
    if (atom.tag == "relu" && isIncreasing(form, atom.args[0], depth - 1))
      continue; // not strictly
    // exp(x - relu(x)) = exp(min(x, 0)) rises where relu(x) does not.
    if (atom.kind == FormAtom::Exp && atom.args[0].terms().size() == 2) {
      const auto &terms = atom.args[0].terms();
      const auto &first = *terms.begin(), &second = *std::next(terms.begin());
      const auto &x = first.second.sign() > 0 ? first : second;
      const auto &r = first.second.sign() > 0 ? second : first;
      bool minimum =
          x.second == Rational(1) && r.second == Rational(-1) &&
          x.first.size() == 1 && r.first.size() == 1 &&
          form.atom(r.first[0].first).tag == "relu" &&
          (form.atom(r.first[0].first).args[0] - asPolynomial(x.first))
              .isZero();
      // ... and relu(x) must be there too.
      bool other = false;
      for (const auto &term : body.terms())
        other |= minimum && term.first == r.first && term.second.sign() > 0;
      if (other) {
        strict = true;
        continue;
      }
    }
    return false;
  }
  return strict;
}

bool UniversalRules::tellsRowsApart(AtomId dot) {
  constexpr int depth = 4;
  const FormRow &row = form.row(form.atom(dot).rows[0]);
  switch (row.kind) {
  case FormRow::Input:
    sphere |= isUnit(form.atom(dot).rows[0]);
    return true;
  case FormRow::Unit:
    sphere = true;
    return form.row(row.rows[0]).kind == FormRow::Input;
  case FormRow::Rope:
    return form.row(row.rows[0]).kind == FormRow::Input;
  case FormRow::Map:
    if (row.rows.size() == 1 && form.row(row.rows[0]).kind == FormRow::Input &&
        isIncreasing(form, row.args[0], depth))
      return true;
    break;
  default:
    break;
  }
  blocked = form.rowText(form.atom(dot).rows[0]) +
            " is not proven to tell all rows apart";
  culprit = form.originOf(dot);
  return false;
}

bool UniversalRules::isPositiveOnDiagonal(AtomId id) {
  const FormAtom &atom = form.atom(id);
  if (atom.kind == FormAtom::Exp ||
      (atom.kind == FormAtom::Power && atom.exponent.sign() < 0))
    return true;
  if (atom.kind != FormAtom::Dot)
    return false;
  if (isUnit(atom.rows[0])) {
    sphere = true;
    return true;
  }
  if (form.row(atom.rows[0]).range.coordinate.isPositive())
    return true;
  if (form.row(atom.rows[0]).kind != FormRow::Input)
    return false;
  withoutZero = true;
  return true;
}

bool UniversalRules::isExponent(const Polynomial &e, int depth) {
  if (depth == 0)
    return false;
  for (const auto &[monomial, coefficient] : e.terms()) {
    std::optional<AtomId> pair;
    Polynomial factor = Polynomial::constant(coefficient);
    bool plain = true;
    for (auto [id, power] : monomial) {
      unsigned axes = form.atom(id).axes & PairAxes;
      if (axes == Uniform)
        factor = factor * asPolynomial({{id, power}});
      else if (axes == PairAxes && power == 1 && !pair)
        pair = id;
      else
        plain = false;
    }
    if (!plain || !pair)
      continue;
    const FormAtom atom = form.atom(*pair);
    Interval sign = form.rangeOf(factor);
    Polynomial rest = e - asPolynomial(monomial).scaled(coefficient);
    if (atom.kind == FormAtom::Dot && sign.isPositive() &&
        mercer.isConditional(rest) && tellsRowsApart(*pair)) {
      why = form.str(Polynomial::atom(*pair)) + form.assumptions(factor);
      return true;
    }
    bool bernstein =
        atom.kind == FormAtom::Log ||
        (atom.kind == FormAtom::Power && atom.exponent.sign() > 0 &&
         (Rational(1) - atom.exponent).sign() > 0);
    if (bernstein && sign.isNegative() && mercer.isConditional(rest) &&
        isExponent(atom.args[0].scaled(Rational(-1)), depth - 1))
      return true;
  }
  return false;
}

bool UniversalRules::isAtom(AtomId id, int depth) {
  const FormAtom atom = form.atom(id);
  if (atom.kind == FormAtom::Exp)
    return isExponent(atom.args[0], depth);
  return atom.kind == FormAtom::Power && atom.exponent.sign() < 0 &&
         isExponent(atom.args[0].scaled(Rational(-1)), depth);
}

namespace {
/// q replaced by c q.
class ScaleQuery : public FormRewriter {
public:
  ScaleQuery(NormalForm &form, int64_t c) : FormRewriter(form), c(c) {}

protected:
  std::optional<ScaledRow> input(RowId id) override {
    if (form.row(id).kind == FormRow::Input && form.row(id).tag == "q")
      return ScaledRow{NormalForm::number(c), id};
    return std::nullopt;
  }
  int64_t c;
};
} // namespace

UniversalVerdict attn::decideUniversal(Mercer &mercer, Verdict psd,
                                       bool finiteRank) {
  NormalForm &form = mercer.form;
  const Polynomial &kappa = form.kappa();
  if (psd == Verdict::No)
    return {
        Verdict::No, {"a universal kernel is positive semi-definite"}, "", {}};
  if (finiteRank)
    return {Verdict::No,
            {"of finite rank: its functions span a space of finite dimension, "
             "dense in C(X) only where X is finite"},
            "",
            {}};
  if (psd != Verdict::Yes)
    return {Verdict::Unproven,
            {"not proven positive semi-definite"},
            "",
            mercer.culprit};
  AttentionOp op = form.getOp();
  bool allRows = op.getQueryMap().empty() && op.getKeyMap().empty();
  if (allRows && (ScaleQuery(form, -1)(kappa) - kappa).isZero())
    return {Verdict::No,
            {"kappa(-x, y) = kappa(x, y): its functions are even"},
            "",
            {}};

  // Dense in the continuous functions: continuous itself.
  bool units = false;
  for (RowId id = 0; id < form.rowCount(); ++id)
    units |= form.row(id).kind == FormRow::Unit;
  for (AtomId id = 0; id < form.atomCount(); ++id) {
    const FormAtom &atom = form.atom(id);
    bool smooth = atom.tag == "tanh" || atom.tag == "relu" ||
                  atom.tag == "cos" || atom.tag == "sin";
    if (atom.kind == FormAtom::Function && !smooth && atom.axes != Uniform)
      return {Verdict::Unproven,
              {atom.tag + " is not known to be continuous"},
              "",
              form.originOf(id)};
  }

  constexpr int depth = 8;
  std::string blocked = "no rule finds a universal factor in it";
  Value culprit;
  UniversalVerdict best;
  for (const PairGroup &group : pairGroups(form, kappa)) {
    std::optional<Mercer::SideForm> sides = mercer.sideForm(group);
    if (!sides || sides->basis.size() != 1 ||
        !form.rangeOf(sides->matrix[0][0]).isPositive() ||
        !form.rangeOf(asPolynomial(sides->basis[0])).isPositive()) {
      for (auto [id, power] : group.pair)
        if (sides && sides->basis.size() == 1 &&
            (form.atom(id).kind == FormAtom::Exp ||
             form.atom(id).kind == FormAtom::Power)) {
          blocked = form.str(sides->matrix[0][0]) + " may be 0";
          culprit = form.originOf(id);
        }
      continue;
    }
    UniversalRules rules(mercer);
    std::optional<AtomId> universal;
    for (auto [id, power] : group.pair)
      if (!universal && rules.isAtom(id, depth))
        universal = id;
    bool positive = true;
    for (auto [id, power] : group.pair)
      if (universal && id != *universal)
        positive &= rules.isPositiveOnDiagonal(id);
    if (universal && units && !rules.sphere) {
      blocked = "unit(x) is not continuous at 0";
      continue;
    }
    if (!universal || !positive) {
      if (!rules.blocked.empty()) {
        blocked = rules.blocked;
        culprit = rules.culprit;
      }
      continue;
    }
    Polynomial term =
        form.multiply(sides->matrix[0][0], asPolynomial(group.pair));
    Polynomial key =
        form.mirrored(asPolynomial(sides->basis[0])); // f(q) c f(k)
    term =
        form.multiply(form.multiply(term, asPolynomial(sides->basis[0])), key);
    if (!mercer.isPsd(kappa - term))
      continue;
    std::string domain = rules.sphere        ? "the unit sphere"
                         : rules.withoutZero ? "compact sets of rows without 0"
                                             : "compact sets of rows";
    if (form.dependsOnPositions(kappa))
      domain += ", at one position";
    UniversalVerdict verdict;
    verdict.reasons.push_back("universal on " + domain + ": " +
                              form.str(Polynomial::atom(*universal)) +
                              " is (Micchelli, Xu, Zhang 2006), through " +
                              (rules.why.empty() ? "it" : rules.why));
    if (group.pair.size() > 1)
      verdict.reasons.push_back("so is its product with kernels that are "
                                "positive at (x, x): " +
                                form.str(term));
    if (!(kappa - term).isZero())
      verdict.reasons.push_back("so is its sum with kernels that are positive "
                                "semi-definite");
    if (!rules.withoutZero || rules.sphere) {
      verdict.verdict = Verdict::Yes;
      return verdict;
    }
    best = verdict;
    best.condition = "yes on compact sets of rows without 0";
  }
  bool vanishes = allRows && ScaleQuery(form, 0)(kappa).isZero();
  if (vanishes)
    best.verdict = Verdict::No;
  if (vanishes || !best.condition.empty()) {
    best.reasons.insert(
        best.reasons.begin(),
        vanishes ? "kappa(0, y) = 0 for every y: all its functions are 0 at 0"
                 : "it may vanish at (0, 0)");
    return best;
  }
  return {Verdict::Unproven, {blocked}, "", culprit};
}
