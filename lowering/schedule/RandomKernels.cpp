//===- RandomKernels.cpp - kernels estimated by random features -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// favor: exp(x.y) = E[exp(w.x - |x|^2/2) exp(w.y - |y|^2/2)], w normal
// (Choromanski et al. 2021, arXiv 2009.14794, lemma 1; the pairs w, -w are
// lemma 2's). What the paper subtracts from the exponents of the keys is a
// maximum over all of them, which would let a late key change an early row.
// Here a key's exponents are its own and are cut at 32, which |w|^2/2 bounds
// where rows are shorter than 50 or so; a query's maximum over its features
// goes where a factor of the query cancels.
//
// rff: exp(-|x - y|^2/2) = E[cos(w.(x - y))] (Rahimi and Recht 2007).
//
// slay: on the sphere N(s)/(c - d s) = N(s) int exp(-t c) exp(t d s) dt, by
// Gauss-Laguerre nodes in t, at each of which exp(t d s) has positive features
// of the rows times sqrt(t d). Sums over nodes are taken in kappa, so that
// numerator and denominator are summed before they are divided.
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Laguerre.h"
#include "lowering/schedule/FeatureRewriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace attn;

static Polynomial half(NormalForm &form, const Polynomial &p) {
  return form.power(p, Rational(1) / Rational(2));
}

