//===- Laguerre.cpp - Gauss-Laguerre quadrature ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Laguerre.h"

using namespace attn;

/// (k + 1) L_{k+1}(x) = (2 k + 1 - x) L_k(x) - k L_{k-1}(x).
static double laguerre(unsigned n, double x) {
  double before = 0, value = 1;
  for (unsigned k = 0; k < n; ++k) {
    double next = ((2.0 * k + 1 - x) * value - k * before) / (k + 1.0);
    before = value;
    value = next;
  }
  return value;
}

std::vector<QuadratureNode> attn::gaussLaguerre(unsigned n) {
  // Between two zeros of L_{m-1}, below the first and above the last there is
  // one of L_m, and all are below 4 m + 2.
  std::vector<double> zeros;
  for (unsigned m = 1; m <= n; ++m) {
    std::vector<double> next;
    for (unsigned t = 0; t < m; ++t) {
      double low = t == 0 ? 0 : zeros[t - 1];
      double high = t + 1 == m ? 4.0 * m + 2 : zeros[t];
      bool positive = laguerre(m, low) > 0;
      constexpr int halvings = 200; // until nothing lies in between
      for (int step = 0; step < halvings; ++step) {
        double middle = (low + high) / 2;
        if (middle <= low || middle >= high)
          break;
        ((laguerre(m, middle) > 0) == positive ? low : high) = middle;
      }
      next.push_back((low + high) / 2);
    }
    zeros = std::move(next);
  }
  std::vector<QuadratureNode> nodes;
  for (double x : zeros) {
    double above = (n + 1.0) * laguerre(n + 1, x);
    nodes.push_back({x, x / (above * above)});
  }
  return nodes;
}
