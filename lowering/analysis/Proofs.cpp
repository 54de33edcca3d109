//===- Proofs.cpp - everything that is proven of a kernel -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Proofs.h"

#include "lowering/analysis/Bounded.h"
#include "lowering/analysis/Conditions.h"
#include "lowering/analysis/Defined.h"
#include "lowering/analysis/ExpressionText.h"
#include "lowering/analysis/Gauge.h"
#include "lowering/analysis/Gram.h"
#include "lowering/analysis/PointEvaluator.h"
#include "lowering/analysis/Series.h"
#include "lowering/analysis/Sign.h"
#include "lowering/analysis/Universal.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace attn;

using Assumptions = ValueRangeAnalysis::Assumptions;

StringRef attn::stringifyProperty(Property property) {
  constexpr const char *names[] = {"nonnegative", "positive", "mercer",
                                   "universal",   "bounded",  "needs_max",
                                   "separable"};
  return names[static_cast<size_t>(property)];
}

static Value kappaOf(AttentionOp op) {
  return op.getKappa().front().getTerminator()->getOperand(0);
}

namespace {
/// Forms and proofs under some assumptions, with both roles from one set.
struct Round {
  ValueRangeAnalysis ranges;
  NormalForm form;
  Mercer mercer;

  Round(AttentionOp op, Assumptions assumed)
      : ranges(withOneSet(std::move(assumed))), form(op, ranges), mercer(form) {
  }
  static Assumptions withOneSet(Assumptions assumed) {
    assumed.oneSet = true;
    return assumed;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// The properties, one by one
//===----------------------------------------------------------------------===//

static Proof proveNonNegative(AttentionOp op, const SignVerdict &sign) {
  Proof proof = {
      Property::NonNegative, sign.nonnegative, {sign.reason}, "", sign.culprit};
  if (sign.nonnegative != Verdict::Yes)
    proof.condition = findCondition(op, [&](const Assumptions &assumed) {
      return ValueRangeAnalysis(assumed).scalar(kappaOf(op)).isNonNegative();
    });
  return proof;
}

/// A point where kappa is 0, in words.
static std::string findZero(AttentionOp op) {
  auto lengthOf = [](Value input) -> size_t {
    int64_t length = cast<MemRefType>(input.getType()).getDimSize(3);
    return length == ShapedType::kDynamic ? 2 : static_cast<size_t>(length);
  };
  if (affordableTries(op) == 0)
    return "";
  size_t lengths[2] = {lengthOf(op.getQuery()), lengthOf(op.getKey())};
  const char *names[] = {"q = 0", "orthogonal rows", "q = k", "k = -q"};
  for (int pattern = 0; pattern < 8; ++pattern) {
    PointEvaluator::Row q(lengths[0]), k(lengths[1]);
    k.back() = 0.75;
    if (pattern % 4 == 1 && q.size() > 1)
      q.front() = 1.25;
    if (pattern % 4 >= 2)
      q.back() = pattern % 4 == 2 ? 0.75 : -0.75;
    PointEvaluator point(5);
    point.setAtBounds(pattern >= 4);
    if (point.kappa(op, q, k) != 0)
      continue;
    return "kappa = 0 at " + std::string(names[pattern % 4]) +
           (point.usedBounds() ? " with parameters at their bounds" : "");
  }
  return "";
}

static Proof provePositive(AttentionOp op, const SignVerdict &sign,
                           ValueRangeAnalysis &ranges) {
  Proof proof = {Property::Positive, Verdict::Unproven, {}, "", sign.culprit};
  if (ranges.scalar(kappaOf(op)).isPositive()) {
    proof.verdict = Verdict::Yes;
    proof.reasons = {sign.reason};
    return proof;
  }
  if (sign.nonnegative == Verdict::No) {
    proof.verdict = Verdict::No;
    proof.reasons = {sign.reason};
  } else if (std::string zero = findZero(op); !zero.empty()) {
    proof.verdict = Verdict::No;
    proof.reasons = {zero};
  } else {
    proof.reasons = {"kappa in " + ranges.scalar(kappaOf(op)).str()};
  }
  proof.condition = findCondition(op, [&](const Assumptions &assumed) {
    return ValueRangeAnalysis(assumed).scalar(kappaOf(op)).isPositive();
  });
  return proof;
}

/// Whether f_Q and f_K give different rows for one token, by evaluation.
static bool mapsDiffer(AttentionOp op) {
  if (op.getQueryMap().empty() && op.getKeyMap().empty())
    return false;
  if (op.getQueryMap().empty() != op.getKeyMap().empty())
    return true;
  int64_t length = cast<MemRefType>(op.getQuery().getType()).getDimSize(3);
  int64_t keyLength = cast<MemRefType>(op.getKey().getType()).getDimSize(3);
  if (length != keyLength || affordableTries(op) == 0)
    return length != keyLength;
  std::mt19937_64 random(11);
  std::normal_distribution<> normal;
  PointEvaluator point(13);
  PointEvaluator::Row token(length == ShapedType::kDynamic ? 4 : length);
  for (double &x : token)
    x = normal(random);
  PointEvaluator::Row q = point.mapped(op, 0, token, 3);
  PointEvaluator::Row k = point.mapped(op, 1, token, 3);
  if (q.size() != k.size())
    return true;
  for (size_t d = 0; d < q.size(); ++d)
    if (!(std::fabs(q[d] - k[d]) <= 1e-9 * (1 + std::fabs(q[d]))))
      return true;
  return false;
}

/// f(s) with a negative Taylor coefficient is positive definite on no ball
/// around 0 (Schoenberg 1942; points x_i with sum c_i p(x_i) = 0 for all lower
/// powers p leave that coefficient alone as they shrink).
static std::string findNegativeCoefficient(Round &round) {
  constexpr unsigned order = 26;
  AttentionOp op = round.form.getOp();
  std::optional<AtomId> dot = onlyDot(round.form, round.form.kappa());
  if (!dot || !op.getQueryMap().empty() || !op.getKeyMap().empty())
    return "";
  const FormAtom atom = round.form.atom(*dot);
  for (RowId row : atom.rows)
    if (round.form.row(row).kind != FormRow::Input)
      return "";
  std::vector<Polynomial> series =
      taylorSeries(round.form, round.form.kappa(), *dot, order);
  for (size_t n = 0; n < series.size(); ++n)
    if (round.form.rangeOf(series[n]).isNegative())
      return "the coefficient of " + round.form.str(Polynomial::atom(*dot)) +
             "^" + std::to_string(n) + " in its power series is " +
             round.form.str(series[n]) +
             ", negative: positive definite on no ball around 0 (Schoenberg "
             "1942)";
  return "";
}

static Proof proveMercer(AttentionOp op, Round &round) {
  Proof proof = {Property::Mercer, Verdict::Unproven, {}, "", {}};
  const Polynomial &kappa = round.form.kappa();
  if (round.mercer.isPsd(kappa)) {
    proof.verdict = Verdict::Yes;
    // The whole first, then its parts.
    proof.reasons.assign(round.mercer.steps.rbegin(),
                         round.mercer.steps.rend());
    if (proof.reasons.empty())
      proof.reasons = {"kappa is 0"};
    if (mapsDiffer(op))
      proof.reasons.push_back(
          "in the rows as q and k stand in kappa (the roles); f_Q and f_K "
          "differ, so not in the tokens they are made from");
    return proof;
  }
  proof.culprit = round.mercer.culprit;
  std::string obstacle = round.mercer.obstacle;
  if (std::string found = findGramCounterexample(op); !found.empty()) {
    proof.verdict = Verdict::No;
    proof.reasons = {found};
  } else if (std::string exact = findNegativeCoefficient(round);
             !exact.empty()) {
    proof.verdict = Verdict::No;
    proof.reasons = {exact};
  }
  if (!obstacle.empty())
    proof.reasons.push_back(obstacle);
  proof.condition = findCondition(op, [&](const Assumptions &assumed) {
    Round other(op, assumed);
    return other.mercer.isPsd(other.form.kappa());
  });
  return proof;
}

static Proof proveUniversal(AttentionOp op, Round &round, Verdict psd,
                            bool finiteRank) {
  UniversalVerdict verdict = decideUniversal(round.mercer, psd, finiteRank);
  Proof proof = {Property::Universal, verdict.verdict, verdict.reasons,
                 verdict.condition, verdict.culprit};
  if (verdict.verdict == Verdict::Yes || finiteRank)
    return proof;
  std::string parameters = findCondition(op, [&](const Assumptions &assumed) {
    Round other(op, assumed);
    return other.mercer.isPsd(other.form.kappa()) &&
           decideUniversal(other.mercer, Verdict::Yes, false).verdict ==
               Verdict::Yes;
  });
  std::string sets = verdict.condition; // "yes on ..."
  if (!parameters.empty())
    proof.condition =
        parameters + (sets.empty() ? "" : ", or" + sets.substr(3));
  return proof;
}

/// The norm R beyond which a bound in nothing but R leaves f32.
static std::optional<double> normLimit(NormalForm &form,
                                       const Polynomial &bound) {
  for (const auto &[monomial, coefficient] : bound.terms())
    for (auto [id, power] : monomial)
      if (form.atom(id).kind != FormAtom::Leaf || form.atom(id).tag != "R" ||
          coefficient.sign() < 0)
        return std::nullopt;
  auto fits = [&](double radius) {
    double sum = 0;
    for (const auto &[monomial, coefficient] : bound.terms()) {
      double term = toDouble(coefficient);
      for (auto [id, power] : monomial)
        term *= std::pow(radius, power);
      sum += term;
    }
    return sum <= std::numeric_limits<float>::max();
  };
  double low = -60, high = 60; // powers of 10
  for (int n = 0; n < 60; ++n)
    (fits(std::pow(10, (low + high) / 2)) ? low : high) = (low + high) / 2;
  return std::pow(10, low);
}

static Proof proveBounded(AttentionOp op, Round &round, Gauge gauge) {
  Proof proof = {Property::Bounded, Verdict::Unproven, {}, "", {}};
  Interval range = ValueRangeAnalysis().scalar(kappaOf(op));
  if (range.isFinite()) {
    proof.verdict = Verdict::Yes;
    proof.reasons = {"kappa in " + range.str() + " for all rows"};
  } else if (std::optional<Polynomial> bound = boundOf(round.form)) {
    proof.verdict = Verdict::Yes;
    proof.reasons = {"kappa <= " + round.form.str(*bound) +
                     " for rows of norm <= R"};
    // The gauge keeps others in range; and few rows are as long as this.
    constexpr double longest = 1e4;
    std::optional<double> limit = normLimit(round.form, *bound);
    if (limit && gauge == Gauge::None && *limit < longest) {
      std::string text;
      llvm::raw_string_ostream(text)
          << "kappa may exceed 3.4e38, where f32 ends, from R = "
          << llvm::format("%.3g", *limit) << " on";
      proof.reasons.push_back(text);
    }
  } else {
    proof.reasons = {"no rule bounds " + describe(kappaOf(op)) +
                     " for rows of norm <= R at all positions"};
  }
  return proof;
}

/// A bounded analytic function of one dot is of finite rank only if it is a
/// constant: finitely many powers of the dot make a polynomial.
static std::string findInfiniteRank(AttentionOp op, NormalForm &form,
                                    ValueRangeAnalysis &ranges) {
  constexpr unsigned order = 8;
  std::optional<AtomId> dot = onlyDot(form, form.kappa());
  if (!dot || !op.getQueryMap().empty() || !op.getKeyMap().empty() ||
      !ranges.scalar(kappaOf(op)).isFinite())
    return "";
  for (RowId row : form.atom(*dot).rows)
    if (form.row(row).kind != FormRow::Input)
      return "";
  for (AtomId id = 0; id < form.atomCount(); ++id)
    if (form.atom(id).kind == FormAtom::Power && form.atom(id).axes &&
        !form.rangeOf(Polynomial(form.atom(id).args[0])).isPositive())
      return "";
  std::vector<Polynomial> series =
      taylorSeries(form, form.kappa(), *dot, order);
  for (size_t n = 1; n < series.size(); ++n) {
    Interval c = form.rangeOf(series[n]);
    if (c.isPositive() || c.isNegative())
      return "of infinite rank: a bounded analytic function of " +
             form.str(Polynomial::atom(*dot)) +
             " that is not constant is no polynomial of it";
  }
  return "";
}

FailureOr<KernelProofs> attn::proveKernel(AttentionOp op) {
  KernelProofs result;
  ValueRangeAnalysis ranges;
  if (failed(verifyDomains(op, ranges)))
    return failure();
  Undefined undefined = findUndefined(op, ranges);
  if (undefined.culprit) {
    emitError(undefined.culprit.getLoc())
        << "kappa is not defined everywhere: " << undefined.reason
        << "; keep it away from there with a bound, or select it away";
    return failure();
  }
  result.undefined = undefined.unproven;

  SignVerdict sign = decideSign(op, ranges);
  Round round(op, Assumptions());
  NormalForm masked(op, ranges); // its atoms are not kappa's
  result.mask = classifyMask(masked);
  // Of pairs that the mask hides nothing needs to be true.
  ValueRangeAnalysis orderedRanges(Round::withOneSet(Assumptions()));
  NormalForm visible(op, orderedRanges, result.mask.ordered);
  SeparableVerdict &separable = result.separable;
  separable = deriveFeatures(visible);

  Proof mercer = proveMercer(op, round);
  bool finiteRank = result.mask.ordered
                        ? deriveFeatures(round.form).verdict == Verdict::Yes
                        : separable.verdict == Verdict::Yes;
  Proof universal = proveUniversal(op, round, mercer.verdict, finiteRank);
  if (separable.verdict != Verdict::Yes && universal.verdict == Verdict::Yes) {
    separable.verdict = Verdict::No;
    separable.reasons.insert(separable.reasons.begin(),
                             "of infinite rank, as every universal kernel");
  } else if (separable.verdict != Verdict::Yes) {
    if (std::string why = findInfiniteRank(op, round.form, ranges);
        !why.empty()) {
      separable.verdict = Verdict::No;
      separable.reasons.insert(separable.reasons.begin(), why);
    }
  }
  result.masks = linearMasks(visible, separable, result.mask);

  Value kappa = kappaOf(op);
  GaugeVerdict gauge = decideGauge(kappa);
  Proof needsMax = {Property::NeedsMax,
                    gauge.gauge == Gauge::Max ? Verdict::Yes : Verdict::No,
                    {gauge.reason},
                    "",
                    {}};
  Proof separation = {Property::Separable, separable.verdict, separable.reasons,
                      "", separable.culprit};
  result.proofs = {proveNonNegative(op, sign),
                   provePositive(op, sign, ranges),
                   std::move(mercer),
                   std::move(universal),
                   proveBounded(op, round, gauge.gauge),
                   std::move(needsMax),
                   std::move(separation)};
  // Texts need the form, which ends here.
  if (separable.map) {
    const FeatureMap &map = *separable.map;
    for (auto [query, key] : map.rows)
      result.rows.push_back({visible.rowText(query), visible.rowText(key)});
    for (const FeatureBlock &block : map.blocks)
      result.blocks.push_back({visible.str(block.query), visible.str(block.key),
                               block.degrees, block.channels});
    if (!map.decay.isZero())
      result.decay = visible.str(map.decay);
  }
  return result;
}
