//===- DerivedProblems.cpp - the same problem, seen otherwise -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem.h"

#include <algorithm>
#include <cstring>

using namespace attn;
using namespace attn::runtime;

/// A row-major copy of what a view shows.
static Array copyOf(const Tensor &view) {
  Array copy(view.type, view.shape);
  int64_t count = copy.size(), size = sizeOf(view.type);
  std::vector<int64_t> strides = view.strides;
  if (strides.empty()) {
    strides.resize(view.shape.size());
    int64_t stride = 1;
    for (size_t axis = strides.size(); axis-- > 0;) {
      strides[axis] = stride;
      stride *= view.shape[axis];
    }
  }
  std::vector<int64_t> index(view.shape.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    int64_t at = 0;
    for (size_t axis = 0; axis < index.size(); ++axis)
      at += index[axis] * strides[axis];
    std::memcpy(copy.bytes.data() + n * size,
                static_cast<const std::byte *>(view.data) + at * size, size);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < view.shape[axis])
        break;
      index[axis] = 0;
    }
  }
  return copy;
}

Array attn::storedAs(const Array &array, Type type) {
  if (array.type == type)
    return array;
  // The memory, gaps between rows included.
  int64_t count = array.bytes.size() / sizeOf(array.type);
  Array stored(type, {count});
  for (int64_t n = 0; n < count; ++n)
    stored.setReal(n, array.real(n));
  stored.shape = array.shape;
  stored.strides = array.strides;
  return stored;
}

Problem attn::packed(const Problem &problem) {
  Problem result = problem;
  for (NamedArray &named : result.arrays)
    named = {named.name, copyOf(named.view())};
  return result;
}

Problem attn::extractSequence(const Signature &signature,
                              const Problem &problem, int64_t b) {
  Problem result = problem;
  result.shape.B = 1;
  for (NamedArray &named : result.arrays) {
    Tensor view = named.view();
    // The axis that counts sequences: the first of inputs and lengths, and the
    // one declared [batch] of parameters.
    std::optional<size_t> batch;
    if (named.name == "key_lengths" || named.name == "query_lengths" ||
        named.name == "offset")
      batch = 0;
    for (const Formal &formal : signature.formals) {
      if (formal.name != named.name)
        continue;
      if (formal.kind <= FormalKind::Value)
        batch = 0;
      for (size_t axis = 0; axis < formal.axes.size(); ++axis)
        if (formal.axes[axis].kind == Axis::Batch)
          batch = axis;
    }
    Array whole = copyOf(view);
    if (batch && view.shape[*batch] > 1) {
      int64_t inner = 1;
      for (size_t axis = *batch + 1; axis < view.shape.size(); ++axis)
        inner *= view.shape[axis];
      int64_t extent = view.shape[*batch], size = sizeOf(view.type);
      view.shape[*batch] = 1;
      Array part(view.type, view.shape);
      int64_t outer = inner ? part.size() / inner : 0;
      for (int64_t n = 0; n < outer; ++n)
        std::memcpy(part.bytes.data() + n * inner * size,
                    whole.bytes.data() + (n * extent + b) * inner * size,
                    inner * size);
      whole = std::move(part);
    }
    named = {named.name, std::move(whole)};
  }
  return result;
}

Problem attn::perturbed(const Signature &signature, const Problem &problem,
                        uint64_t seed) {
  Problem result = packed(problem);
  Random random(seed);
  for (NamedArray &named : result.arrays) {
    Type type = named.array.type;
    if (type != Type::f32 && type != Type::f16 && type != Type::bf16)
      continue;
    const Formal *bounded = nullptr;
    for (const Formal &formal : signature.formals)
      if (formal.name == named.name && !formal.relop.empty())
        bounded = &formal;
    if (bounded && bounded->relop == "==")
      continue;
    Array moved(Type::f64, named.array.shape);
    int64_t count = moved.size();
    int64_t length =
        moved.shape.empty() ? 1 : std::max<int64_t>(moved.shape.back(), 1);
    double whole = 0;
    for (int64_t n = 0; n < count; ++n) {
      if (n % length == 0)
        whole = (random.bits() & 1 ? 1 : -1) * 0x1p-24;
      double x = named.array.real(n);
      double factor = 1 + whole + random.uniform(-1, 1) * 0x1p-24;
      // A value on its bound, or next to it, stays inside.
      moved.data<double>()[n] = bounded && x == bounded->bound ? x : x * factor;
    }
    named.array = std::move(moved);
  }
  return result;
}
