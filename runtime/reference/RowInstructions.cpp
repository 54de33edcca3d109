//===- RowInstructions.cpp - the operations on rows -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/attn/RandomRows.h"
#include "runtime/reference/Instructions.h"
#include <optional>

using namespace attn::reference;

namespace {

/// The element of a memory at the leading indices in args[first ...]. Nothing
/// where there is none: an index that is clamped to an empty axis stands for a
/// 0 (no pair uses it), and a bad index is a fault.
std::optional<int64_t> offsetOf(Machine &m, const Instruction &i,
                                size_t first) {
  const Memory &memory = (*m.memories)[i.number];
  for (int64_t extent : memory.tensor.shape)
    if (extent == 0)
      return std::nullopt;
  int64_t offset = 0;
  for (size_t axis = 0; axis + first < i.args.size(); ++axis) {
    int64_t index = m.ints[i.args[first + axis]];
    if (index < 0 || index >= memory.tensor.shape[axis]) {
      m.fault = "an index is outside of the parameter";
      return std::nullopt;
    }
    offset += index * memory.strides[axis];
  }
  return offset;
}

/// The folds are in four parts, for speed only: double has digits to spare.
template <typename Term> double fold(int64_t n, Term term) {
  double sums[4] = {0, 0, 0, 0};
  int64_t t = 0;
  for (; t + 4 <= n; t += 4)
    for (int lane = 0; lane < 4; ++lane)
      sums[lane] += term(t + lane);
  for (; t < n; ++t)
    sums[0] += term(t);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

} // namespace

namespace attn::reference {

void loadReal(Machine &m, const Instruction &i) {
  double value = 0;
  if (std::optional<int64_t> offset = offsetOf(m, i, 0))
    readReals((*m.memories)[i.number].tensor, *offset, 1, 1, &value);
  m.reals[i.result] = {value, 0};
}

void loadInt(Machine &m, const Instruction &i) {
  int64_t value = 0;
  if (std::optional<int64_t> offset = offsetOf(m, i, 0))
    value = readInteger((*m.memories)[i.number].tensor, *offset);
  m.ints[i.result] = value;
}

void loadRow(Machine &m, const Instruction &i) {
  const Memory &memory = (*m.memories)[i.number];
  if (std::optional<int64_t> offset = offsetOf(m, i, 0))
    readReals(memory.tensor, *offset, memory.strides.back(),
              m.lengths[i.result], m.rows[i.result]);
}

void projectRow(Machine &m, const Instruction &i) {
  const Memory &memory = (*m.memories)[i.number];
  const double *x = m.rows[i.args[0]];
  double *y = m.rows[i.result];
  int64_t rows = m.lengths[i.args[0]], columns = m.lengths[i.result];
  std::optional<int64_t> offset = offsetOf(m, i, 1);
  std::fill(y, y + columns, 0.0);
  if (!offset)
    return;
  std::vector<double> w(columns);
  for (int64_t r = 0; r < rows; ++r) {
    readReals(memory.tensor, *offset + r * memory.strides.end()[-2],
              memory.strides.back(), columns, w.data());
    for (int64_t c = 0; c < columns; ++c)
      y[c] += x[r] * w[c];
  }
}

void selectRow(Machine &m, const Instruction &i) {
  const double *x = m.rows[i.args[m.ints[i.args[0]] ? 1 : 2]];
  std::copy(x, x + m.lengths[i.result], m.rows[i.result]);
}

void dotRows(Machine &m, const Instruction &i) {
  const double *a = m.rows[i.args[0]], *b = m.rows[i.args[1]];
  m.reals[i.result] = {
      fold(m.lengths[i.args[0]], [=](int64_t t) { return a[t] * b[t]; }), 0};
}

void squaredDistance(Machine &m, const Instruction &i) {
  const double *a = m.rows[i.args[0]], *b = m.rows[i.args[1]];
  m.reals[i.result] = {fold(m.lengths[i.args[0]],
                            [=](int64_t t) {
                              double difference = a[t] - b[t];
                              return difference * difference;
                            }),
                       0};
}

void squaredNorm(Machine &m, const Instruction &i) {
  const double *a = m.rows[i.args[0]];
  m.reals[i.result] = {
      fold(m.lengths[i.args[0]], [=](int64_t t) { return a[t] * a[t]; }), 0};
}

void unitRow(Machine &m, const Instruction &i) {
  const double *x = m.rows[i.args[0]];
  double *y = m.rows[i.result];
  int64_t n = m.lengths[i.args[0]];
  double norm = std::sqrt(fold(n, [=](int64_t t) { return x[t] * x[t]; }));
  for (int64_t t = 0; t < n; ++t)
    y[t] = norm == 0 ? 0 : x[t] / norm;
}

void concatRows(Machine &m, const Instruction &i) {
  double *y = m.rows[i.result];
  for (int row : i.args)
    y = std::copy(m.rows[row], m.rows[row] + m.lengths[row], y);
}

void outerRow(Machine &m, const Instruction &i) {
  const double *a = m.rows[i.args[0]], *b = m.rows[i.args[1]];
  double *y = m.rows[i.result];
  for (int64_t s = 0; s < m.lengths[i.args[0]]; ++s)
    for (int64_t t = 0; t < m.lengths[i.args[1]]; ++t)
      *y++ = a[s] * b[t];
}

void ropeRow(Machine &m, const Instruction &i) {
  const double *x = m.rows[i.args[0]];
  double *y = m.rows[i.result];
  double position = plain(m.reals[i.args[1]]);
  int64_t n = static_cast<int64_t>(i.weights.size());
  for (int64_t t = 0; t < n; ++t) {
    int64_t first = i.number ? 2 * t : t, second = i.number ? 2 * t + 1 : t + n;
    double angle = position * i.weights[t];
    double cosine = std::cos(angle), sine = std::sin(angle);
    double a = x[first], b = x[second];
    y[first] = a * cosine - b * sine;
    y[second] = a * sine + b * cosine;
  }
}

void powerRow(Machine &m, const Instruction &i) {
  const double *x = m.rows[i.args[0]];
  double *y = m.rows[i.result];
  const int32_t *multiset = i.indices.data();
  for (double weight : i.weights) {
    double product = weight;
    for (int64_t t = 0; t < i.number; ++t)
      product *= x[*multiset++];
    *y++ = product;
  }
}

void randomRow(Machine &m, const Instruction &i) {
  int64_t length = m.lengths[i.args[0]];
  randomFeatures(static_cast<RandomKind>(i.number / 2), i.number % 2 != 0,
                 i.rows->data(), static_cast<int64_t>(i.rows->size()) / length,
                 m.rows[i.args[0]], length, m.rows[i.result]);
}

void mapRows(Machine &m, const Instruction &i) {
  double *y = m.rows[i.result];
  size_t rows = static_cast<size_t>(i.number);
  for (int64_t t = 0; t < m.lengths[i.result]; ++t) {
    for (size_t r = 0; r < rows; ++r)
      m.reals[i.args[rows + r]] = {m.rows[i.args[r]][t], 0};
    for (const Instruction &inner : i.body)
      execute(m, inner);
    y[t] = plain(m.reals[i.args[2 * rows]]);
  }
}

} // namespace attn::reference
