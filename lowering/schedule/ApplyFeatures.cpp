//===- ApplyFeatures.cpp - kappa by the feature map asked for -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/Passes.h"
#include "lowering/analysis/Declarations.h"
#include "lowering/analysis/ExpressionText.h"
#include "lowering/analysis/LinearMasks.h"
#include "lowering/schedule/FeatureRewriter.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace attn {
#define GEN_PASS_DEF_APPLYFEATURESPASS
#include "lowering/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// Whether no visible key stands after its query, so that |i - j| is i - j.
static bool isOrdered(AttentionOp op) {
  ValueRangeAnalysis ranges;
  NormalForm form(op, ranges);
  return classifyMask(form).ordered;
}

FeatureRewriter::FeatureRewriter(AttentionOp op, bool toExplain)
    : op(op), features(op.getFeaturesAttr()), toExplain(toExplain),
      form(op, ranges, isOrdered(op)),
      builder(op.getKappa().front().getTerminator()),
      emit(form, builder, op.getLoc()) {}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

Value FeatureRewriter::real(double x) {
  return arith::ConstantOp::create(
      builder, op.getLoc(), builder.getF32FloatAttr(static_cast<float>(x)));
}

Value FeatureRewriter::times(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::MulFOp::create(builder, op.getLoc(), a, b);
}

Value FeatureRewriter::plus(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AddFOp::create(builder, op.getLoc(), a, b);
}

Value FeatureRewriter::scaled(Value row, const Polynomial &by) {
  if (!row || numberOf(by) == 1)
    return row;
  Value factor = emit.scalar(by);
  if (!factor)
    return {};
  Location loc = op.getLoc();
  auto map = MapOp::create(builder, loc, ValueRange{row});
  OpBuilder::InsertionGuard guard(builder);
  Block *body =
      builder.createBlock(&map.getBody(), {}, {builder.getF32Type()}, {loc});
  YieldOp::create(builder, loc,
                  ValueRange{arith::MulFOp::create(
                      builder, loc, body->getArgument(0), factor)});
  return map.getResult();
}

