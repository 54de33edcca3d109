//===- LaguerreTest.cpp - the nodes of Gauss-Laguerre quadrature ----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Laguerre.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace attn;

namespace {

/// L_2 = (x^2 - 4 x + 2)/2.
TEST(Laguerre, TwoNodesInClosedForm) {
  std::vector<QuadratureNode> nodes = gaussLaguerre(2);
  double root = std::sqrt(2.0);
  EXPECT_NEAR(nodes[0].point, 2 - root, 1e-14);
  EXPECT_NEAR(nodes[1].point, 2 + root, 1e-14);
  EXPECT_NEAR(nodes[0].weight, (2 + root) / 4, 1e-14);
  EXPECT_NEAR(nodes[1].weight, (2 - root) / 4, 1e-14);
}

/// The integral of exp(-t) t^p is p!, for p < 2 n.
TEST(Laguerre, IntegratesPolynomials) {
  for (unsigned n : {1u, 3u, 8u, 16u, 32u}) {
    std::vector<QuadratureNode> nodes = gaussLaguerre(n);
    ASSERT_EQ(nodes.size(), n);
    for (unsigned p = 0; p < std::min(2 * n, 20u); ++p) {
      double sum = 0;
      for (QuadratureNode node : nodes)
        sum += node.weight * std::pow(node.point, p);
      EXPECT_NEAR(sum / std::tgamma(p + 1.0), 1, 1e-10) << n << ", t^" << p;
    }
  }
}

} // namespace
