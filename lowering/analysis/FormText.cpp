//===- FormText.cpp - normal forms in the user's notation -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Declarations.h"
#include "lowering/analysis/ExpressionText.h"
#include "lowering/analysis/NormalForm.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace attn;

using Monomial = Polynomial::Monomial;

/// What is deeper or longer than a person would read is left out.
static constexpr int kDepth = 6;
static constexpr size_t kLongest = 160, kMostTerms = 12;

static std::string decimal(const llvm::DynamicAPInt &n) {
  std::string text;
  llvm::raw_string_ostream(text) << n;
  return text;
}

double attn::toDouble(const Rational &x) {
  return std::strtod(decimal(x.numerator()).c_str(), nullptr) /
         std::strtod(decimal(x.denominator()).c_str(), nullptr);
}

std::string attn::str(const Rational &x) {
  constexpr int64_t readable = 1000;
  constexpr size_t digits = 16;
  if (x.denominator() == 1 && decimal(x.numerator()).size() <= digits)
    return decimal(x.numerator());
  // 1/3 as it is; 0.2f, a fraction of 2^26, as 0.2.
  if (x.denominator() < readable && !llvm::isPowerOf2_64(static_cast<uint64_t>(
                                        static_cast<int64_t>(x.denominator()))))
    return decimal(x.numerator()) + "/" + decimal(x.denominator());
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.6g", toDouble(x));
  return text;
}

std::string NormalForm::rowText(RowId id) { return rowText(id, kDepth); }

std::string NormalForm::rowText(RowId id, int depth) {
  const FormRow row = rows[id];
  if (row.kind == FormRow::Input)
    return row.tag;
  if (depth <= 0)
    return "...";
  if (row.kind == FormRow::Scaled)
    return text(row.args[0], depth - 1) + "*" + rowText(row.rows[0], depth - 1);
  if (row.kind == FormRow::Random)
    return "phi(" + rowText(row.rows[0], depth - 1) + ")";
  if (row.kind == FormRow::Unit)
    return "unit(" + rowText(row.rows[0], depth - 1) + ")";
  if (row.kind == FormRow::Map && row.rows.size() == 1) {
    // The body with the row in the coordinate's place.
    std::string body = text(row.args[0], depth - 1), name;
    std::string operand = rowText(row.rows[0], depth - 1);
    for (size_t n = 0; n < body.size(); ++n) {
      if (body.compare(n, 2, "x0") == 0 &&
          (n == 0 || !isalnum(static_cast<unsigned char>(body[n - 1])))) {
        name += operand;
        ++n;
      } else {
        name += body[n];
      }
    }
    return name;
  }
  return row.origin ? describe(row.origin) : "a row";
}

/// `tight` says whether the text needs no parentheses under a power.
std::string NormalForm::atomText(AtomId id, int depth, bool &tight) {
  const FormAtom atom = atoms[id];
  tight = true;
  auto argument = [&](size_t n) { return text(atom.args[n], depth - 1); };
  switch (atom.kind) {
  case FormAtom::Leaf:
    if (auto load = atom.origin ? atom.origin.getDefiningOp<memref::LoadOp>()
                                : memref::LoadOp()) {
      ArgAttr declaration = declarationOf(load.getMemRef());
      std::string name =
                      declaration ? declaration.getName().str() : "a parameter",
                  indices;
      ArrayAttr axes = declaration ? declaration.getAxes() : ArrayAttr();
      for (size_t n = 0; n < atom.args.size(); ++n) {
        auto written = writtenIndex(load.getIndices()[n], axisOf(axes, n));
        if (!written || depth <= 0)
          continue;
        indices += indices.empty() ? "[" : ", ";
        indices += written->constant ? std::to_string(*written->constant)
                   : written->value  ? text(scalar(written->value), depth - 1)
                                     : "...";
      }
      return name + indices + (indices.empty() ? "" : "]");
    }
    if (atom.tag.rfind("value", 0) == 0 || atom.tag.rfind("extent", 0) == 0)
      return atom.origin ? describe(atom.origin) : "?";
    return atom.tag;
  case FormAtom::Dot:
    return "dot(" + rowText(atom.rows[0], depth - 1) + ", " +
           rowText(atom.rows[1], depth - 1) + ")";
  case FormAtom::Norm:
    return "|" + rowText(atom.rows[0], depth - 1) + "|^2";
  default:
    break;
  }
  if (depth <= 0)
    return "...";
  switch (atom.kind) {
  case FormAtom::Exp:
    return "exp(" + argument(0) + ")";
  case FormAtom::Log: {
    // log(1 + exp(x)) is softplus(x).
    Polynomial rest = atom.args[0] - number(1);
    if (rest.terms().size() == 1 &&
        rest.terms().begin()->second == Rational(1)) {
      const Monomial &monomial = rest.terms().begin()->first;
      if (monomial.size() == 1 &&
          atoms[monomial[0].first].kind == FormAtom::Exp)
        return "softplus(" +
               text(Polynomial(atoms[monomial[0].first].args[0]), depth - 1) +
               ")";
    }
    return "log(" + argument(0) + ")";
  }
  case FormAtom::Power: {
    std::string base = argument(0);
    const Rational half = Rational(1) / Rational(2);
    if (atom.exponent == half) {
      if (std::optional<Polynomial> root = squareRoot(atom.args[0]))
        return "abs(" + text(*root, depth - 1) + ")";
      return "sqrt(" + base + ")";
    }
    tight = false;
    bool simple = bindingOf(atom.args[0]) == Binding::Atom;
    return (simple ? base : "(" + base + ")") + "^" +
           (atom.exponent.sign() < 0 ? "(" + ::str(atom.exponent) + ")"
                                     : ::str(atom.exponent));
  }
  default: {
    std::string function = functionText(atom, depth);
    return notationOf(atom.tag).binding == Binding::Atom ? function
                                                         : "(" + function + ")";
  }
  }
}

