//===- Gram.cpp - counterexamples from Gram matrices ----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lowering/analysis/Gram.h"

#include "lowering/analysis/PointEvaluator.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace attn;

using Matrix = std::vector<std::vector<double>>;

std::vector<double> attn::eigenvalues(Matrix a) {
  constexpr int sweeps = 30;
  size_t n = a.size();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    double off = 0, all = 0;
    for (size_t p = 0; p < n; ++p)
      for (size_t q = 0; q < n; ++q)
        (p == q ? all : off) += a[p][q] * a[p][q];
    if (off <= 1e-30 * (all + off))
      break;
    for (size_t p = 0; p < n; ++p)
      for (size_t q = p + 1; q < n; ++q) {
        if (a[p][q] == 0)
          continue;
        double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        double t = (theta < 0 ? -1 : 1) /
                   (std::fabs(theta) + std::sqrt(theta * theta + 1));
        double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (size_t k = 0; k < n; ++k) {
          double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y;
          a[k][q] = s * x + c * y;
        }
        for (size_t k = 0; k < n; ++k) {
          double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y;
          a[q][k] = s * x + c * y;
        }
      }
  }
  std::vector<double> result(n);
  for (size_t k = 0; k < n; ++k)
    result[k] = a[k][k];
  std::sort(result.begin(), result.end());
  return result;
}

namespace {
struct Points {
  std::vector<PointEvaluator::Row> rows; ///< inputs
  std::vector<int64_t> positions;
  const char *name;
};
} // namespace

/// Where kernels that look positive definite at random points give in: on a
/// circle, on a line through 0, near 0, at opposite points.
static Points drawPoints(std::mt19937_64 &random, size_t length, int trial) {
  constexpr size_t count = 8;
  double scale = std::ldexp(1.0, static_cast<int>(random() % 7) - 3);
  std::normal_distribution<> normal(0, scale);
  auto randomRow = [&] {
    PointEvaluator::Row row(length);
    for (double &x : row)
      x = normal(random);
    return row;
  };
  Points points;
  const char *names[] = {"random rows", "rows on a circle", "rows on a line",
                         "rows and their opposites"};
  int pattern = trial % 4;
  points.name = names[pattern];
  PointEvaluator::Row axis = randomRow();
  double angle = static_cast<double>(random() % 1000) / 1000;
  bool circle = pattern == 1 && length >= 2;
  size_t many = circle ? 12 : count;
  for (size_t n = 0; n < many; ++n) {
    PointEvaluator::Row row(length, 0.0);
    if (circle) {
      double turn = angle + 2 * M_PI * static_cast<double>(n) / 12;
      row[0] = scale * std::cos(turn);
      row[1] = scale * std::sin(turn);
    } else if (pattern == 2) {
      double t = std::normal_distribution<>(0, 2)(random);
      for (size_t d = 0; d < length; ++d)
        row[d] = n == 0 ? 0 : t * axis[d];
    } else if (pattern == 3 && n % 2 == 1) {
      row = points.rows.back();
      for (double &x : row)
        x = -x;
    } else {
      row = randomRow();
    }
    points.rows.push_back(std::move(row));
    // Some points share a position, some have only that to tell them apart.
    points.positions.push_back(trial % 2 == 0
                                   ? static_cast<int64_t>(random() % 12)
                                   : static_cast<int64_t>(random() % 2) * 3);
  }
  return points;
}

std::string attn::findGramCounterexample(AttentionOp op, uint64_t seed) {
  auto lengthOf = [](Value input) -> size_t {
    int64_t length = cast<MemRefType>(input.getType()).getDimSize(3);
    return length == ShapedType::kDynamic ? 3 : static_cast<size_t>(length);
  };
  size_t length = lengthOf(op.getQuery());
  bool oneLength = length == lengthOf(op.getKey());
  int tries = affordableTries(op);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < tries; ++trial) {
    Points points = drawPoints(random, length, trial);
    PointEvaluator point(random());
    size_t n = points.rows.size();
    std::vector<PointEvaluator::Row> rows;
    for (size_t a = 0; a < n; ++a) {
      // Both maps give points of the one set.
      unsigned role = oneLength && a % 3 == 2 ? 1 : 0;
      rows.push_back(
          point.mapped(op, role, points.rows[a], points.positions[a]));
    }
    Matrix gram(n, std::vector<double>(n));
    double largest = 0, magnitude = 0;
    bool finite = true;
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < n; ++b) {
        gram[a][b] = point.mappedKappa(
            op, rows[a], rows[b], points.positions[a], points.positions[b]);
        finite &= std::isfinite(gram[a][b]);
        largest = std::max(largest, std::fabs(gram[a][b]));
        magnitude = std::max(magnitude, point.largest());
      }
    if (!finite || largest == 0)
      continue;
    double slack = 1e-9 * largest + 1e-12 * magnitude;
    std::string text;
    llvm::raw_string_ostream stream(text);
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < a; ++b) {
        if (std::fabs(gram[a][b] - gram[b][a]) <= slack)
          continue;
        stream << "not symmetric: kappa(x, y) = "
               << llvm::format("%.4g", gram[a][b])
               << " and kappa(y, x) = " << llvm::format("%.4g", gram[b][a])
               << " at two " << points.name;
        return text;
      }
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < a; ++b)
        gram[a][b] = gram[b][a] = (gram[a][b] + gram[b][a]) / 2;
    std::vector<double> values = eigenvalues(gram);
    if (values.front() >= -slack * static_cast<double>(n))
      continue;
    stream << "the Gram matrix of " << n << " " << points.name
           << " has an eigenvalue of " << llvm::format("%.3g", values.front())
           << ", the largest is " << llvm::format("%.3g", values.back());
    return text;
  }
  return "";
}
