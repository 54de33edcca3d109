//===- Elements.cpp - the elements of a caller's array --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/reference/Elements.h"
#include "runtime/reference/Noise.h"
#include <cmath>
#include <cstring>

using namespace attn;

static constexpr double kSmallest = 0x1p-126;

bool reference::isInteger(Type type) { return type >= Type::i32; }

std::vector<int64_t> reference::stridesOf(const Tensor &tensor) {
  if (!tensor.strides.empty() || tensor.shape.empty())
    return tensor.strides;
  std::vector<int64_t> strides(tensor.shape.size(), 1);
  for (size_t axis = strides.size() - 1; axis > 0; --axis)
    strides[axis - 1] = strides[axis] * tensor.shape[axis];
  return strides;
}

static double fromBrain(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

static double fromHalf(uint16_t bits) {
  int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double magnitude;
  if (exponent == 31)
    magnitude = fraction != 0 ? std::nan("") : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, -24);
  else
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// In one step: by way of float a double would be rounded twice.
double reference::roundedTo(double value, int digits, int smallest) {
  int exponent;
  std::frexp(value, &exponent);
  int unit = std::max(exponent - 1, smallest) - digits + 1;
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

static uint16_t toBrain(double value) {
  if (std::isfinite(value) && value != 0)
    value = reference::roundedTo(value, kBf16Digits);
  float narrow = static_cast<float>(value); // exact, or too large
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

static uint16_t toHalf(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::abs(value);
  if (std::isnan(value))
    return 0x7e00;
  if (std::isfinite(value) && value != 0)
    magnitude = reference::roundedTo(magnitude, kF16Digits, -14);
  if (magnitude > 65504)
    return sign | 0x7c00;
  if (magnitude < 0x1p-14)
    return sign | static_cast<uint16_t>(std::ldexp(magnitude, 24));
  int exponent;
  double fraction = std::frexp(magnitude, &exponent); // in [1/2, 1)
  return sign | static_cast<uint16_t>((exponent + 14) << 10) |
         static_cast<uint16_t>(std::ldexp(fraction, 11) - 1024);
}

/// Calls `use` with a pointer of the element type and a conversion to double.
template <typename Use> static void withElements(const Tensor &t, Use use) {
  auto identity = [](auto x) { return static_cast<double>(x); };
  switch (t.type) {
  case Type::f32:
    return use(static_cast<const float *>(t.data), identity);
  case Type::f64:
    return use(static_cast<const double *>(t.data), identity);
  case Type::f16:
    return use(static_cast<const uint16_t *>(t.data), fromHalf);
  case Type::bf16:
    return use(static_cast<const uint16_t *>(t.data), fromBrain);
  case Type::i32:
    return use(static_cast<const int32_t *>(t.data), identity);
  case Type::i64:
    return use(static_cast<const int64_t *>(t.data), identity);
  case Type::i8:
    return use(static_cast<const int8_t *>(t.data), identity);
  case Type::i16:
    return use(static_cast<const int16_t *>(t.data), identity);
  case Type::u8:
    return use(static_cast<const uint8_t *>(t.data), identity);
  case Type::u16:
    return use(static_cast<const uint16_t *>(t.data), identity);
  case Type::u32:
    return use(static_cast<const uint32_t *>(t.data), identity);
  case Type::boolean:
    return use(static_cast<const bool *>(t.data), identity);
  }
}

void reference::readReals(const Tensor &tensor, int64_t offset, int64_t stride,
                          int64_t n, double *out) {
  withElements(tensor, [&](const auto *data, auto convert) {
    for (int64_t t = 0; t < n; ++t) {
      double value = convert(data[offset + t * stride]);
      out[t] = std::abs(value) < kSmallest ? 0 : value;
    }
  });
}

int64_t reference::readInteger(const Tensor &tensor, int64_t offset) {
  if (tensor.type == Type::i32)
    return static_cast<const int32_t *>(tensor.data)[offset];
  if (tensor.type == Type::i64)
    return static_cast<const int64_t *>(tensor.data)[offset];
  double value;
  readReals(tensor, offset, 1, 1, &value);
  return std::abs(value) < 0x1p62 ? static_cast<int64_t>(value) : 0;
}

void reference::writeReal(const Tensor &tensor, int64_t offset, double value) {
  switch (tensor.type) {
  case Type::f32: {
    float narrow = static_cast<float>(value);
    static_cast<float *>(tensor.data)[offset] =
        std::abs(narrow) < static_cast<float>(kSmallest) ? 0 : narrow;
    return;
  }
  case Type::f64:
    static_cast<double *>(tensor.data)[offset] = value;
    return;
  case Type::f16:
    static_cast<uint16_t *>(tensor.data)[offset] = toHalf(value);
    return;
  case Type::bf16:
    static_cast<uint16_t *>(tensor.data)[offset] =
        toBrain(std::abs(value) < kSmallest ? 0 : value);
    return;
  default:
    writeInteger(tensor, offset, static_cast<int64_t>(value));
  }
}

void reference::writeInteger(const Tensor &tensor, int64_t offset,
                             int64_t value) {
  auto store = [&](auto element) {
    static_cast<decltype(element) *>(tensor.data)[offset] = element;
  };
  switch (tensor.type) {
  case Type::i32:
    return store(static_cast<int32_t>(value));
  case Type::i64:
    return store(value);
  case Type::i8:
    return store(static_cast<int8_t>(value));
  case Type::i16:
    return store(static_cast<int16_t>(value));
  case Type::u8:
    return store(static_cast<uint8_t>(value));
  case Type::u16:
    return store(static_cast<uint16_t>(value));
  case Type::u32:
    return store(static_cast<uint32_t>(value));
  case Type::boolean:
    return store(value != 0);
  case Type::f32:
  case Type::f64:
  case Type::f16:
  case Type::bf16:
    return writeReal(tensor, offset, static_cast<double>(value));
  }
}