/// Without parentheses around the whole.
std::string NormalForm::functionText(const FormAtom &atom, int depth) {
  Notation notation = notationOf(atom.tag);
  std::string list;
  for (size_t n = 0; n < std::min<size_t>(atom.args.size(), notation.operands);
       ++n) {
    std::string argument = text(atom.args[n], depth - 1);
    bool enough =
        bindingOf(atom.args[n]) >= (n ? notation.others : notation.first);
    list += (n ? notation.between : "") +
            (enough ? argument : "(" + argument + ")");
  }
  return notation.before + list + notation.after;
}

/// The function that `p` is, and nothing else.
const FormAtom *NormalForm::asFunction(const Polynomial &p) const {
  if (p.terms().size() != 1)
    return nullptr;
  const auto &[monomial, coefficient] = *p.terms().begin();
  if (monomial.size() != 1 || monomial[0].second != 1 ||
      !(coefficient == Rational(1)))
    return nullptr;
  const FormAtom &atom = atoms[monomial[0].first];
  return atom.kind == FormAtom::Function ? &atom : nullptr;
}

/// How tightly the text of `p` binds at least.
Binding NormalForm::bindingOf(const Polynomial &p) const {
  if (const FormAtom *function = asFunction(p))
    return notationOf(function->tag).binding;
  if (p.terms().size() != 1)
    return p.isZero() ? Binding::Atom : Binding::Sum;
  const auto &[monomial, coefficient] = *p.terms().begin();
  if (monomial.empty())
    return coefficient.sign() >= 0 && coefficient.denominator() == 1
               ? Binding::Atom
               : Binding::Product;
  bool bare = monomial.size() == 1 && monomial[0].second == 1 &&
              coefficient == Rational(1);
  FormAtom::Kind kind = atoms[monomial[0].first].kind;
  return bare && kind != FormAtom::Power && kind != FormAtom::Norm
             ? Binding::Atom
             : Binding::Product;
}

/// c * monomial, denominators below a stroke; the sign is the caller's.
std::string NormalForm::text(const Monomial &monomial, const Rational &c,
                             int depth) {
  std::string above, below;
  auto times = [](std::string &product, const std::string &factor) {
    product += (product.empty() ? "" : "*") + factor;
  };
  Polynomial exponent; // exponentials of all sides read better as one
  unsigned divisors = 0;
  for (auto [id, power] : monomial) {
    const FormAtom atom = atoms[id];
    if (atom.kind == FormAtom::Exp) {
      exponent = exponent + atom.args[0].scaled(Rational(power));
      continue;
    }
    bool tight = true;
    if (atom.kind == FormAtom::Power && atom.exponent.sign() < 0 && depth > 0) {
      Polynomial base = this->power(atom.args[0], -atom.exponent);
      bool plain = base.terms().size() == 1;
      std::string divisor = text(base, depth - 1);
      times(below, plain && divisor.find('*') == std::string::npos
                       ? divisor
                       : "(" + divisor + ")");
      ++divisors;
      continue;
    }
    std::string factor = atomText(id, depth, tight);
    if (power > 1)
      factor = (tight && factor.find('|') == std::string::npos
                    ? factor
                    : "(" + factor + ")") +
               "^" + std::to_string(power);
    times(above, factor);
  }
  if (!exponent.isZero())
    times(above, "exp(" + text(exponent, depth - 1) + ")");
  if (!(c == Rational(1)) || above.empty()) {
    std::string number = ::str(c);
    bool fraction = number.find('/') != std::string::npos;
    if (fraction && !above.empty())
      number = "(" + number + ")";
    above = number + (above.empty() ? "" : "*" + above);
  }
  if (below.empty())
    return above;
  return above + "/" + (divisors > 1 ? "(" + below + ")" : below);
}

