//===- Arrays.cpp - element access and checks of tensors ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Arrays.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

using namespace attn;
using namespace attn::runtime;

int64_t runtime::sizeOf(Type type) {
  switch (type) {
  case Type::f64:
  case Type::i64:
    return 8;
  case Type::f32:
  case Type::i32:
  case Type::u32:
    return 4;
  case Type::f16:
  case Type::bf16:
  case Type::i16:
  case Type::u16:
    return 2;
  case Type::i8:
  case Type::u8:
  case Type::boolean:
    return 1;
  }
  return 0;
}

const char *runtime::nameOf(Type type) {
  switch (type) {
  case Type::f32:
    return "f32";
  case Type::f64:
    return "f64";
  case Type::f16:
    return "f16";
  case Type::bf16:
    return "bf16";
  case Type::i32:
    return "i32";
  case Type::i64:
    return "i64";
  case Type::i8:
    return "i8";
  case Type::i16:
    return "i16";
  case Type::u8:
    return "u8";
  case Type::u16:
    return "u16";
  case Type::u32:
    return "u32";
  case Type::boolean:
    return "bool";
  }
  return "?";
}

std::string runtime::toString(const std::vector<int64_t> &extents) {
  std::string text = "[";
  for (size_t axis = 0; axis < extents.size(); ++axis)
    text += (axis ? ", " : "") + std::to_string(extents[axis]);
  return text + "]";
}

std::string runtime::toString(double value) {
  char text[32];
  for (int digits : {6, 9, 17}) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value)
      break;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T> static T read(const void *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

template <typename T> static void write(void *address, T value) {
  std::memcpy(address, &value, sizeof value);
}

static double halfToDouble(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                     : exponent     ? std::ldexp(1024 + fraction, exponent - 25)
                                    : std::ldexp(fraction, -24);
  return bits >> 15 ? -magnitude : magnitude;
}

/// Rounds a double, to nearest even, to a binary format with `fractionBits` and
/// `exponentBits` (f16: 10, 5; bf16: 7, 8). Once: by way of f32 would be twice.
static uint16_t roundToSmall(double value, int fractionBits, int exponentBits) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  uint16_t infinity = ((1 << exponentBits) - 1) << fractionBits;
  if (std::isnan(value))
    return sign | infinity | 1 << (fractionBits - 1);
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = std::isinf(magnitude) ? bias + 1 : std::ilogb(magnitude);
  if (exponent > bias)
    return sign | infinity;
  // Below the smallest normal number the spacing stays that of the last binade.
  exponent = std::max(exponent, 1 - bias);
  auto units = static_cast<int64_t>(
      std::nearbyint(std::ldexp(magnitude, fractionBits - exponent)));
  // A carry out of the fraction lands in the exponent, which is what is wanted.
  return sign |
         static_cast<uint16_t>(((exponent + bias - 1) << fractionBits) + units);
}

double runtime::loadReal(Type type, const void *address) {
  switch (type) {
  case Type::f32:
    return read<float>(address);
  case Type::f64:
    return read<double>(address);
  case Type::f16:
    return halfToDouble(read<uint16_t>(address));
  case Type::bf16: {
    uint32_t bits = uint32_t(read<uint16_t>(address)) << 16;
    return read<float>(&bits);
  }
  default:
    return static_cast<double>(*loadInteger(type, address));
  }
}

std::optional<int64_t> runtime::loadInteger(Type type, const void *address) {
  switch (type) {
  case Type::i32:
    return read<int32_t>(address);
  case Type::i64:
    return read<int64_t>(address);
  case Type::i8:
    return read<int8_t>(address);
  case Type::i16:
    return read<int16_t>(address);
  case Type::u8:
    return read<uint8_t>(address);
  case Type::u16:
    return read<uint16_t>(address);
  case Type::u32:
    return read<uint32_t>(address);
  case Type::boolean:
    return read<uint8_t>(address) != 0;
  case Type::f32:
  case Type::f64:
  case Type::f16:
  case Type::bf16:
    break;
  }
  double value = loadReal(type, address);
  if (!(value >= -0x1p63 && value < 0x1p63) || value != std::floor(value))
    return std::nullopt;
  return static_cast<int64_t>(value);
}

void runtime::storeReal(Type type, void *address, double value) {
  switch (type) {
  case Type::f32:
    return write(address, static_cast<float>(value));
  case Type::f64:
    return write(address, value);
  case Type::f16:
    return write(address, roundToSmall(value, 10, 5));
  case Type::bf16:
    return write(address, roundToSmall(value, 7, 8));
  case Type::i32:
    return write(address, static_cast<int32_t>(value));
  case Type::i64:
    return write(address, static_cast<int64_t>(value));
  case Type::i8:
    return write(address, static_cast<int8_t>(value));
  case Type::i16:
    return write(address, static_cast<int16_t>(value));
  case Type::u8:
    return write(address, static_cast<uint8_t>(value));
  case Type::u16:
    return write(address, static_cast<uint16_t>(value));
  case Type::u32:
    return write(address, static_cast<uint32_t>(value));
  case Type::boolean:
    return write(address, static_cast<uint8_t>(value != 0));
  }
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

std::vector<int64_t> runtime::rowMajor(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    // An extent of 0 must not make all outer strides 0, nor hide an overflow.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[axis], 1),
                               &stride))
      throw Error("shape " + toString(shape) +
                  " has more elements than 64 bits count");
  }
  return strides;
}

