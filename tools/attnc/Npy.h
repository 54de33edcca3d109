//===- Npy.h - arrays in NumPy's file format --------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format is one Python dictionary and the raw elements; see
// numpy.lib.format. Whatever is in a file, reading it gives an array or throws
// attn::Error naming the file.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_NPY_H
#define ATTN_TOOLS_NPY_H

#include "attn/attn.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// An array that owns its elements.
struct Array {
  Type type = Type::f32;
  std::vector<int64_t> shape;
  /// In elements; empty means row-major.
  std::vector<int64_t> strides;
  std::vector<std::byte> bytes;

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

/// Bytes of an element.
int64_t sizeOf(Type type);
/// "float32" and so on, as NumPy calls it.
std::string_view nameOf(Type type);

/// Parses the text of a `.npy` file; `file` is what errors call it. Elements
/// are f16, bf16 (`V2`, as ml_dtypes writes them: NumPy has none of its own),
/// f32, f64, i32 or i64; booleans and the other integers of at most 32
/// bits become i64. At most four axes.
Array parseNpy(std::string_view text, const std::string &file);
/// Reads a `.npy` file.
Array readNpy(const std::string &path);

/// The text of a `.npy` file that holds `array`, row-major.
std::string formatNpy(const Array &array);

} // namespace attn

#endif // ATTN_TOOLS_NPY_H
