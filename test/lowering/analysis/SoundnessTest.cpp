//===- SoundnessTest.cpp - every value lies in its interval ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 1,000 random kernels from a fixed seed are evaluated at random rows, and
// every scalar and row on the way is held against what the analysis says of it.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "RandomKernel.h"
#include "lowering/analysis/ExpressionText.h"
#include "lowering/analysis/PointEvaluator.h"
#include "lowering/analysis/ValueRange.h"

using namespace attn;
using namespace mlir;

namespace {
struct Sample {
  PointEvaluator::Row q, k;
};

Sample draw(std::mt19937_64 &random) {
  double scale = std::ldexp(1.0, static_cast<int>(random() % 6) - 3);
  std::normal_distribution<> normal(0, scale);
  Sample sample = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  unsigned pattern = random() % 5;
  for (size_t d = 0; d < 4; ++d) {
    sample.q[d] = pattern == 4 ? 0 : normal(random);
    sample.k[d] = pattern == 0   ? -sample.q[d]
                  : pattern == 1 ? sample.q[d]
                                 : normal(random);
  }
  return sample;
}

void expectInside(Operation *op, PointEvaluator &point,
                  ValueRangeAnalysis &ranges, const std::string &spec) {
  // Far out, float64 itself is no witness.
  double slack = 1e-10 * (1 + point.largest());
  auto inside = [&](const Interval &x, double y) {
    return !std::isfinite(y) || (y >= x.lo - slack && y <= x.hi + slack);
  };
  Value value = op->getResult(0);
  if (isa<RowType>(value.getType())) {
    RowRange range = ranges.row(value);
    double norm = 0;
    for (double x : point.row(value)) {
      norm += x * x;
      EXPECT_TRUE(inside(range.coordinate, x)) << spec << describe(value);
    }
    EXPECT_TRUE(inside(range.sqnorm, norm)) << spec << describe(value);
  } else if (!isa<MemRefType>(value.getType())) {
    double y = point.scalar(value);
    EXPECT_TRUE(inside(ranges.scalar(value), y))
        << spec << describe(value) << " = " << y << " not in "
        << ranges.scalar(value).str();
  }
}
} // namespace

TEST(Soundness, RandomKernelsLieInTheirIntervals) {
  constexpr uint64_t seed = 20240602;
  RandomKernel kernels(seed);
  int checked = 0, proven = 0;
  for (int n = 0; n < 1000; ++n) {
    std::string spec = kernels.spec();
    Kernel kernel(spec);
    ASSERT_TRUE(kernel.op) << spec;
    ValueRangeAnalysis ranges;
    proven += ranges.scalar(kernel.kappa()).isNonNegative();
    for (int trial = 0; trial < 12; ++trial) {
      Sample sample = draw(kernels.random);
      PointEvaluator point(kernels.random());
      point.kappa(kernel.op, sample.q, sample.k);
      if (point.largest() > 1e9)
        continue;
      ++checked;
      for (Operation &op : kernel.body().without_terminator())
        expectInside(&op, point, ranges, spec);
    }
    if (HasFailure())
      return;
  }
  // The test has teeth only if most samples count and proofs succeed at all.
  EXPECT_GT(checked, 6000);
  EXPECT_GT(proven, 300);
  RecordProperty("proven", proven);
}