int64_t runtime::elementCount(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

void runtime::checkView(const std::string &who, Tensor &tensor) {
  int64_t count = 1, low = 0, high = 0, size = sizeOf(tensor.type);
  for (int64_t extent : tensor.shape) {
    if (extent < 0)
      throw Error(who + " has a negative extent in its shape " +
                  toString(tensor.shape));
    if (__builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count))
      throw Error(who + " has shape " + toString(tensor.shape) +
                  ", more elements than 64 bits count");
  }
  if (tensor.strides.empty())
    tensor.strides = rowMajor(tensor.shape);
  if (tensor.strides.size() != tensor.shape.size())
    throw Error(who + " has " + std::to_string(tensor.shape.size()) +
                " extents but " + std::to_string(tensor.strides.size()) +
                " strides");
  if (elementCount(tensor.shape) == 0)
    return;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    int64_t reach;
    int64_t &end = tensor.strides[axis] < 0 ? low : high;
    if (__builtin_mul_overflow(tensor.shape[axis] - 1, tensor.strides[axis],
                               &reach) ||
        __builtin_add_overflow(end, reach, &end))
      throw Error(who + " spans more memory than 64 bits address");
  }
  int64_t bytes;
  if (__builtin_mul_overflow(low, size, &bytes) ||
      __builtin_add_overflow(high, 1, &high) ||
      __builtin_mul_overflow(high, size, &bytes) ||
      __builtin_mul_overflow(count, size, &bytes))
    throw Error(who + " spans more memory than 64 bits address");
  if (!tensor.data)
    throw Error(who + " has no memory: its pointer is null");
  if (reinterpret_cast<uintptr_t>(tensor.data) % size)
    throw Error(who + " is not aligned: the address of a " +
                nameOf(tensor.type) + " is a multiple of " +
                std::to_string(size) + " bytes");
}

void runtime::forEachElement(
    const Tensor &tensor,
    const std::function<bool(const std::vector<int64_t> &, char *)> &visit) {
  if (elementCount(tensor.shape) == 0)
    return;
  size_t rank = tensor.shape.size();
  int64_t size = sizeOf(tensor.type);
  std::vector<int64_t> indices(rank, 0);
  char *address = static_cast<char *>(tensor.data);
  for (;;) {
    if (!visit(indices, address))
      return;
    size_t axis = rank;
    for (; axis-- > 0;) {
      address += tensor.strides[axis] * size;
      if (++indices[axis] < tensor.shape[axis])
        break;
      address -= tensor.shape[axis] * tensor.strides[axis] * size;
      indices[axis] = 0;
    }
    if (axis == SIZE_MAX)
      return;
  }
}

namespace {
/// The bytes of a view: runs of `run` bytes that start at multiples of the
/// outer strides from `first`, all within [low, high).
struct Span {
  uintptr_t low, high;
  int64_t run;
  int64_t gcd; ///< of the outer strides in bytes; 0 if there is one run only

  explicit Span(const Tensor &tensor) {
    int64_t size = sizeOf(tensor.type);
    low = reinterpret_cast<uintptr_t>(tensor.data);
    high = low + size;
    run = size;
    gcd = 0;
    bool inRun = true;
    for (size_t axis = tensor.shape.size(); axis-- > 0;) {
      int64_t extent = tensor.shape[axis], stride = tensor.strides[axis] * size;
      if (extent == 1)
        continue;
      if (stride < 0)
        low += (extent - 1) * stride;
      else
        high += (extent - 1) * stride;
      inRun = inRun && stride == run;
      if (inRun)
        run *= extent;
      else
        gcd = std::gcd(gcd, stride);
    }
  }
};
} // namespace

bool runtime::mayOverlap(const Tensor &a, const Tensor &b) {
  if (!elementCount(a.shape) || !elementCount(b.shape))
    return false;
  Span left(a), right(b);
  if (left.high <= right.low || right.high <= left.low)
    return false;
  // Runs start at first + multiples of the common divisor: look at them modulo
  // it.
  int64_t period = std::gcd(left.gcd, right.gcd);
  if (period == 0)
    return true;
  auto phase = static_cast<int64_t>((reinterpret_cast<uintptr_t>(b.data) -
                                     reinterpret_cast<uintptr_t>(a.data)) %
                                    static_cast<uintptr_t>(period));
  // The subtraction wraps where b lies below a; 2^64 is no multiple of the
  // period.
  if (b.data < a.data) {
    auto back = static_cast<int64_t>((reinterpret_cast<uintptr_t>(a.data) -
                                      reinterpret_cast<uintptr_t>(b.data)) %
                                     static_cast<uintptr_t>(period));
    phase = back ? period - back : 0;
  }
  return phase < left.run || phase + right.run > period;
}

bool runtime::mayOverlapItself(const Tensor &tensor) {
  if (!elementCount(tensor.shape))
    return false;
  std::vector<std::pair<int64_t, int64_t>> axes; // |stride|, extent
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis)
    if (tensor.shape[axis] > 1)
      axes.push_back({std::abs(tensor.strides[axis]), tensor.shape[axis]});
  std::sort(axes.begin(), axes.end());
  int64_t reach = 1; // elements that the axes so far span
  for (auto [stride, extent] : axes) {
    if (stride < reach)
      return true;
    reach = stride * (extent - 1) + reach;
  }
  return false;
}
