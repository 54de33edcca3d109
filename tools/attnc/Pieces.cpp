//===- Pieces.cpp - a sequence in several calls ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pieces.h"
#include "runtime/Arrays.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::runtime;

void attn::makeTokens(Recipe &recipe) {
  recipe.shape.Nk = recipe.shape.Nq;
  recipe.offsets.clear();
  recipe.queryLengths.clear();
  for (int64_t &length : recipe.keyLengths)
    length = std::min(length, recipe.shape.Nk);
}

static const Tensor *find(const std::vector<Argument> &arguments,
                          const std::string &name) {
  for (const Argument &argument : arguments)
    if (argument.name == name)
      return &argument.tensor;
  return nullptr;
}

static Tensor withStrides(Tensor tensor) {
  if (tensor.strides.empty())
    tensor.strides = rowMajor(tensor.shape);
  return tensor;
}

/// The numbers of key_lengths.
static std::vector<int64_t> lengthsOf(const Tensor &given) {
  std::vector<int64_t> lengths;
  Tensor tensor = withStrides(given);
  forEachElement(tensor, [&](const std::vector<int64_t> &, char *from) {
    lengths.push_back(static_cast<int64_t>(loadReal(tensor.type, from)));
    return true;
  });
  return lengths;
}

/// Rows [begin, begin + count) of an axis.
static Tensor slice(Tensor tensor, size_t axis, int64_t begin, int64_t count) {
  tensor = withStrides(std::move(tensor));
  tensor.data = static_cast<char *>(tensor.data) +
                begin * tensor.strides[axis] * runtime::sizeOf(tensor.type);
  tensor.shape[axis] = count;
  return tensor;
}

void attn::runInPieces(Kernel::Impl &impl,
                       const std::vector<Argument> &arguments,
                       const std::vector<Output> &outputs,
                       const std::function<void(const Prepared &)> &run) {
  InputRoles roles = rolesOf(impl.signature);
  const Tensor &query = *find(arguments, roles.query);
  int64_t total = query.shape[query.shape.size() - 2], begin = 0;
  std::vector<float> state;
  std::vector<int64_t> stateShape;
  for (int64_t end :
       {total * 5 / 8, total * 5 / 8 + 1, total * 5 / 8 + 2, total}) {
    int64_t count = std::min(end, total) - begin;
    if (count <= 0 && begin) // an empty sequence is one call
      continue;
    std::vector<Argument> tokens;
    std::vector<int64_t> lengths;
    for (Argument argument : arguments) {
      Tensor &tensor = argument.tensor;
      if (argument.name == "key_lengths") {
        lengths = lengthsOf(tensor);
        for (int64_t &length : lengths)
          length = std::clamp<int64_t>(length - begin, 0, count);
        tensor = Tensor(lengths.data(), Type::i64,
                        {static_cast<int64_t>(lengths.size())});
      } else if (argument.name == roles.query || argument.name == roles.key ||
                 argument.name == roles.value) {
        tensor = slice(tensor, tensor.shape.size() - 2, begin, count);
      }
      tokens.push_back(std::move(argument));
    }
    if (stateShape.empty()) {
      stateShape = impl.shapesOf(tokens).back();
      state.assign(elementCount(stateShape),
                   std::numeric_limits<float>::quiet_NaN());
    } else {
      tokens.push_back({std::string(kState), {state.data(), stateShape}});
    }
    std::vector<Output> rows;
    for (const Output &output : outputs)
      rows.push_back({output.name, slice(output.tensor,
                                         output.tensor.shape.size() -
                                             (output.name == "o" ? 2 : 1),
                                         begin, count)});
    rows.push_back({std::string(kState), {state.data(), stateShape}});
    run(impl.prepare(tokens, rows));
    begin += count;
  }
}

void attn::blankPastEnds(Results &results,
                         const std::vector<Argument> &arguments,
                         const InputRoles &roles) {
  const Tensor *given = find(arguments, "key_lengths");
  if (!given)
    return;
  size_t rank = find(arguments, roles.query)->shape.size();
  for (auto &[name, array] : results) {
    // [B, H, N, ...], [B, N, ...] or [N, ...]
    size_t axis = rank - 2;
    int64_t rows = 1, row = 1, batch = axis ? array.shape[0] : 1;
    for (size_t n = axis ? 1 : 0; n <= axis; ++n)
      rows *= array.shape[n];
    for (size_t n = axis + 1; n < array.shape.size(); ++n)
      row *= array.shape[n];
    int64_t size = runtime::sizeOf(array.type);
    std::vector<int64_t> lengths = lengthsOf(*given);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t n = 0; n < rows; ++n)
        if (n % array.shape[axis] >= lengths[b])
          std::fill_n(array.bytes.data() + (b * rows + n) * row * size,
                      row * size, std::byte(0));
  }
}
