//===- Compare.cpp - how far results are from the reference's -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace attn;

double attn::elementOf(const Array &array, int64_t index) {
  return array.real(index);
}

std::string attn::indexText(const std::vector<int64_t> &shape, int64_t index) {
  std::vector<int64_t> indices(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    indices[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return fmt::format("[{}]", fmt::join(indices, ", "));
}

namespace {
/// What a storage type holds of a number.
enum class Held { Normal, Overflow, Underflow };

/// Range and precision of a type in which results are stored.
struct Storage {
  double largest = std::numeric_limits<float>::max();
  double unit = 0;     ///< of rounding once to it, after f32; relative
  double smallest = 0; ///< and absolute, where numbers lose digits to the range

  explicit Storage(Type type) {
    if (type == Type::bf16) {
      largest = 0x1.fep127;
      unit = 0x1p-8;
    } else if (type == Type::f16) {
      largest = 65504;
      unit = 0x1p-11;
      smallest = 0x1p-25;
    }
  }
  Held holds(double x) const {
    double size = std::fabs(x);
    if (size > largest)
      return Held::Overflow; // infinity too
    return size < 0x1p-126 && size > 0 ? Held::Underflow : Held::Normal;
  }
  double rounding(double x) const { return std::fabs(x) * unit + smallest; }
};
} // namespace

/// The number that is stored for it.
static double stored(double x, Type type) {
  char bytes[8];
  runtime::storeReal(type, bytes, x);
  return runtime::loadReal(type, bytes);
}

/// What the error of an element is relative to, where that is its own matter.
static double unitOf(const std::string &name, double expected) {
  double size = std::isinf(expected) ? 0 : std::fabs(expected);
  if (name == "lse" || name == "entropy")
    return std::max(1.0, size);
  return name == "argmax" ? 1 : size;
}

/// The fixed bound of an element, and whether its error is relative to it
/// (mass), to the largest of all (o), or absolute (lse).
static double fixedBound(const std::string &name, double expected,
                         double largest) {
  double size = std::isinf(expected) ? 0 : std::fabs(expected);
  if (name == "o" || name == "weights")
    return 1e-5 * largest;
  if (name == "lse")
    return 1e-5 * std::max(1.0, size);
  if (name == "entropy") // a difference of two numbers of the size of lse
    return 1e-4 * std::max(1.0, size);
  if (name == "argmax")
    return 0.5;
  return 1e-5 * size;
}

double attn::normBound(Type storage) {
  return storage == Type::bf16 ? 4e-3 : 1e-3;
}

Comparison attn::compare(const std::string &name, const Array &got,
                         const Array &expected,
                         const std::vector<const Array *> &moved, double norm,
                         const Array *rounded) {
  Comparison worst;
  Storage storage(got.type);
  int64_t count = expected.size();
  bool overall = name == "o" || name == "weights";
  double largest = 0, shift = 0;
  for (int64_t n = 0; n < count; ++n)
    if (double x = elementOf(expected, n); storage.holds(x) == Held::Normal)
      largest = std::max(largest, std::fabs(x));
  auto shiftAt = [&](int64_t n) {
    double result = 0;
    for (const Array *other : moved) {
      double difference =
          std::fabs(elementOf(*other, n) - elementOf(expected, n));
      result = std::max(result, difference); // NaN (inf - inf) does not pass
    }
    return result;
  };
  if (overall)
    for (int64_t n = 0; n < count; ++n)
      if (storage.holds(elementOf(expected, n)) == Held::Normal)
        shift = std::max(shift, shiftAt(n));

  // Two trials may both leave a single number alone by chance, but not half of
  // all: no number is expected to move less than is typical.
  double typical = 0;
  if (!overall && name != "argmax") {
    std::vector<double> relative;
    for (int64_t n = 0; n < count; ++n)
      if (double x = elementOf(expected, n);
          x != 0 && storage.holds(x) == Held::Normal)
        relative.push_back(shiftAt(n) / unitOf(name, x));
    if (!relative.empty()) {
      auto middle = relative.begin() + relative.size() / 2;
      std::nth_element(relative.begin(), middle, relative.end());
      typical = *middle;
    }
  }

  bool asAWhole = norm > 0 && name == "o" && largest > 0;
  double errors = 0, movements = 0, sizes = 0, roundings = 0, modelled = 0;
  double worstRatio = -1;
  for (int64_t n = 0; n < count; ++n) {
    double want = elementOf(expected, n), have = elementOf(got, n);
    Held held = storage.holds(want);
    double bound = fixedBound(name, want, largest), error;
    double movement = overall ? shift : shiftAt(n);
    if (typical > 0 && held == Held::Normal)
      movement = std::max(movement, typical * unitOf(name, want));
    if (std::isnan(want)) // the inputs said so
      continue;
    if (name != "argmax" && !std::isinf(want) &&
        movement > 0.1 * std::max(largest, std::fabs(want)) &&
        movement > 1e-3) {
      worst.illConditioned = true;
      if (!std::isnan(have))
        continue;
    }
    bound = std::max(bound, 8 * movement) + storage.rounding(want);
    double size = std::fabs(want);
    // Out of the range, perhaps by rounding.
    bool isOut = std::isinf(have) && std::signbit(have) == std::signbit(want) &&
                 size > 0.97 * storage.largest;
    if (std::isnan(have) || (std::isinf(have) && !std::isinf(want) && !isOut))
      error = std::numeric_limits<double>::infinity();
    else if (held == Held::Underflow)
      error = std::fabs(have) <= 0x1p-125 ? 0 : std::fabs(have - want);
    else if (asAWhole && !std::isinf(want)) {
      // Of norms, to which all that is finite in the reference belongs.
      double own = shiftAt(n), away = have - want;
      if (isOut)
        away = std::max(0.0, storage.largest - size);
      errors += away * away;
      movements += own * own;
      sizes += want * want;
      roundings += storage.smallest * storage.smallest;
      if (rounded) {
        double model = stored(elementOf(*rounded, n), got.type) - want;
        modelled += model * model;
      }
      continue;
    } else if (held ==
               Held::Overflow) // +-inf in f32, up to the edge of the range
      error = std::isinf(want) ? (have == want ? 0 : INFINITY)
              : isOut || std::fabs(have) > 0.999 * storage.largest ? 0
                                                                   : INFINITY;
    else
      error = isOut ? 0 : std::fabs(have - want);
    double ratio = bound > 0 ? error / bound : error > 0 ? INFINITY : 0;
    if (ratio <= worstRatio)
      continue;
    worstRatio = ratio;
    // Reported as relative figures, which is how the bounds are stated.
    double unit = overall ? largest : unitOf(name, want);
    unit = unit > 0 && std::isfinite(unit) ? unit : 1;
    worst.error = error / unit;
    worst.bound = bound > 0 ? bound / unit : std::numeric_limits<double>::min();
    worst.place = fmt::format("{} is {:.9g}, expected {:.9g}",
                              indexText(expected.shape, n), have, want);
  }
  if (sizes > 0) {
    double error = std::sqrt(errors / sizes);
    double bound = std::max({norm, 8 * std::sqrt(movements / sizes),
                             1.5 * std::sqrt(modelled / sizes)}) +
                   std::sqrt(roundings / sizes);
    if (error / bound > worstRatio) {
      worstRatio = error / bound;
      worst.error = error;
      worst.bound = bound;
      worst.place = " as a whole, by its norm";
    }
  }
  if (worstRatio > 1)
    worst.illConditioned = false;
  return worst;
}
