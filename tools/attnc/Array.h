//===- Array.h - arrays that own their elements -----------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ARRAY_H
#define ATTN_TOOLS_ARRAY_H

#include "runtime/Arrays.h"

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Memory that begins with a line of the cache, as frameworks allocate theirs.
template <typename T> struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <typename U> LineAllocator(const LineAllocator<U> &) {}
  T *allocate(size_t count) {
    return static_cast<T *>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T *memory, size_t) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator &) const { return true; }
  bool operator!=(const LineAllocator &) const { return false; }
};

/// An array that owns its elements.
struct Array {
  Type type = Type::f32;
  std::vector<int64_t> shape;
  /// In elements; empty means row-major.
  std::vector<int64_t> strides;
  std::vector<std::byte, LineAllocator<std::byte>> bytes;
  /// What its file says of it, in a line.
  std::string note;

  Array() = default;
  /// A row-major array of zeros.
  Array(Type type, std::vector<int64_t> shape);

  int64_t size() const;
  template <typename T> T *data() {
    return reinterpret_cast<T *>(bytes.data());
  }
  template <typename T> const T *data() const {
    return reinterpret_cast<const T *>(bytes.data());
  }
  /// Element n of the memory as a number; setReal rounds to the array's type.
  double real(int64_t n) const;
  void setReal(int64_t n, double value);
  /// A view for a call; valid as long as the array is.
  Tensor view() const;
};

using runtime::sizeOf;
/// "float32" and so on, as NumPy calls it.
std::string_view nameOf(Type type);
/// The number of elements of that shape, or nothing where it overflows.
std::optional<int64_t> countOf(const std::vector<int64_t> &shape);

} // namespace attn

#endif // ATTN_TOOLS_ARRAY_H
