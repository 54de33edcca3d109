//===- FormRewriter.cpp - forms with leaves or rows replaced --------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/NormalForm.h"

using namespace mlir;
using namespace attn;

/// Deeper nests of functions stay as they are.
static constexpr int kDepth = 200;

Polynomial FormRewriter::operator()(const Polynomial &p) {
  Polynomial sum;
  for (const auto &[monomial, coefficient] : p.terms()) {
    Polynomial product = Polynomial::constant(coefficient);
    for (auto [id, power] : monomial) {
      Polynomial factor = atom(id);
      for (unsigned n = 0; n < power; ++n)
        product = form.multiply(product, factor);
    }
    sum = sum + product;
  }
  return sum;
}

Polynomial FormRewriter::atom(AtomId id) {
  if (auto found = known.find(id); found != known.end())
    return found->second;
  ++depth;
  Polynomial result = depth > kDepth ? Polynomial::atom(id) : rebuild(id);
  --depth;
  known.insert_or_assign(id, result);
  return result;
}

Polynomial FormRewriter::rebuild(AtomId id) {
  if (std::optional<Polynomial> given = leaf(id))
    return *given;
  const FormAtom old = form.atom(id); // the table may grow
  std::vector<Polynomial> args;
  for (const Polynomial &argument : old.args)
    args.push_back((*this)(argument));
  switch (old.kind) {
  case FormAtom::Dot:
    return form.dot(row(old.rows[0]), row(old.rows[1]));
  case FormAtom::Norm:
    return form.norm(row(old.rows[0]));
  case FormAtom::Exp:
    return form.exp(args[0]);
  case FormAtom::Log:
    return form.log(args[0]);
  case FormAtom::Power:
    return form.power(args[0], old.exponent);
  case FormAtom::Leaf: {
    if (args.empty())
      return Polynomial::atom(id);
    FormAtom atom;
    atom.tag = old.tag;
    atom.args = std::move(args);
    atom.range = old.range;
    return form.intern(std::move(atom));
  }
  case FormAtom::Function:
    break;
  }
  if (old.tag == "relu")
    return form.relu(args[0]);
  if (old.tag == "cos" || old.tag == "sin")
    return form.trig(old.tag == "cos", args[0]);
  if (old.tag == "tanh" && !args[0].isZero() &&
      args[0].terms().rbegin()->second.sign() < 0)
    return form.function(old.tag, {args[0].scaled(Rational(-1))}, old.range)
        .scaled(Rational(-1));
  return form.function(old.tag, std::move(args), old.range);
}

ScaledRow FormRewriter::row(RowId id) {
  if (auto found = knownRows.find(id); found != knownRows.end())
    return found->second;
  auto compute = [&]() -> ScaledRow {
    if (std::optional<ScaledRow> given = input(id))
      return *given;
    FormRow row = form.row(id);
    if (row.rows.empty() && row.args.empty())
      return {NormalForm::number(1), id};
    row.origin = {};
    row.axes = Uniform;
    for (Polynomial &argument : row.args)
      argument = (*this)(argument);
    if (row.kind == FormRow::Scaled) {
      ScaledRow inner = this->row(row.rows[0]);
      return {form.multiply(row.args[0], inner.factor), inner.row};
    }
    for (RowId &operand : row.rows)
      operand = form.materialise(this->row(operand));
    return form.scaledOf(form.intern(std::move(row)));
  };
  ++depth;
  ScaledRow result =
      depth > kDepth ? ScaledRow{NormalForm::number(1), id} : compute();
  --depth;
  knownRows.insert_or_assign(id, result);
  return result;
}

//===----------------------------------------------------------------------===//
// Sides swapped
//===----------------------------------------------------------------------===//

namespace {
class Mirror : public FormRewriter {
public:
  using FormRewriter::FormRewriter;
  friend class attn::NormalForm;

protected:
  std::optional<Polynomial> leaf(AtomId id) override {
    const FormAtom &atom = form.atom(id);
    if (atom.kind != FormAtom::Leaf)
      return std::nullopt;
    if (atom.tag == "i" || atom.tag == "j")
      return swapped.at(atom.tag == "i" ? 0 : 1);
    // What was left as it is has no mirror image.
    if (atom.args.empty() && (atom.axes & PairAxes))
      return form.function("mirror" + std::to_string(id), {}, Interval::all());
    return std::nullopt;
  }
  std::optional<ScaledRow> input(RowId id) override {
    const FormRow &row = form.row(id);
    if (row.kind == FormRow::Input)
      return ScaledRow{NormalForm::number(1), id == 0 ? 1U : 0U};
    return std::nullopt;
  }

public:
  std::vector<Polynomial> swapped; ///< j, i
};
} // namespace

Polynomial NormalForm::mirrored(const Polynomial &p) {
  Mirror mirror(*this);
  mirror.swapped = {position(Position::J), position(Position::I)};
  return mirror(p);
}

bool NormalForm::isMirrored(RowId a, RowId b) {
  Mirror mirror(*this);
  mirror.swapped = {position(Position::J), position(Position::I)};
  ScaledRow image = mirror.row(a);
  return materialise(image) == b;
}
