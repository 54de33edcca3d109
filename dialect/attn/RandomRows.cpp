//===- RandomRows.cpp - the random rows of feature maps -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled without fused operations: the bits are part of what a spec means.
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/RandomRows.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <mutex>

using namespace attn;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// ln x by 2 atanh((m - 1) / (m + 1)), m in [1/sqrt(2), sqrt(2)).
static double logarithm(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double z = (m - 1) / (m + 1), square = z * z, sum = 0;
  for (int k = 27; k >= 1; k -= 2) // |z| <= 0.172: the next term is < 2^-75
    sum = sum * square + 1.0 / k;
  return exponent * 0.69314718055994531 + 2 * z * sum;
}

namespace {
class Normals {
public:
  Normals(int64_t seed, int64_t stream)
      : state(mixed(mixed(static_cast<uint64_t>(seed)) +
                    static_cast<uint64_t>(stream))) {}

  double next() {
    if (hasSpare) {
      hasSpare = false;
      return spare;
    }
    for (;;) {
      double u = 2 * uniform() - 1, v = 2 * uniform() - 1;
      double s = u * u + v * v;
      if (s >= 1 || s == 0)
        continue;
      double factor = std::sqrt(-2 * logarithm(s) / s);
      spare = v * factor;
      hasSpare = true;
      return u * factor;
    }
  }
  std::vector<double> row(int64_t length) {
    std::vector<double> x(length);
    for (double &c : x)
      c = next();
    return x;
  }

private:
  double uniform() {
    state += 0x9e3779b97f4a7c15u;
    return (static_cast<double>(mixed(state) >> 11) + 0.5) * 0x1p-53;
  }
  uint64_t state;
  double spare = 0;
  bool hasSpare = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static double product(const std::vector<double> &a,
                      const std::vector<double> &b) {
  double sum = 0;
  for (size_t d = 0; d < a.size(); ++d)
    sum += a[d] * b[d];
  return sum;
}

static double norm(const std::vector<double> &x) {
  return std::sqrt(product(x, x));
}

static void scale(std::vector<double> &x, double by) {
  for (double &c : x)
    c *= by;
}

std::vector<float> RandomRows::draw() const {
  Normals normals(seed, stream);
  std::vector<std::vector<double>> block;
  std::vector<float> rows;
  rows.reserve(count * length);
  auto put = [&](const std::vector<double> &row) {
    for (double c : row)
      rows.push_back(static_cast<float>(c));
  };
  for (int64_t r = 0; r < count; ++r) {
    std::vector<double> row = normals.row(length);
    if (anchors) {
      scale(row, 1 / norm(row));
      put(row);
      continue;
    }
    if (!orthogonal) {
      put(row);
      continue;
    }
    if (r % length == 0)
      block.clear();
    for (int pass = 0; pass < 2; ++pass)
      for (const std::vector<double> &other : block) {
        double along = product(row, other);
        for (int64_t d = 0; d < length; ++d)
          row[d] -= along * other[d];
      }
    scale(row, 1 / norm(row));
    block.push_back(row);
    scale(row, norm(normals.row(length)));
    put(row);
  }
  return rows;
}

std::shared_ptr<const std::vector<float>>
attn::randomRowsOf(RandomFeaturesOp op, int64_t length) {
  RandomRows wanted;
  wanted.count = static_cast<int64_t>(op.getCount());
  wanted.length = length;
  wanted.seed = static_cast<int64_t>(op.getSeed());
  wanted.stream = static_cast<int64_t>(op.getStream());
  wanted.orthogonal = op.getOrthogonal();
  wanted.anchors = op.getKind() == RandomKind::Anchors;

  using Entry = std::pair<RandomRows, std::shared_ptr<std::vector<float>>>;
  constexpr size_t most = 8;
  static std::mutex mutex;
  static std::deque<Entry> kept;
  std::lock_guard<std::mutex> lock(mutex);
  for (const Entry &entry : kept)
    if (entry.first == wanted)
      return entry.second;
  kept.emplace_back(wanted,
                    std::make_shared<std::vector<float>>(wanted.draw()));
  if (kept.size() > most)
    kept.pop_front();
  return kept.back().second;
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

void attn::randomFeatures(RandomKind kind, bool hyperbolic, const float *rows,
                          int64_t count, const double *x, int64_t length,
                          double *y) {
  double half = 0;
  for (int64_t d = 0; d < length; ++d)
    half += x[d] * x[d] / 2;
  double largest = -HUGE_VAL;
  for (int64_t r = 0; r < count; ++r) {
    double u = 0;
    for (int64_t d = 0; d < length; ++d)
      u += static_cast<double>(rows[r * length + d]) * x[d];
    switch (kind) {
    case RandomKind::Positive:
      y[r] = std::exp(std::min(u - half, kLargestFeatureExponent));
      if (hyperbolic)
        y[count + r] = std::exp(std::min(-u - half, kLargestFeatureExponent));
      break;
    case RandomKind::Stabilised:
      y[r] = u;
      largest = std::max(largest, hyperbolic ? std::fabs(u) : u);
      break;
    case RandomKind::Trigonometric:
      y[r] = std::cos(u);
      y[count + r] = std::sin(u);
      break;
    case RandomKind::Anchors:
      y[r] = u * u;
      break;
    }
  }
  if (kind != RandomKind::Stabilised)
    return;
  for (int64_t r = 0; r < count; ++r) {
    double u = y[r];
    y[r] = std::exp(u - largest);
    if (hyperbolic)
      y[count + r] = std::exp(-u - largest);
  }
}

std::vector<double> attn::randomFeatures(RandomFeaturesOp op, const double *x,
                                         int64_t length) {
  bool twice = op.getHyperbolic() || op.getKind() == RandomKind::Trigonometric;
  auto count = static_cast<int64_t>(op.getCount());
  std::vector<double> y(count * (twice ? 2 : 1));
  randomFeatures(op.getKind(), op.getHyperbolic(),
                 randomRowsOf(op, length)->data(), count, x, length, y.data());
  return y;
}
