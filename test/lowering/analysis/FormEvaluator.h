//===- FormEvaluator.h - normal forms at one pair of rows -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a normal form says is compared with what the IR says: at rows and
// parameters that a PointEvaluator has just met.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_LOWERING_ANALYSIS_FORMEVALUATOR_H
#define ATTN_TEST_LOWERING_ANALYSIS_FORMEVALUATOR_H

#include "lowering/analysis/NormalForm.h"
#include "lowering/analysis/PointEvaluator.h"
#include <cmath>
#include <random>

namespace attn {

class FormEvaluator {
public:
  using Row = PointEvaluator::Row;
  FormEvaluator(const NormalForm &form, PointEvaluator &point)
      : form(form), point(point) {}

  /// NaN where a leaf was not met.
  double operator()(const Polynomial &p) {
    double sum = 0;
    for (const auto &[monomial, coefficient] : p.terms()) {
      double term = toDouble(coefficient);
      for (auto [id, power] : monomial)
        term *= std::pow(noisy(atom(id)), power);
      term = noisy(term);
      sum += term;
      size = std::max(size, std::fabs(term));
    }
    return sum;
  }
  /// Numbers are off by up to this, relatively, as if they were rounded so.
  void setNoise(double relative, uint64_t seed) {
    noise = relative;
    random.seed(seed);
  }
  double radius = 1; ///< what the symbol R stands for
  double size = 0;   ///< of the largest term: what rounding is measured against

private:
  double noisy(double x) {
    return noise == 0
               ? x
               : x * (1 +
                      std::uniform_real_distribution<>(-noise, noise)(random));
  }
  double atom(AtomId id) {
    const FormAtom &atom = form.atom(id);
    auto argument = [&](size_t n) { return (*this)(atom.args[n]); };
    switch (atom.kind) {
    case FormAtom::Dot: {
      Row a = row(atom.rows[0]), b = row(atom.rows[1]);
      double sum = 0;
      for (size_t d = 0; d < a.size(); ++d)
        sum += a[d] * b[d];
      return sum;
    }
    case FormAtom::Norm: {
      double sum = 0;
      for (double x : row(atom.rows[0]))
        sum += x * x;
      return sum;
    }
    case FormAtom::Exp:
      return std::exp(argument(0));
    case FormAtom::Log:
      return std::log(argument(0));
    case FormAtom::Power:
      return std::pow(argument(0), toDouble(atom.exponent));
    case FormAtom::Leaf:
      if (atom.tag[0] == 'x' && atom.axes == kCoordinateAxis)
        return coordinates[std::stoul(atom.tag.substr(1))];
      if (atom.tag == "R")
        return radius;
      return atom.origin ? point.scalar(atom.origin) : std::nan("");
    case FormAtom::Function:
      break;
    }
    if (atom.tag == "relu")
      return std::max(argument(0), 0.0);
    if (atom.tag == "tanh")
      return std::tanh(argument(0));
    if (atom.tag == "cos")
      return std::cos(argument(0));
    if (atom.tag == "sin")
      return std::sin(argument(0));
    if (atom.tag == "select") {
      double chosen = argument(0);
      return std::isnan(chosen) ? chosen
             : chosen != 0      ? argument(1)
                                : argument(2);
    }
    if (atom.tag == "olt") {
      double a = argument(0), b = argument(1);
      return std::isnan(a + b) ? a + b : a < b;
    }
    bool plain = atom.origin && !(atom.axes & kCoordinateAxis);
    return plain ? point.scalar(atom.origin) : std::nan("");
  }
  Row row(RowId id) {
    Row result = rowOf(id);
    for (double &x : result)
      x = noisy(x);
    return result;
  }
  Row rowOf(RowId id) {
    const FormRow &row = form.row(id);
    switch (row.kind) {
    case FormRow::Scaled: {
      Row x = this->row(row.rows[0]);
      double factor = (*this)(row.args[0]);
      for (double &c : x)
        c *= factor;
      return x;
    }
    case FormRow::Map: {
      std::vector<Row> operands;
      for (RowId operand : row.rows)
        operands.push_back(this->row(operand));
      Row result(operands[0].size());
      for (size_t d = 0; d < result.size(); ++d) {
        coordinates.clear();
        for (const Row &operand : operands)
          coordinates.push_back(operand[d]);
        result[d] = (*this)(row.args[0]);
      }
      return result;
    }
    default:
      return row.origin ? point.row(row.origin) : Row(1, std::nan(""));
    }
  }
  const NormalForm &form;
  PointEvaluator &point;
  std::vector<double> coordinates;
  double noise = 0;
  std::minstd_rand random;
};

} // namespace attn

#endif // ATTN_TEST_LOWERING_ANALYSIS_FORMEVALUATOR_H
