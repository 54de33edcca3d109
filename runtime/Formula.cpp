//===- Formula.cpp - functions of rows and masks in C++ -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Formula.h"

#include <cmath>

using namespace attn;
using detail::TermRef;

Real attn::dot(const Row &a, const Row &b) {
  return Real(detail::callTerm("dot", {a.term(), b.term()}));
}

Real attn::sqdist(const Row &a, const Row &b) {
  return Real(detail::callTerm("sqdist", {a.term(), b.term()}));
}

Row attn::unit(const Row &x) {
  return Row(detail::callTerm("unit", {x.term()}));
}

Row attn::rope(const Row &x, const Real &position, double base,
               bool interleaved) {
  std::vector<TermRef> operands = {x.term(), position.term()};
  if (base != 10000 || interleaved)
    operands.push_back(base == std::floor(base) && std::fabs(base) < 1e15
                           ? detail::integerTerm(static_cast<int64_t>(base))
                           : detail::realTerm(base));
  if (interleaved)
    operands.push_back(detail::integerTerm(1));
  return Row(detail::callTerm("rope", std::move(operands)));
}

Row attn::outer(const Row &a, const Row &b) {
  return Row(detail::callTerm("outer", {a.term(), b.term()}));
}

Row attn::power(const Row &x, int degree) {
  return Row(
      detail::callTerm("power", {x.term(), detail::integerTerm(degree)}));
}

Int Dim::operator()(const Row &x) const {
  return Int(detail::callTerm("dim", {x.term()}));
}

Bool attn::window(const Int &left, const Int &right) {
  return Bool(detail::callTerm("window", {left.term(), right.term()}));
}

Bool attn::prefix(const Int &n) {
  return Bool(detail::callTerm("prefix", {n.term()}));
}

Bool attn::document(const Param &ids) {
  return Bool(detail::callTerm("document", {ids.term()}));
}
