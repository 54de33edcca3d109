//===- Mercer.h - positive semi-definite kernels ----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is positive semi-definite (Mercer) if no Gram matrix of it has a
// negative eigenvalue. The rules, on a normal form:
//   - dot of one map of both rows; f(q) f(k); sums with coefficients >= 0;
//     products (Schur 1911); f(q) M f(k) with a positive semi-definite M;
//   - exp(E) where E is conditionally positive definite (Schoenberg 1938):
//     Gaussian and Laplacian kernels, exp of a dot, exp(-a |i - j|);
//   - N^-a, a > 0, where N > 0 and -N is conditionally positive definite
//     (Berg, Christensen, Ressel 1984, chapter 3): inverse multiquadrics,
//     rational quadratics, 1 / (c - s);
//   - power series in a dot with coefficients >= 0 (Schoenberg 1942): cosh.
// E is conditionally positive definite if it is f(q) + f(k) + a kernel that is
// positive semi-definite - c N^b - c log N, 0 < b <= 1, c >= 0, with N as above
// (same book, 3.2.10: Bernstein functions of negative definite kernels).
// Rows and positions of both roles are points of one set here.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_MERCER_H
#define ATTN_LOWERING_ANALYSIS_MERCER_H

#include "lowering/analysis/NormalForm.h"

namespace attn {

/// The terms of a kernel that share their factors of both sides: pair *
/// sum of coefficient * query * key.
struct PairGroup {
  using Monomial = Polynomial::Monomial;
  Monomial pair;
  /// By the factors of q's side and of k's side; coefficients of parameters.
  std::map<std::pair<Monomial, Monomial>, Polynomial> entries;
};
std::vector<PairGroup> pairGroups(const NormalForm &form, const Polynomial &p);
/// What a polynomial of one term says.
Polynomial asPolynomial(const Polynomial::Monomial &monomial);

class Mercer {
public:
  explicit Mercer(NormalForm &form) : form(form) {}

  bool isPsd(const Polynomial &p);
  bool isConditional(const Polynomial &e);
  /// The group as f(q) M f(k): the functions of q, and M; nothing if the key's
  /// functions are no mirror images of them.
  struct SideForm {
    std::vector<Polynomial::Monomial> basis;
    std::vector<std::vector<Polynomial>> matrix;
  };
  std::optional<SideForm> sideForm(const PairGroup &group);
  bool isAtomPsd(AtomId id);
  bool isGroupPsd(const PairGroup &group);

  NormalForm &form;
  /// The steps of all proofs that succeeded.
  std::vector<std::string> steps;
  /// Where the first proof failed that was not saved by another.
  std::string obstacle;
  mlir::Value culprit;

private:
  bool isMatrixPsd(const std::vector<std::vector<Polynomial>> &matrix);
  bool isSeriesPsd(const std::vector<PairGroup> &groups, size_t failed,
                   std::vector<bool> &done);
  void say(const std::string &step);
  bool fail(const std::string &why, mlir::Value where);

  std::map<std::string, bool> known, knownConditional;
  int depth = 0;
};

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_MERCER_H
