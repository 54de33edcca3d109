//===- BindState.cpp - the state of a sequence that goes on ---------------===//
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

std::vector<int64_t> runtime::stateShape(const Binding &binding) {
  const StateShape &state = binding.state;
  std::vector<int64_t> shape = {
      binding.batch, state.perQueryHead ? binding.queryHeads : binding.keyHeads,
      state.rows, state.row};
  rowMajor(shape); // throws where the elements cannot be counted
  return shape;
}

void runtime::checkStateRows(const std::string &who, const Tensor &tensor) {
  if (tensor.strides[3] != 1 || tensor.strides[2] != tensor.shape[3])
    throw Error(who + " has strides " + toString(tensor.strides) + "; the " +
                std::to_string(tensor.shape[2]) + " x " +
                std::to_string(tensor.shape[3]) +
                " numbers of a head stand one behind the other");
}

/// What a call takes is the next tokens of its sequences, as many queries as
/// keys.
static void checkTokens(const Binding &binding,
                        const std::vector<Argument> &arguments) {
  if (binding.queries != binding.keys)
    throw Error("a call that continues a sequence has a query and a key for "
                "every token, not " +
                std::to_string(binding.queries) + " queries and " +
                std::to_string(binding.keys) + " keys");
  for (const Argument &argument : arguments)
    if (argument.name == "offset" || argument.name == "query_lengths")
      throw Error("'" + argument.name +
                  "' is not for the recurrent order: the state knows where its "
                  "sequence stands, and key_lengths say how many tokens come");
}

/// The number of tokens in every state, n mod 2^20 and n / 2^20: what no call
/// gave, or what leads beyond the positions that there are, is refused.
static void checkCounts(const std::string &who, const Tensor &tensor,
                        int64_t tokens) {
  const auto *data = static_cast<const float *>(tensor.data);
  constexpr float low = 1 << 20, high = 1 << 10;
  for (int64_t b = 0; b < tensor.shape[0]; ++b)
    for (int64_t h = 0; h < tensor.shape[1]; ++h) {
      const float *count = data + b * tensor.strides[0] +
                           h * tensor.strides[1] +
                           (tensor.shape[2] - 1) * tensor.strides[2];
      auto isCount = [](float x, float end) {
        return x >= 0 && x < end &&
               x == static_cast<float>(static_cast<int>(x));
      };
      std::string place =
          who + "[" + std::to_string(b) + ", " + std::to_string(h) + "]";
      if (!isCount(count[0], low) || !isCount(count[1], high))
        throw Error(place + " holds " + toString(count[0]) + " + 2^20 * " +
                    toString(count[1]) +
                    " tokens: it is no state that a call gave");
      int64_t before = static_cast<int64_t>(count[0]) +
                       static_cast<int64_t>(count[1]) * (1 << 20);
      if (before + tokens > kPositionLimit)
        throw Error(
            place + " holds " + std::to_string(before) +
            " tokens, and with those of this call there are more than " +
            std::to_string(kPositionLimit));
    }
}

void runtime::bindState(Binding &binding, const Signature &signature,
                        const std::vector<Argument> &arguments,
                        const StateShape &state, const BindRules &rules) {
  binding.state = state;
  checkTokens(binding, arguments);
  auto formal =
      std::find_if(signature.formals.begin(), signature.formals.end(),
                   [](const Formal &f) { return f.kind == FormalKind::State; });
  Tensor &bound = binding.arrays[formal - signature.formals.begin()];
  auto given = std::find_if(arguments.begin(), arguments.end(),
                            [](const Argument &a) { return a.name == kState; });
  std::vector<int64_t> full = stateShape(binding);
  if (given == arguments.end()) { // one empty state for all
    char *zeros =
        binding.allocate(state.rows * state.row * int64_t(sizeof(float)));
    bound = Tensor(zeros, Type::f32, full, {0, 0, state.row, 1});
    return;
  }
  const std::string who = "'" + given->name + "'";
  if (given->isNumber)
    throw Error(who + " is an array that an earlier call gave, not a number; "
                      "leave it out to begin a sequence");
  Tensor tensor = given->tensor;
  if (tensor.type != Type::f32)
    throw Error(who + " has type " + nameOf(tensor.type) + "; it must be f32");
  checkView(who, tensor);
  if (!expand(tensor, full))
    throw Error(who + " has shape " + toString(tensor.shape) +
                "; here a state is " + toString(full));
  checkStateRows(who, tensor);
  if (tensor.device != binding.place)
    throw Error(who + " lies on " + toString(tensor.device) +
                ", and the inputs on " + toString(binding.place) +
                "; inputs and outputs of a call lie in one place");
  if (tensor.device.kind == Device::Host) // what a device holds is not seen
    checkCounts(who, tensor, binding.queries);
  binding.sources.push_back({given->name, tensor});
  bound = std::move(tensor);
}
