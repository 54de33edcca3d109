//===- NormalForm.h - kappa as a polynomial of what it is made of -*- C++
//-*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Structural rules see one spelling of a kernel: products and sums are expanded
// into a Polynomial, sqdist becomes |q|^2 + |k|^2 - 2 q.k, exponentials of one
// side are split off, powers of one base are collected, and whatever is left
// (a dot, a norm, a parameter, the tanh of something) is an atom. Equal atoms
// have equal numbers, so equality of forms is equality of polynomials. An atom
// knows the sides that it depends on; `mirrored` swaps the sides, which tells
// whether f(q) and g(k) are one function.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_NORMALFORM_H
#define ATTN_LOWERING_ANALYSIS_NORMALFORM_H

#include "dialect/attn/Axes.h"
#include "lowering/analysis/Notation.h"
#include "lowering/analysis/Polynomial.h"
#include "lowering/analysis/ValueRange.h"
#include <map>

namespace attn {

using AtomId = unsigned;
using RowId = unsigned;

/// Beside QueryAxis and KeyAxis: depends on the coordinate of a map's row.
inline constexpr unsigned kCoordinateAxis = 4;

/// What a polynomial's variable stands for.
struct FormAtom {
  enum Kind {
    Leaf,     ///< a position, a length, a load, or a value left as it is
    Dot,      ///< of two rows
    Norm,     ///< |x|^2 of one row
    Exp,      ///< of args[0], whose terms all depend on the same sides
    Log,      ///< of args[0] > 0
    Power,    ///< args[0]^exponent, no natural number
    Function, ///< `tag` of args: tanh, relu, cos, comparisons...
  };
  Kind kind = Leaf;
  std::string tag;
  std::vector<Polynomial> args;
  std::vector<RowId> rows;
  Rational exponent;
  unsigned axes = Uniform;
  Interval range;
  mlir::Value origin; ///< an expression of the user's that it came from
};

struct FormRow {
  enum Kind {
    Input,
    Param,
    Map,
    Scaled,
    Unit,
    Project,
    Rope,
    Power,
    Concat,
    Outer,
    Random,
    Opaque
  };
  Kind kind = Opaque;
  std::string tag;
  std::vector<RowId> rows;
  /// The body of a map, the factor of Scaled, positions, indices.
  std::vector<Polynomial> args;
  unsigned axes = Uniform;
  RowRange range;
  int64_t length = mlir::ShapedType::kDynamic;
  mlir::Value origin;
};

/// factor * row.
struct ScaledRow {
  Polynomial factor;
  RowId row;
};

class NormalForm {
public:
  /// `ranges` must outlive the form. `ordered`: only pairs with j <= i are
  /// looked at, so that abs(i - j) is i - j.
  NormalForm(AttentionOp op, ValueRangeAnalysis &ranges, bool ordered = false);

  AttentionOp getOp() const { return op; }
  /// The form of kappa.
  const Polynomial &kappa() const { return whole; }
  /// The form of a scalar in the regions of kappa or the mask.
  Polynomial scalar(mlir::Value value);
  /// Expands the operations of a block in order.
  void expand(mlir::Block &block);

  const FormAtom &atom(AtomId id) const { return atoms[id]; }
  const FormRow &row(RowId id) const { return rows[id]; }
  size_t atomCount() const { return atoms.size(); }
  size_t rowCount() const { return rows.size(); }
  unsigned axesOf(const Polynomial::Monomial &monomial) const;
  unsigned axesOf(const Polynomial &p) const;
  /// On i or j, at any depth.
  bool dependsOnPositions(const Polynomial &p) const;
  /// On q or k, at any depth.
  bool dependsOnRows(const Polynomial &p) const;
  /// Proven: term by term, by the rules of signOf, and with the distances that
  /// are hidden in dots.
  Interval rangeOf(const Polynomial &p);

  static Polynomial number(int64_t n) {
    return Polynomial::constant(Rational(n));
  }
  Polynomial multiply(const Polynomial &a, const Polynomial &b);
  Polynomial power(const Polynomial &base, const Rational &exponent);
  Polynomial power(const Polynomial &base, int64_t exponent) {
    return power(base, Rational(exponent));
  }
  Polynomial exp(const Polynomial &x);
  Polynomial log(const Polynomial &x);
  Polynomial relu(const Polynomial &x);
  Polynomial position(Position which);
  /// An unknown >= 0 of that name.
  Polynomial symbol(const std::string &name);
  Polynomial function(const std::string &tag, std::vector<Polynomial> args,
                      Interval range, mlir::Value origin = {});
  Polynomial dot(const ScaledRow &a, const ScaledRow &b);
  Polynomial norm(const ScaledRow &a);