static std::string shown(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

//===----------------------------------------------------------------------===//
// FAVOR+
//===----------------------------------------------------------------------===//

Value FeatureRewriter::favor() {
  std::optional<Exponential> kernel = asExponential();
  auto product = kernel ? asScaledDot(kernel->pair)
                        : std::optional<std::pair<Polynomial, AtomId>>();
  if (!product)
    return refuse("favor estimates exp(c*dot(q, k)), times what is of one side "
                  "alone, as in exp(dot(q, k)/sqrt(dim)) and in Gaussians; "
                  "kappa is not of that form");
  auto [c, dot] = *product;
  Interval sign = form.rangeOf(c);
  if (!sign.isPositive() && !sign.isNegative())
    return refuse("favor estimates exp(c*dot(q, k)) with c of a known sign, "
                  "and that of " +
                  form.str(c) + " is not; declare a bound, as in `" +
                  form.str(c) + " > 0`");
  if (sign.isNegative())
    c = c.scaled(Rational(-1));
  Polynomial root = half(form, c);
  Value x = scaled(emit.row(form.atom(dot).rows[0]), root);
  Value y = scaled(emit.row(form.atom(dot).rows[1]),
                   sign.isNegative() ? root.scaled(Rational(-1)) : root);
  Polynomial others =
      form.multiply(kernel->rest, form.exp(kernel->exponent - kernel->pair));
  Value rest = numberOf(others) == 1 ? Value() : emit.scalar(others);
  if (!x || !y || (!rest && numberOf(others) != 1))
    return refuse("favor: kappa has no form in the kernel language");
  bool stabilised = factorsCancel();
  RandomKind ofQuery =
      stabilised && !toExplain ? RandomKind::Stabilised : RandomKind::Positive;
  Value phiQ = random(ofQuery, x, /*stream=*/0),
        phiK = random(RandomKind::Positive, y, /*stream=*/0);

  auto m = static_cast<double>(features.getCount());
  double channels = features.getHyperbolic() ? 2 * m : m;
  report.channels = channels;
  report.formula = "dot(phi(x), phi(y))/" + shown(channels) +
                   " with x = " + form.str(root) +
                   "*q, y likewise of k, phi_r(x) = exp(w_r.x "
                   "- |x|^2/2)" +
                   (features.getHyperbolic() ? " and the same of -w_r" : "") +
                   (stabilised ? "; a query's features are divided by the "
                                 "largest of them"
                               : "");
  report.source = "Choromanski et al. 2021, arXiv 2009.14794, lemmas 1 and 2";
  report.condition = "sqrt((exp(|x + y|^2) - 1)/m) for a pair, so |x + y|^2 "
                     "should stay below log(m) = " +
                     shown(std::log(m));
  double scale = numberOf(c);
  auto length = static_cast<double>(lengthOf(dot));
  if (length > 0 && !std::isnan(scale)) {
    double size = 2 * scale * length;
    report.error = std::sqrt(std::expm1(size) / m);
    if (features.getHyperbolic())
      report.error *= std::sqrt(-std::expm1(-size) / 2);
    report.condition += "; |x + y|^2 = " + shown(size) +
                        " for rows of independent standard normal coordinates";
    if (size > std::log(m))
      report.warning =
          "for such rows the estimate is useless: |x + y|^2 = " + shown(size) +
          " is above log(m) = " + shown(std::log(m)) +
          ", and a few features decide the sum; scale the rows "
          "down, or keep the exact kernel";
  }
  Value estimate = times(DotOp::create(builder, op.getLoc(), phiQ, phiK),
                         real(1 / channels));
  return times(rest, estimate);
}

//===----------------------------------------------------------------------===//
// Random Fourier features
//===----------------------------------------------------------------------===//

Value FeatureRewriter::rff() {
  std::optional<Exponential> kernel = asExponential();
  std::optional<DistanceForm> distance =
      kernel ? asDistance(form, kernel->exponent) : std::nullopt;
  if (!distance || !form.rangeOf(distance->factor).isNegative())
    return refuse("rff estimates a Gaussian, exp(-sqdist(q, k)/(2*h^2)); kappa "
                  "is not one. For exp(dot(q, k)) write favor");
  if (!mayBeSigned())
    return refuse("the estimate of rff takes both signs, and a mass must not; "
                  "write `allow signed`, or favor, which is positive");
  Polynomial c = distance->factor.scaled(Rational(-2));
  Polynomial root = half(form, c);
  Value x = scaled(emit.row(form.atom(distance->dot).rows[0]), root);
  Value y = scaled(emit.row(form.atom(distance->dot).rows[1]), root);
  Polynomial others = form.multiply(kernel->rest, form.exp(distance->constant));
  Value rest = numberOf(others) == 1 ? Value() : emit.scalar(others);
  if (!x || !y || (!rest && numberOf(others) != 1))
    return refuse("rff: kappa has no form in the kernel language");
  Value phiQ = random(RandomKind::Trigonometric, x, /*stream=*/0),
        phiK = random(RandomKind::Trigonometric, y, /*stream=*/0);

  auto m = static_cast<double>(features.getCount());
  report.channels = 2 * m;
  report.formula = "dot(phi(x), phi(y))/" + shown(m) +
                   " with x = " + form.str(root) +
                   "*q, y likewise of k, phi_r(x) = "
                   "(cos(w_r.x), sin(w_r.x))";
  report.source = "Rahimi and Recht 2007, Random features for large-scale "
                  "kernel machines, algorithm 1";
  double limit = std::log(2 * m);
  report.condition = "exp(r/2)*(1 - exp(-r))/sqrt(2*m) for a pair with r = |x "
                     "- y|^2, so r should stay below log(2*m) = " +
                     shown(limit);
  double scale = numberOf(c);
  auto length = static_cast<double>(lengthOf(distance->dot));
  if (length > 0 && !std::isnan(scale)) {
    double size = 2 * scale * length;
    report.error = -std::exp(size / 2) * std::expm1(-size) / std::sqrt(2 * m);
    report.condition += "; r = " + shown(size) +
                        " for rows of independent standard normal coordinates";
    if (size > limit)
      report.warning = "for such rows the estimate is useless: kappa is below "
                       "the noise, 1/sqrt(2*m) = " +
                       shown(1 / std::sqrt(2 * m));
  }
  Value estimate =
      times(DotOp::create(builder, op.getLoc(), phiQ, phiK), real(1 / m));
  return times(rest, estimate);
}

//===----------------------------------------------------------------------===//
// SLAY
//===----------------------------------------------------------------------===//

/// The rms error of kappa at the angle s, relative to it, for the constants c
/// and d: that of the quadrature, and that of the features at each node.
static double slayError(const std::vector<QuadratureNode> &nodes, double c,
                        double d, double s, double m) {
  double sum = 0, variance = 0;
  for (QuadratureNode node : nodes) {
    double t = node.point * d / c, value = node.weight * std::exp(t * s);
    sum += value;
    variance += value * value * std::expm1(2 * t * (1 + s)) / m;
  }
  double exact = c / (c - d * s), bias = sum - exact;
  return std::sqrt(bias * bias + variance) / exact;
}

Value FeatureRewriter::slay() {
  std::optional<Spherical> yat = asSpherical();
  if (!yat)
    return refuse("slay estimates (dot(q, k) + b)^2/(sqdist(q, k) + eps) with "
                  "eps > 0 on the unit sphere; write q = unit(q) and k = "
                  "unit(k), and declare eps > 0");
  const std::vector<RowId> rows = form.atom(yat->dot).rows;
  Value q = emit.row(rows[0]), k = emit.row(rows[1]);
  Polynomial inverse = form.power(yat->constant, -1);
  Polynomial slope = yat->slope.scaled(Rational(-1));
  if (!q || !k)
    return refuse("slay: kappa has no form in the kernel language");

  std::vector<QuadratureNode> nodes =
      gaussLaguerre(static_cast<unsigned>(features.getNodes()));
  auto m = static_cast<double>(features.getCount());
  Value sum;
  for (auto [n, node] : llvm::enumerate(nodes)) {
    Rational point = *Rational::fromDouble(node.point);
    Polynomial root = half(form, form.multiply(slope, inverse).scaled(point));
    Value phiQ = random(RandomKind::Positive, scaled(q, root), int64_t(n)),
          phiK = random(RandomKind::Positive, scaled(k, root), int64_t(n));
    if (!phiQ || !phiK)
      return refuse("slay: kappa has no form in the kernel language");
    sum = plus(sum, times(DotOp::create(builder, op.getLoc(), phiQ, phiK),
                          real(node.weight / m)));
  }
  sum = times(sum, emit.scalar(inverse));

  Value numerator;
  auto length = static_cast<double>(lengthOf(yat->dot));
  double square = length * (length + 1) / 2, channels = square;
  unsigned degree = yat->numerator.degreeIn(yat->dot);
  if (features.getAnchors()) {
    std::vector<Polynomial> c = yat->numerator.inPowersOf(yat->dot);
    if (degree != 2 || !c[0].isZero() || !c[1].isZero())
      return refuse("poly = anchors estimates dot(q, k)^2, and the numerator "
                    "is " +
                    form.str(yat->numerator) + "; write poly = exact");
    // As many anchors as features, of a stream of their own.
    int64_t stream = features.getNodes();
    auto anchors = [&](Value row) -> Value {
      return RandomFeaturesOp::create(builder, op.getLoc(), RandomKind::Anchors,
                                      row, features.getCount(),
                                      features.getSeed(), stream, false, false);
    };
    numerator =
        times(times(DotOp::create(builder, op.getLoc(), anchors(q), anchors(k)),
                    real(1 / m)),
              numberOf(c[2]) == 1 ? Value() : emit.scalar(c[2]));
    channels = m;
  } else {
    // Powers that the numerator lacks take no channels.
    std::vector<Polynomial> c = yat->numerator.inPowersOf(yat->dot);
    channels = 0;
    double each = 1;
    for (unsigned n = 0; n < c.size(); ++n) {
      each = n == 0 ? 1 : each * (length + n - 1) / n;
      channels += c[n].isZero() ? 0 : each;
    }
    numerator = emit.scalar(yat->numerator);
    if (form.rangeOf(yat->numerator).isNonNegative())
      signReason = "positive features times " + form.str(yat->numerator) +
                   ", which is non-negative";
  }
  if (!numerator || !sum)
    return refuse("slay: kappa has no form in the kernel language");
  channels *= m * static_cast<double>(nodes.size());
  if (!countChannels(channels, lengthOf(yat->dot), 0))
    return {};

  report.formula =
      "N(s)*sum_r w_r/c*dot(phi_r(x_r), phi_r(y_r))/" + shown(m) + " over " +
      std::to_string(nodes.size()) +
      " Gauss-Laguerre nodes t_r, with N(s) = " + form.str(yat->numerator) +
      (features.getAnchors() ? " estimated by anchors" : "") +
      ", s the dot, c = " + form.str(yat->constant) + ", x_r = sqrt(t_r*" +
      form.str(slope) + "/c)*q, y_r likewise of k, and positive features phi_r";
  report.source = "Laplace's 1/(c - d s) = int exp(-t (c - d s)) dt, by "
                  "Gauss-Laguerre quadrature and the positive features of "
                  "Choromanski et al. 2021, arXiv 2009.14794, lemma 1";
  double c = numberOf(yat->constant), d = numberOf(slope);
  if (!std::isnan(c) && !std::isnan(d)) {
    report.error = slayError(nodes, c, d, 0, m);
    report.condition =
        "of the quotient at s = 0, where most pairs of long rows are; " +
        shown(slayError(nodes, c, d, 1, m)) + " at s = 1";
  } else {
    report.condition = "depends on " + form.str(yat->constant) + "; with " +
                       form.str(yat->constant) + " = 3 and d = 2, " +
                       shown(slayError(nodes, 3, 2, 0, m)) + " at s = 0 and " +
                       shown(slayError(nodes, 3, 2, 1, m)) + " at s = 1";
  }
  if (features.getAnchors())
    report.warning = "anchors estimate (1 + 2 s^2)/(d (d + 2)) and not s^2: no "
                     "pair weighs more than three times another on their "
                     "account; poly = exact has none of that";
  return times(numerator, sum);
}
