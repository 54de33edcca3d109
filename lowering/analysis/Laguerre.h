//===- Laguerre.h - Gauss-Laguerre quadrature -------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LOWERING_ANALYSIS_LAGUERRE_H
#define ATTN_LOWERING_ANALYSIS_LAGUERRE_H

#include <vector>

namespace attn {

struct QuadratureNode {
  double point, weight;
};

/// The n nodes with sum weight f(point) = integral of exp(-t) f(t) over t > 0
/// for polynomials f of degree < 2 n; points are the zeros of the Laguerre
/// polynomial L_n. n from 1 to 32.
std::vector<QuadratureNode> gaussLaguerre(unsigned n);

} // namespace attn

#endif // ATTN_LOWERING_ANALYSIS_LAGUERRE_H