Value FeatureRewriter::random(RandomKind kind, Value row, int64_t stream) {
  if (!row)
    return {};
  return RandomFeaturesOp::create(
      builder, op.getLoc(), kind, row, features.getCount(), features.getSeed(),
      stream, features.getOrthogonal(), features.getHyperbolic());
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

double FeatureRewriter::numberOf(const Polynomial &p) {
  if (p.isZero())
    return 0;
  const auto &term = *p.terms().begin();
  return p.terms().size() == 1 && term.first.empty() ? toDouble(term.second)
                                                     : NAN;
}

int64_t FeatureRewriter::lengthOf(AtomId dot) const {
  for (RowId row : form.atom(dot).rows)
    if (!ShapedType::isDynamic(form.row(row).length))
      return form.row(row).length;
  return 0;
}

bool FeatureRewriter::factorsCancel() {
  if (op.getNormalize() != Normalize::Mass || op.getTerms())
    return false;
  return llvm::all_of(
      op.getResults().getAsRange<ResultAttr>(), [](ResultAttr result) {
        Result kind = result.getValue();
        return kind == Result::O || kind == Result::Argmax ||
               kind == Result::Entropy || kind == Result::Weights;
      });
}

bool FeatureRewriter::isPairDot(AtomId id) {
  const FormAtom &atom = form.atom(id);
  return atom.kind == FormAtom::Dot &&
         form.row(atom.rows[0]).axes == QueryAxis &&
         form.row(atom.rows[1]).axes == KeyAxis;
}

std::optional<std::pair<Polynomial, AtomId>>
FeatureRewriter::asScaledDot(const Polynomial &p) {
  std::optional<AtomId> dot;
  for (const auto &term : p.terms())
    for (auto [id, power] : term.first) {
      if (form.atom(id).axes == Uniform)
        continue;
      if (power != 1 || !isPairDot(id) || (dot && *dot != id))
        return std::nullopt;
      dot = id;
    }
  if (!dot)
    return std::nullopt;
  std::vector<Polynomial> c = p.inPowersOf(*dot);
  if (!c[0].isZero())
    return std::nullopt;
  return std::pair(c[1], *dot);
}

std::optional<FeatureRewriter::Exponential> FeatureRewriter::asExponential() {
  const Polynomial &kappa = form.kappa();
  if (kappa.terms().size() != 1)
    return std::nullopt;
  const auto &[monomial, coefficient] = *kappa.terms().begin();
  Exponential result;
  result.rest = Polynomial::constant(coefficient);
  for (auto [id, power] : monomial) {
    const FormAtom atom = form.atom(id);
    if (atom.kind == FormAtom::Exp) {
      Polynomial argument = atom.args[0].scaled(Rational(int64_t(power)));
      result.exponent = result.exponent + argument;
      if (atom.axes == PairAxes)
        result.pair = result.pair + argument;
      continue;
    }
    for (unsigned n = 0; n < power; ++n)
      result.rest = result.rest * Polynomial::atom(id);
  }
  if (result.pair.isZero())
    return std::nullopt;
  return result;
}

bool FeatureRewriter::isUnit(RowId id) {
  const FormRow &row = form.row(id);
  if (row.kind == FormRow::Unit)
    return true;
  auto argument = dyn_cast_or_null<BlockArgument>(row.origin);
  Value mapped = argument ? mappedRowOfArgument(argument) : Value();
  return mapped && mapped.getDefiningOp<UnitOp>();
}

namespace {
/// Puts norms to 1.
class WithUnitNorms : public FormRewriter {
public:
  WithUnitNorms(NormalForm &form, llvm::function_ref<bool(RowId)> isUnit)
      : FormRewriter(form), isUnit(isUnit) {}

protected:
  std::optional<Polynomial> leaf(AtomId id) override {
    const FormAtom &atom = form.atom(id);
    if (atom.kind == FormAtom::Norm && isUnit(atom.rows[0]))
      return NormalForm::number(1);
    // Rows stay as they are.
    if (atom.kind == FormAtom::Norm || atom.kind == FormAtom::Dot ||
        atom.kind == FormAtom::Leaf)
      return Polynomial::atom(id);
    return std::nullopt;
  }

private:
  llvm::function_ref<bool(RowId)> isUnit;
};
} // namespace

Polynomial FeatureRewriter::onSphere(const Polynomial &p) {
  auto unit = [&](RowId row) { return isUnit(row); };
  return WithUnitNorms(form, unit)(p);
}

std::optional<FeatureRewriter::Spherical> FeatureRewriter::asSpherical() {
  Polynomial kappa = onSphere(form.kappa());
  std::optional<AtomId> quotient;
  Spherical result;
  for (const auto &[monomial, coefficient] : kappa.terms()) {
    Polynomial rest = Polynomial::constant(coefficient);
    unsigned quotients = 0;
    for (auto [id, power] : monomial) {
      const FormAtom &atom = form.atom(id);
      if (atom.kind == FormAtom::Power && atom.axes == PairAxes) {
        if (power != 1 || !(atom.exponent == Rational(-1)) ||
            (quotient && *quotient != id))
          return std::nullopt;
        quotient = id;
        ++quotients;
        continue;
      }
      if (atom.axes != Uniform && !isPairDot(id))
        return std::nullopt;
      for (unsigned n = 0; n < power; ++n)
        rest = rest * Polynomial::atom(id);
    }
    if (quotients != 1)
      return std::nullopt;
    result.numerator = result.numerator + rest;
  }
  if (!quotient)
    return std::nullopt;
  Polynomial base = form.atom(*quotient).args[0];
  std::optional<AtomId> dot;
  for (const auto &term : base.terms())
    for (auto [id, power] : term.first)
      if (form.atom(id).axes != Uniform) {
        if (!isPairDot(id) || power != 1 || (dot && *dot != id))
          return std::nullopt;
        dot = id;
      }
  if (!dot || !isUnit(form.atom(*dot).rows[0]) ||
      !isUnit(form.atom(*dot).rows[1]))
    return std::nullopt;
  for (const auto &term : result.numerator.terms())
    for (auto [id, power] : term.first)
      if (form.atom(id).axes != Uniform && id != *dot)
        return std::nullopt;
  std::vector<Polynomial> c = base.inPowersOf(*dot);
  result.dot = *dot;
  result.constant = c[0];
  result.slope = c[1];
  // The zero lies beyond the sphere.
  if (!form.rangeOf(c[0] + c[1]).isPositive() ||
      !form.rangeOf(c[1]).isNegative())
    return std::nullopt;
  return result;
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// The place of the features where the text has one: the second of two.
static Location placeOf(AttentionOp op) {
  if (auto fused = dyn_cast<FusedLoc>(op.getLoc()))
    if (!fused.getLocations().empty())
      return fused.getLocations().back();
  return op.getLoc();
}

Value FeatureRewriter::refuse(const Twine &message, Value culprit) {
  InFlightDiagnostic error = emitError(placeOf(op), message);
  if (culprit)
    error.attachNote(culprit.getLoc()) << "kappa has " << describe(culprit);
  return {};
}

bool FeatureRewriter::countChannels(double channels, int64_t length,
                                    unsigned order) {
  constexpr double most = 1 << 20;
  if (length == 0)
    return true;
  report.channels = channels;
  if (channels <= most)
    return true;
  unsigned fits = 0;
  double count = 1;
  for (unsigned n = 1; n <= order; ++n) {
    count = count * (static_cast<double>(length) + n) / n;
    if (count <= most)
      fits = n;
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::format("%.4g", channels) << " channels at rows of length "
         << length << " are more than the " << static_cast<int64_t>(most)
         << " that a state may have";
  if (order > 0 && fits > 0)
    stream << "; write order = " << fits
           << ", or use favor, which has as many as you say";
  else if (order > 0)
    stream << "; use favor, which has as many as you say";
  else
    stream << "; take fewer nodes or features, or poly = anchors";
  refuse(stringifyFeatureKind(features.getKind()) + ": " + text);
  return false;
}

static std::string askedFor(FeaturesAttr f) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << stringifyFeatureKind(f.getKind()) << '(';
  switch (f.getKind()) {
  case FeatureKind::Taylor:
  case FeatureKind::Maclaurin:
    stream << "order = " << f.getOrder();
    break;
  case FeatureKind::Favor:
    stream << "m = " << f.getCount() << ", orthogonal = " << f.getOrthogonal()
           << ", seed = " << f.getSeed()
           << ", hyperbolic = " << f.getHyperbolic();
    break;
  case FeatureKind::Rff:
    stream << "m = " << f.getCount() << ", seed = " << f.getSeed();
    break;
  case FeatureKind::Slay:
    stream << "nodes = " << f.getNodes() << ", features = " << f.getCount()
           << ", poly = " << (f.getAnchors() ? "anchors" : "exact")
           << ", seed = " << f.getSeed();
    break;
  }
  return text + ")";
}

FailureOr<FeatureReport> FeatureRewriter::run() {
  report.asked = askedFor(features);
  Value kappa;
  switch (features.getKind()) {
  case FeatureKind::Taylor:
    kappa = taylor();
    break;
  case FeatureKind::Favor:
    kappa = favor();
    break;
  case FeatureKind::Rff:
    kappa = rff();
    break;
  case FeatureKind::Slay:
    kappa = slay();
    break;
  case FeatureKind::Maclaurin:
    kappa = maclaurin();
    break;
  }
  if (!kappa)
    return failure();
  Block &block = op.getKappa().front();
  block.getTerminator()->setOperand(0, kappa);
  for (Operation &dead : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&dead))
      dead.erase();
  op.setFeaturesAttr(features.asApplied(signReason));
  return report;
}

FailureOr<FeatureReport> attn::applyFeatures(AttentionOp op, bool toExplain) {
  return FeatureRewriter(op, toExplain).run();
}

namespace {
struct ApplyFeatures : attn::impl::ApplyFeaturesPassBase<ApplyFeatures> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](AttentionOp op) {
      FeaturesAttr features = op.getFeaturesAttr();
      if (features && !features.getApplied() && failed(applyFeatures(op)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
