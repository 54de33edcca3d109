//===- BindRows.cpp - inputs: their rows, heads and batch -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The inputs are what q, k and v derive from.
//
//===----------------------------------------------------------------------===//

#include "runtime/Arrays.h"
#include "runtime/BinderImpl.h"

#include <algorithm>
#include <cstring>

using namespace attn;
using namespace attn::runtime;

/// Brings an array of rank 2 or 3 to rank 4 with axes of extent 1.
static Tensor withRankFour(Tensor tensor) {
  auto &shape = tensor.shape, &strides = tensor.strides;
  shape.reserve(4);
  strides.reserve(4);
  if (shape.size() == 3) { // [B, N, n]: H = 1
    shape.insert(shape.begin() + 1, 1);
    strides.insert(strides.begin() + 1, 0);
  }
  while (shape.size() < 4) {
    shape.insert(shape.begin(), 1);
    strides.insert(strides.begin(), 0);
  }
  return tensor;
}

void InputBinder::checkRows(size_t index) {
  const Formal &formal = signature.formals[index];
  const Argument &argument = *find(formal.name);
  std::string who = "input '" + formal.name + "'";
  if (argument.isNumber)
    throw Error(who + " is an array of rows, not a number");
  Tensor tensor = argument.tensor;
  size_t rank = tensor.shape.size();
  if (rank < 2 || rank > 4)
    throw Error(who + " has shape " + toString(tensor.shape) +
                "; it must be [N, n], [B, N, n] or [B, H, N, n]");
  if (isInteger(tensor.type) || (!rules.reference && tensor.type == Type::f64))
    throw Error(who + " has type " + nameOf(tensor.type) + "; " +
                (rules.reference ? "the reference takes f32, f64, f16 or bf16"
                 : rules.gpu     ? "GPUs take f32, f16 or bf16"
                                 : "the cpu target takes f32, f16 or bf16 "
                                   "(--target=reference takes f64 too)"));
  checkView(who, tensor);
  checkPlace(who, tensor, rules);
  if (placed.empty()) {
    placed = who;
    binding.place = tensor.device;
  } else if (tensor.device != binding.place) {
    throw Error(who + " lies on " + toString(tensor.device) + ", but " +
                placed + " on " + toString(binding.place) +
                "; inputs and outputs of a call lie in one place");
  }
  binding.sources.push_back({formal.name, tensor});
  tensor = withRankFour(std::move(tensor));
  if (tensor.shape[3] < 1)
    throw Error(who + " has rows of length 0");
  bool query = formal.kind == FormalKind::Query;
  if (rank > 2)
    batch.require(tensor.shape[0], who);
  Extent &heads = query ? queryHeads : keyHeads;
  if (tensor.shape[1] != 1)
    heads.require(tensor.shape[1], who);
  (query ? queries : keys).require(tensor.shape[2], who);
  if (query) {
    binding.outputType = tensor.type;
    binding.queryRank = rank;
  }
  auto &rows = binding.sizes.rows;
  std::pair<std::string, int64_t> row(formal.name, tensor.shape[3]);
  if (std::find(rows.begin(), rows.end(), row) == rows.end()) {
    rows.push_back(row);
    if (tensor.type != Type::f32)
      binding.sizes.types.push_back({formal.name, tensor.type});
  }
  binding.arrays[index] = std::move(tensor);
}

void InputBinder::resolveHeads() {
  // Where no query-side array has a head axis, q is the same for all key heads.
  if (!queryHeads.fixed && keyHeads.fixed)
    queryHeads.value = keyHeads.value;
  binding.batch = batch.value;
  binding.queryHeads = queryHeads.value;
  binding.keyHeads = keyHeads.value;
  binding.queries = queries.value;
  binding.keys = keys.value;
  int64_t hq = binding.queryHeads, hk = binding.keyHeads;
  if (hk == 0 ? hq != 0 : hq % hk != 0)
    throw Error(
        std::to_string(hq) + " query heads are not a multiple of " +
        std::to_string(hk) + " key heads" +
        (queryHeads.fixed && keyHeads.fixed
             ? " (from " + queryHeads.source + " and " + keyHeads.source + ")"
             : ""));
}

void InputBinder::broadcastRows(size_t index) {
  Tensor &tensor = binding.arrays[index];
  bool query = signature.formals[index].kind == FormalKind::Query;
  int64_t batches = binding.batch;
  int64_t heads = query ? binding.queryHeads : binding.keyHeads;
  if (!rules.reference && tensor.strides[3] != 1 && tensor.shape[3] != 1) {
    if (tensor.device.kind == Device::Cuda)
      throw Error("input '" + signature.formals[index].name +
                  "' has rows of stride " + std::to_string(tensor.strides[3]) +
                  "; on a GPU they have stride 1: make it contiguous");
    pack(tensor, query ? nullptr : lengthsOfKeys);
  }
  if (!rules.reference)
    tensor.strides[3] = 1; // an axis of extent 1 may have come with any stride
  auto broadcast = [&](size_t axis, int64_t extent) {
    if (tensor.shape[axis] == 1) // else it was required to agree
      tensor.strides[axis] = 0;
    tensor.shape[axis] = extent;
  };
  broadcast(0, batches);
  broadcast(1, heads);
}

void InputBinder::pack(Tensor &tensor, const int64_t *lengths) {
  Tensor packed = tensor;
  packed.strides = rowMajor(packed.shape);
  int64_t count = elementCount(packed.shape), size = sizeOf(packed.type);
  int64_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes))
    throw Error("a packed copy of an input exceeds 64 bits");
  packed.data = binding.allocate(bytes);
  const char *from = static_cast<const char *>(tensor.data);
  char *to = static_cast<char *>(packed.data);
  for (int64_t b = 0; b < packed.shape[0]; ++b)
    for (int64_t h = 0; h < packed.shape[1]; ++h) {
      // Rows past a sequence's length are never read (S2). One array without a
      // batch axis serves sequences of all lengths.
      int64_t rows = packed.shape[2];
      if (lengths && binding.batch > 0)
        rows = packed.shape[0] == binding.batch
                   ? lengths[b]
                   : *std::max_element(lengths, lengths + binding.batch);
      for (int64_t n = 0; n < rows; ++n) {
        const char *source =
            from + (b * tensor.strides[0] + h * tensor.strides[1] +
                    n * tensor.strides[2]) *
                       size;
        char *row = to + (b * packed.strides[0] + h * packed.strides[1] +
                          n * packed.strides[2]) *
                             size;
        for (int64_t d = 0; d < packed.shape[3]; ++d)
          std::memcpy(row + d * size, source + d * tensor.strides[3] * size,
                      size);
      }
    }
  tensor = packed;
}