std::string NormalForm::text(const Polynomial &p, int depth) {
  if (p.isZero())
    return "0";
  if (const FormAtom *found = asFunction(p); found && depth > 0) {
    const FormAtom function = *found; // the table may grow
    return functionText(function, depth);
  }
  // The user's squared distance, not its three terms.
  if (p.terms().size() >= 3)
    if (std::optional<DistanceForm> distance = asDistance(*this, p)) {
      const std::vector<RowId> pair = atoms[distance->dot].rows;
      std::string name = "sqdist(" + rowText(pair[0], depth - 1) + ", " +
                         rowText(pair[1], depth - 1) + ")";
      std::string factor = text(distance->factor, depth - 1);
      std::string result = factor == "1"    ? name
                           : factor == "-1" ? "-" + name
                           : distance->factor.terms().size() == 1
                               ? factor + "*" + name
                               : "(" + factor + ")*" + name;
      if (distance->constant.isZero())
        return result;
      std::string rest = text(distance->constant, depth - 1);
      return result + (rest[0] == '-' ? " - " + rest.substr(1) : " + " + rest);
    }
  std::string result;
  size_t count = 0;
  // Higher terms first, as a person writes them.
  for (auto term = p.terms().rbegin(); term != p.terms().rend(); ++term) {
    if (++count > kMostTerms || result.size() > kLongest)
      return result + " + ...";
    bool negative = term->second.sign() < 0;
    std::string one =
        text(term->first, negative ? -term->second : term->second, depth);
    if (result.empty())
      result = (negative ? "-" : "") + one;
    else
      result += (negative ? " - " : " + ") + one;
  }
  return result;
}

std::string NormalForm::str(const Polynomial &p) { return text(p, kDepth); }

std::string NormalForm::str(const Monomial &monomial) {
  return text(monomial, Rational(1), kDepth);
}

//===----------------------------------------------------------------------===//
// What a sign rests on
//===----------------------------------------------------------------------===//

void NormalForm::collectAssumptions(const Polynomial &p,
                                    std::vector<std::string> &list, int depth) {
  auto add = [&](const std::string &text) {
    if (std::find(list.begin(), list.end(), text) == list.end())
      list.push_back(text);
  };
  if (depth <= 0)
    return;
  for (const auto &term : p.terms())
    for (auto [id, power] : term.first) {
      const FormAtom atom = atoms[id];
      if (atom.kind == FormAtom::Leaf) {
        auto load = atom.origin ? atom.origin.getDefiningOp<memref::LoadOp>()
                                : memref::LoadOp();
        ArgAttr declaration =
            load ? declarationOf(load.getMemRef()) : ArgAttr();
        if (declaration && declaration.getRelop()) {
          std::string text;
          llvm::raw_string_ostream stream(text);
          stream << declaration.getName().getValue() << ' '
                 << declaration.getRelop().getValue() << ' '
                 << llvm::format("%g",
                                 declaration.getBound().getValueAsDouble())
                 << ", declared";
          add(text);
        }
        continue;
      }
      bool parameter = atom.axes == Uniform && atom.kind != FormAtom::Power;
      if (parameter && atom.range.isNonNegative()) {
        bool tight = true;
        add(atomText(id, kDepth, tight) +
            (atom.range.isPositive() ? " > 0" : " >= 0"));
        continue;
      }
      for (const Polynomial &argument : atom.args)
        collectAssumptions(argument, list, depth - 1);
    }
}

std::string NormalForm::assumptions(const Polynomial &p) {
  std::vector<std::string> list;
  collectAssumptions(p, list, kDepth);
  std::string text;
  for (const std::string &assumption : list)
    text += "; " + assumption;
  return text;
}
