//===- Elements.h - the elements of a caller's array ------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads any storage type into double or int64_t, and writes a double rounded
// once to it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_REFERENCE_ELEMENTS_H
#define ATTN_RUNTIME_REFERENCE_ELEMENTS_H

#include "attn/attn.h"

namespace attn::reference {

/// Whether the type holds integers.
bool isInteger(Type type);
/// The strides of the array, made row-major where none were given.
std::vector<int64_t> stridesOf(const Tensor &tensor);

/// Reads `n` numbers, `stride` elements apart, from element `offset` on.
/// Magnitudes below 2^-126 count as 0 (S4).
void readReals(const Tensor &tensor, int64_t offset, int64_t stride, int64_t n,
               double *out);
/// Reads one integer; a real number is truncated.
int64_t readInteger(const Tensor &tensor, int64_t offset);
/// Writes one number, rounded once. Results below 2^-126 of types that end
/// there are written as 0, as the compiled code does.
void writeReal(const Tensor &tensor, int64_t offset, double value);
/// Rounds to so many digits, the one before the point included, and an exponent
/// of at least `smallest`, ties to even.
double roundedTo(double value, int digits, int smallest = -126);
/// Writes one integer.
void writeInteger(const Tensor &tensor, int64_t offset, int64_t value);

} // namespace attn::reference

#endif // ATTN_RUNTIME_REFERENCE_ELEMENTS_H
