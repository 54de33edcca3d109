//===- Arrays.h - element access and checks of tensors ----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the binder and the interpreter need to know of attn::Tensor: sizes and
// names of types, elements as numbers, and where a view lies in memory.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ARRAYS_H
#define ATTN_RUNTIME_ARRAYS_H

#include "attn/attn.h"

#include <functional>
#include <optional>

namespace attn::runtime {

/// Integers of a kernel (positions, offsets, integer parameters) are 32 bits
/// wide in vectors; within this limit a sum or difference of two does not wrap.
inline constexpr int64_t kPositionLimit = int64_t(1) << 30;

/// Bytes of an element.
int64_t sizeOf(Type type);
/// `f32`, `i64`, ...
const char *nameOf(Type type);
/// They are the last ones of Type.
inline bool isInteger(Type type) { return type >= Type::i32; }

/// `[2, 3]`.
std::string toString(const std::vector<int64_t> &extents);
/// The shortest decimal that reads back as `value`.
std::string toString(double value);

/// The element at `address` as a double (exact, except for large i64).
double loadReal(Type type, const void *address);
/// The element at `address`, or nothing where it is not a whole number in 64
/// bits.
std::optional<int64_t> loadInteger(Type type, const void *address);
/// Rounds `value` to the type at `address`.
void storeReal(Type type, void *address, double value);

/// Row-major strides of a shape.
std::vector<int64_t> rowMajor(const std::vector<int64_t> &shape);
/// The number of elements. The shape must have passed `checkView`.
int64_t elementCount(const std::vector<int64_t> &shape);

/// Throws unless extents, strides, pointer and alignment of a tensor make sense
/// and its byte span fits 64 bits. Fills in row-major strides. `who` begins the
/// message: "input 'q'".
void checkView(const std::string &who, Tensor &tensor);

/// Calls `visit(indices, address)` for every element in row-major order, until
/// it returns false.
void forEachElement(
    const Tensor &tensor,
    const std::function<bool(const std::vector<int64_t> &, char *)> &visit);

/// Whether two views may share a byte. Interleaved rows of one allocation, such
/// as slices of a packed qkv array, are told apart.
bool mayOverlap(const Tensor &a, const Tensor &b);
/// Whether two elements of a view may share memory (a stride of 0, say).
bool mayOverlapItself(const Tensor &tensor);

} // namespace attn::runtime

#endif // ATTN_RUNTIME_ARRAYS_H
