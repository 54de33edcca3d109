//===- Binder.cpp - names, places and the order of the work ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Binder.h"
#include "dialect/attn/FewQueries.h"
#include "runtime/Arrays.h"
#include "runtime/BinderImpl.h"

#include <algorithm>
#include <cstring>

using namespace attn;
using namespace attn::runtime;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string runtime::joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

InputBinder::InputBinder(const Signature &signature,
                         const std::vector<Argument> &arguments,
                         const BindRules &rules)
    : signature(signature), rules(rules) {
  given.reserve(arguments.size());
  // Every call comes through here: lists are made for messages only.
  for (const Argument &argument : arguments) {
    bool known = false;
    for (const Formal &formal : signature.formals)
      known |= formal.kind < FormalKind::Output && formal.name == argument.name;
    if (!known)
      throw Error("there is no input or parameter '" + argument.name + "'" +
                  expectedNames());
    if (find(argument.name))
      throw Error("'" + argument.name + "' is given twice");
    given.push_back(&argument);
  }
  for (const Formal &formal : signature.formals)
    if (formal.kind < FormalKind::KeyLengths && !find(formal.name))
      throw Error("'" + formal.name + "' is missing" + expectedNames());
}

/// `; f takes q, k, v and optionally key_lengths, ...`
std::string InputBinder::expectedNames() const {
  std::vector<std::string> required, optional;
  for (const Formal &formal : signature.formals) {
    if (formal.kind >= FormalKind::Output)
      continue;
    auto &names = formal.kind >= FormalKind::KeyLengths ? optional : required;
    if (std::find(names.begin(), names.end(), formal.name) == names.end())
      names.push_back(formal.name);
  }
  return "; " + signature.name + " takes " + joinNames(required) +
         " and optionally " + joinNames(optional);
}

const Argument *InputBinder::find(const std::string &name) const {
  for (const Argument *argument : given)
    if (argument->name == name)
      return argument;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Extents that several arrays must agree on
//===----------------------------------------------------------------------===//

void Extent::require(int64_t extent, const std::string &by) {
  if (!fixed) {
    value = extent;
    fixed = true;
    source = by;
  } else if (value != extent) {
    throw Error(by + " gives " + what + " = " + std::to_string(extent) +
                ", but " + source + " gives " + std::to_string(value));
  }
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

std::string runtime::toString(Device device) {
  return device.kind == Device::Host
             ? "the host"
             : "CUDA device " + std::to_string(device.ordinal);
}

void runtime::checkPlace(const std::string &who, const Tensor &tensor,
                         const BindRules &rules) {
  if (tensor.device.kind == Device::Cuda && !rules.devices)
    throw Error(who + " lies on " + toString(tensor.device) + ", and " +
                (rules.gpu
                     ? "the emulator executes a GPU's kernel on the host"
                     : "the target " + rules.target + " computes on the host") +
                ": copy it there, or take the target cuda");
}

void InputBinder::checkBeside(const std::string &who,
                              const Tensor &tensor) const {
  checkPlace(who, tensor, rules);
  if (tensor.device.kind == Device::Cuda && tensor.device != binding.place)
    throw Error(who + " lies on " + toString(tensor.device) + ", but " +
                placed + " on " + toString(binding.place));
}

//===----------------------------------------------------------------------===//
// The order of the work
//===----------------------------------------------------------------------===//

Binding InputBinder::bind() {
  binding.arrays.resize(signature.formals.size());
  forEach(FormalKind::Query, FormalKind::Value,
          [&](size_t i) { checkRows(i); });
  forEach(FormalKind::Param, FormalKind::Param,
          [&](size_t i) { checkParameter(i); });
  resolveHeads();
  resolveSizes();
  forEach(FormalKind::KeyLengths, FormalKind::Offset,
          [&](size_t i) { bindPositions(i); });
  forEach(FormalKind::Query, FormalKind::Value,
          [&](size_t i) { broadcastRows(i); });
  forEach(FormalKind::Param, FormalKind::Param,
          [&](size_t i) { bindParameter(i); });
  std::sort(binding.sizes.rows.begin(), binding.sizes.rows.end());
  std::sort(binding.sizes.types.begin(), binding.sizes.types.end());
  for (const auto &[name, extent] : sizes)
    binding.sizes.variables.push_back({name, extent.value});
  // Given lengths may be few where the array has many. The reference has one
  // program, and so have GPUs, but where a call goes on from a state.
  bool areGiven = false;
  forEach(FormalKind::QueryLengths, FormalKind::QueryLengths, [&](size_t i) {
    areGiven = !binding.arrays[i].shape.empty() && binding.arrays[i].shape[0];
  });
  if (!rules.reference && !rules.gpu) {
    for (int64_t most : {kFewQueries, int64_t(16), int64_t(32)})
      if (binding.queries <= most && binding.sizes.mostQueries > most)
        binding.sizes.mostQueries = most;
    if (!areGiven && binding.queries > kFewQueries)
      binding.sizes.fewestQueries = kFewQueries + 1;
    if (rules.recurrent && binding.queries <= 1)
      binding.sizes.mostQueries = 1;
  } else if (rules.recurrent && binding.queries <= kFewTokens) {
    binding.sizes.mostQueries = kFewTokens;
  }
  return std::move(binding);
}

Binding runtime::bindInputs(const Signature &signature,
                            const std::vector<Argument> &arguments,
                            const BindRules &rules) {
  return InputBinder(signature, arguments, rules).bind();
}

char *Binding::allocate(int64_t bytes) {
  owned.push_back(std::make_unique<char[]>(std::max<int64_t>(bytes, 1)));
  return owned.back().get();
}

void Binding::finish() const {
  for (const CopyBack &copy : copyBacks) {
    int64_t size = sizeOf(copy.destination.type);
    const char *from = static_cast<const char *>(copy.packed.data);
    forEachElement(copy.destination,
                   [&](const std::vector<int64_t> &, char *to) {
                     std::memcpy(to, from, size);
                     from += size;
                     return true;
                   });
  }
}
