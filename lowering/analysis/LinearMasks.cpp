//===- LinearMasks.cpp - masks under which the linear order is legal ------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/LinearMasks.h"

#include "lowering/analysis/ExpressionText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// What the mask is
//===----------------------------------------------------------------------===//

namespace {
enum class Part { Causal, StrictCausal, Document, Window, Keys, Other };
} // namespace

static Part classifyPart(NormalForm &form, Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return Part::Other;
  Polynomial difference =
      form.scalar(compare.getLhs()) - form.scalar(compare.getRhs());
  Polynomial one = NormalForm::number(1);
  Polynomial atMostZero;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sle:
    atMostZero = difference;
    break;
  case arith::CmpIPredicate::slt:
    atMostZero = difference + one;
    break;
  case arith::CmpIPredicate::sge:
    atMostZero = difference.scaled(Rational(-1));
    break;
  case arith::CmpIPredicate::sgt:
    atMostZero = one - difference;
    break;
  case arith::CmpIPredicate::eq: {
    // f(i) == f(j).
    bool pair = form.axesOf(difference) == PairAxes;
    return pair && (form.mirrored(difference) + difference).isZero()
               ? Part::Document
               : Part::Other;
  }
  default:
    return Part::Other;
  }
  Polynomial i = form.position(Position::I), j = form.position(Position::J);
  Polynomial shift = atMostZero - (j - i);
  if (shift.isZero())
    return Part::Causal;
  if ((shift - one).isZero())
    return Part::StrictCausal;
  if (form.axesOf(shift) == Uniform ||
      form.axesOf(atMostZero - (i - j)) == Uniform)
    return Part::Window;
  return form.axesOf(atMostZero) == KeyAxis ? Part::Keys : Part::Other;
}

MaskKind attn::classifyMask(NormalForm &form) {
  MaskKind kind;
  Region &mask = form.getOp().getMask();
  if (mask.empty()) {
    kind.name = "none";
    kind.legal = true;
    return kind;
  }
  form.expand(mask.front());
  SmallVector<Value> work = {mask.front().getTerminator()->getOperand(0)};
  bool causal = false, strict = false, document = false;
  while (!work.empty()) {
    Value condition = work.pop_back_val();
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      work.push_back(both.getLhs());
      work.push_back(both.getRhs());
      continue;
    }
    auto constant = condition.getDefiningOp<arith::ConstantOp>();
    if (constant && cast<IntegerAttr>(constant.getValue()).getInt() != 0)
      continue;
    Part part = classifyPart(form, condition);
    causal |= part == Part::Causal;
    strict |= part == Part::StrictCausal;
    document |= part == Part::Document;
    if (part == Part::Causal || part == Part::StrictCausal ||
        part == Part::Document)
      continue;
    kind.name = part == Part::Window ? "window" : "arbitrary";
    kind.culprit = condition;
    kind.reason =
        part == Part::Window
            ? "a window drops old keys one by one; a sum that is carried along "
              "cannot forget them"
        : part == Part::Keys
            ? "a condition on keys alone is not built; multiply it into kappa"
            : "an arbitrary condition makes a sum of its own for every query";
  }
  kind.ordered = causal || strict;
  if (!kind.name.empty())
    return kind;
  kind.legal = true;
  kind.name = strict ? "strict_causal" : causal ? "causal" : "";
  if (document) {
    kind.name += (kind.name.empty() ? "" : " and ") + std::string("document");
    kind.reason = "equal ids must stand in one run: the state is reset where "
                  "they change";
  }
  if (kind.name.empty())
    kind.name = "none";
  return kind;
}

//===----------------------------------------------------------------------===//
// What the kernel allows
//===----------------------------------------------------------------------===//

/// min(x, 0) as x - relu(x), times something positive: at most 0.
static bool isMinimumWithZero(const NormalForm &form, const Polynomial &p) {
  if (p.terms().size() != 2)
    return false;
  for (const auto &[monomial, coefficient] : p.terms()) {
    if (coefficient.sign() > 0 || monomial.size() != 1)
      continue;
    const FormAtom &atom = form.atom(monomial[0].first);
    if (monomial[0].second == 1 && atom.tag == "relu")
      return (p - (atom.args[0] - asPolynomial(monomial)).scaled(-coefficient))
          .isZero();
  }
  return false;
}

/// An exponential whose exponent is not proven to be at most 60.
static std::optional<AtomId> unboundedExponential(NormalForm &form,
                                                  const Polynomial &p) {
  constexpr double largest = 60; // as for the gauge
  for (const auto &term : p.terms())
    for (auto [id, power] : term.first) {
      const FormAtom atom = form.atom(id);
      if (atom.kind == FormAtom::Exp && atom.axes != Uniform &&
          form.rangeOf(atom.args[0]).hi > largest &&
          !isMinimumWithZero(form, atom.args[0]))
        return id;
    }
  return std::nullopt;
}

LinearMasks attn::linearMasks(NormalForm &form,
                              const SeparableVerdict &separable,
                              const MaskKind &mask) {
  LinearMasks masks;
  if (separable.verdict != Verdict::Yes) {
    masks.refusal = "not separable: " + separable.reasons.front();
    return masks;
  }
  const FeatureMap &map = *separable.map;
  std::vector<Polynomial> parts;
  for (const FeatureBlock &block : map.blocks) {
    parts.push_back(block.query);
    parts.push_back(block.key);
  }
  for (auto [query, key] : map.rows)
    for (RowId id : {query, key})
      for (const Polynomial &argument : form.row(id).args)
        parts.push_back(argument);
  for (const Polynomial &part : parts)
    if (std::optional<AtomId> id = unboundedExponential(form, part)) {
      masks.refusal = "features with an exponent that is not bounded, " +
                      form.str(Polynomial::atom(*id)) +
                      ", need a running maximum, which a sum over keys that is "
                      "carried along does not have";
      return masks;
    }
  if (map.decay.isZero()) {
    masks.legal = {"none", "causal", "strict_causal", "document"};
    masks.here = mask.legal;
  } else {
    masks.legal = {"causal", "strict_causal"};
    masks.refusal = "the decay exp(e(i) - e(j)) is used as ratios, which stay "
                    "bounded only where j <= i";
    masks.here = mask.legal && mask.ordered;
  }
  if (!mask.legal)
    masks.refusal = mask.name + " mask: " + mask.reason;
  return masks;
}