  /// The same with the sides swapped.
  Polynomial mirrored(const Polynomial &p);
  bool isMirrored(RowId a, RowId b);

  /// Equal for equal polynomials, and no others.
  std::string key(const Polynomial &p) const;
  /// In the user's notation, cut where it gets long.
  std::string str(const Polynomial &p);
  std::string str(const Polynomial::Monomial &monomial);
  std::string rowText(RowId id);
  /// `; b >= 0, declared; softplus(c) > 0`: what the sign of p rests on.
  std::string assumptions(const Polynomial &p);
  /// The first expression of the user's inside an atom, to point at.
  mlir::Value originOf(AtomId id) const;

  friend class FormRewriter;

private:
  Polynomial compute(mlir::Operation *op);
  Polynomial leafOf(mlir::Value value);
  Polynomial function(mlir::Operation *op);
  ScaledRow computeRow(mlir::Operation *op);
  ScaledRow computeMap(MapOp op);
  ScaledRow rowOf(mlir::Value value);
  RowId materialise(const ScaledRow &row);
  ScaledRow scaledOf(RowId id);
  RowId intern(FormRow row);
  Polynomial intern(FormAtom atom);
  Polynomial trig(bool cosine, const Polynomial &x);
  Polynomial dotRows(RowId a, RowId b);
  Polynomial normRow(RowId a);
  bool agree(RowId a, RowId b);
  int orderOf(const Polynomial &p);
  std::pair<bool, bool> dependencies(const Polynomial &p) const;
  Polynomial collected(const Polynomial &p);
  Polynomial powerAtom(const Polynomial &base, const Rational &exponent);
  RowRange rangeOfRow(const FormRow &row);
  Interval intervalOf(const Polynomial &p);
  std::string text(const Polynomial &p, int depth);
  std::string text(const Polynomial::Monomial &m, const Rational &c, int depth);
  std::string atomText(AtomId id, int depth, bool &tight);
  std::string functionText(const FormAtom &atom, int depth);
  const FormAtom *asFunction(const Polynomial &p) const;
  Binding bindingOf(const Polynomial &p) const;
  std::string rowText(RowId id, int depth);
  void collectAssumptions(const Polynomial &p, std::vector<std::string> &list,
                          int depth);

  AttentionOp op;
  ValueRangeAnalysis &ranges;
  std::vector<FormAtom> atoms;
  std::vector<FormRow> rows;
  std::vector<Interval> atomRanges;
  std::map<std::string, AtomId> atomKeys;
  std::map<std::string, RowId> rowKeys;
  llvm::DenseMap<mlir::Value, Polynomial> scalars;
  llvm::DenseMap<mlir::Value, ScaledRow> rowForms;
  Polynomial whole;
  bool ordered = false;
  /// Products of terms that may still be made: past that, values stay atoms.
  int64_t budget = 1 << 18;
  int depth = 0;
};

/// Rebuilds forms with leaves and input rows replaced.
class FormRewriter {
public:
  explicit FormRewriter(NormalForm &form) : form(form) {}
  virtual ~FormRewriter() = default;
  Polynomial operator()(const Polynomial &p);
  ScaledRow row(RowId id);

protected:
  /// What replaces a leaf or an input row; nothing: it stays.
  virtual std::optional<Polynomial> leaf(AtomId) { return std::nullopt; }
  virtual std::optional<ScaledRow> input(RowId) { return std::nullopt; }
  NormalForm &form;

private:
  Polynomial atom(AtomId id);
  Polynomial rebuild(AtomId id);
  std::map<AtomId, Polynomial> known;
  std::map<RowId, ScaledRow> knownRows;
  int depth = 0;
};

/// C0 + C1 * |a - b|^2 with C0 and C1 free of rows.
struct DistanceForm {
  Polynomial constant, factor;
  AtomId dot;
};
std::optional<DistanceForm> asDistance(NormalForm &form, const Polynomial &p);

/// The exact decimal or a short one.
std::string str(const Rational &x);
double toDouble(const Rational &x);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_NORMALFORM_H
