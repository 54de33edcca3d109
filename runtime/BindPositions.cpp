//===- BindPositions.cpp - lengths and offset -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Arrays.h"
#include "runtime/BinderImpl.h"

#include <algorithm>

using namespace attn;
using namespace attn::runtime;

void InputBinder::bindPositions(size_t index) {
  const Formal &formal = signature.formals[index];
  const Argument *argument = find(formal.name);
  const std::string who = "'" + formal.name + "'";
  if (!argument) {
    static int64_t none;
    binding.arrays[index] = Tensor(&none, Type::i64, {0}, {1});
    return;
  }
  bool offset = formal.kind == FormalKind::Offset;
  int64_t low = offset ? -kPositionLimit : 0;
  int64_t high = offset                                  ? kPositionLimit
                 : formal.kind == FormalKind::KeyLengths ? binding.keys
                                                         : binding.queries;
  const char *limit =
      formal.kind == FormalKind::KeyLengths ? "keys" : "queries";
  auto check = [&](std::optional<int64_t> value, const std::string &place,
                   const std::string &text) {
    if (!value)
      throw Error(who + place + " is " + text + ", not a whole number");
    if (*value < low || *value > high)
      throw Error(who + place + " is " + text +
                  (offset
                       ? ", out of range: it must lie between -" +
                             std::to_string(kPositionLimit) + " and " +
                             std::to_string(kPositionLimit)
                       : "; it must lie between 0 and " + std::to_string(high) +
                             ", the number of " + limit));
    return *value;
  };

  int64_t extent = binding.batch;
  Tensor tensor;
  if (!argument->isNumber) {
    tensor = argument->tensor;
    checkView(who, tensor);
    checkBeside(who, tensor);
    binding.sources.push_back({formal.name, tensor});
    if (offset && tensor.shape.empty()) { // a 0-dimensional array is one number
      tensor.shape = {1};
      tensor.strides = {1};
    }
    bool fits = tensor.shape.size() == 1 && (tensor.shape[0] == binding.batch ||
                                             (offset && tensor.shape[0] == 1));
    if (!fits)
      throw Error(who + " has shape " + toString(tensor.shape) +
                  "; it must be [" + std::to_string(binding.batch) +
                  "], the batch" + (offset ? ", or [1]" : ""));
    if (!isInteger(tensor.type))
      throw Error(who + " has type " + nameOf(tensor.type) +
                  "; it must be of integers, i32 or i64, say");
    extent = tensor.shape[0];
    if (tensor.device.kind == Device::Cuda) {
      binding.unseen.push_back(
          {index, tensor, /*isConverted=*/true, Type::i64, low, high, "", 0,
           formal.name + " is a whole number from " + std::to_string(low) +
               " to " + std::to_string(high)});
      binding.arrays[index] =
          Tensor(nullptr, Type::i64, {extent}, {1}).on(tensor.device);
      return;
    }
  }
  // Copied, so that another thread cannot change what was checked.
  auto *values = reinterpret_cast<int64_t *>(
      binding.allocate(std::max<int64_t>(extent, 1) * sizeof(int64_t)));
  for (int64_t b = 0; b < extent; ++b) {
    if (argument->isNumber) {
      values[b] = check(loadInteger(Type::f64, &argument->number), "",
                        toString(argument->number));
      continue;
    }
    const char *address = static_cast<const char *>(tensor.data) +
                          b * tensor.strides[0] * sizeOf(tensor.type);
    std::optional<int64_t> value = loadInteger(tensor.type, address);
    values[b] =
        check(value, "[" + std::to_string(b) + "]", std::to_string(*value));
  }
  binding.arrays[index] = Tensor(values, Type::i64, {extent}, {1});
  if (formal.kind == FormalKind::KeyLengths)
    lengthsOfKeys = values;
}
