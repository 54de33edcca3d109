//===- Array.cpp - arrays that own their elements -------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace attn;

std::string_view attn::nameOf(Type type) {
  switch (type) {
  case Type::f16:
    return "float16";
  case Type::bf16:
    return "bfloat16";
  case Type::f32:
    return "float32";
  case Type::f64:
    return "float64";
  case Type::i32:
    return "int32";
  case Type::i64:
    return "int64";
  case Type::i8:
    return "int8";
  case Type::i16:
    return "int16";
  case Type::u8:
    return "uint8";
  case Type::u16:
    return "uint16";
  case Type::u32:
    return "uint32";
  case Type::boolean:
    return "bool";
  }
  return "";
}

double Array::real(int64_t n) const {
  return runtime::loadReal(type, bytes.data() + n * sizeOf(type));
}

void Array::setReal(int64_t n, double value) {
  runtime::storeReal(type, bytes.data() + n * sizeOf(type), value);
}

/// The number of elements of that shape, or nothing where it overflows.
std::optional<int64_t> attn::countOf(const std::vector<int64_t> &shape) {
  // Zero extents come last, so that [0, 2^62, 2^62] is refused whatever the
  // order.
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, extent, &count))
      return std::nullopt;
  }
  return empty ? 0 : count;
}

Array::Array(Type type, std::vector<int64_t> extents)
    : type(type), shape(std::move(extents)) {
  std::optional<int64_t> count = countOf(shape);
  int64_t total;
  if (!count || __builtin_mul_overflow(*count, sizeOf(type), &total))
    throw Error(fmt::format("an array of shape [{}] is too large",
                            fmt::join(shape, ", ")));
  bytes.resize(total);
}

int64_t Array::size() const { return countOf(shape).value_or(0); }

Tensor Array::view() const {
  return Tensor(const_cast<std::byte *>(bytes.data()), type, shape, strides);
}
