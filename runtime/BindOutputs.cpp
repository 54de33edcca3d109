//===- BindOutputs.cpp - shapes, types and memory of outputs --------------===//
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

static std::vector<int64_t>
fullShape(const Binding &binding, std::string_view result, int64_t outputRow) {
  if (result == kState)
    return stateShape(binding);
  std::vector<int64_t> shape = {binding.batch, binding.queryHeads,
                                binding.queries};
  if (result == "o")
    shape.push_back(outputRow);
  else if (result == "weights")
    shape.push_back(binding.keys);
  rowMajor(shape); // throws where the elements cannot be counted
  return shape;
}

std::vector<int64_t> runtime::outputShape(const Binding &binding,
                                          std::string_view result,
                                          int64_t outputRow) {
  std::vector<int64_t> shape = fullShape(binding, result, outputRow);
  if (binding.queryRank < 4 && shape[1] == 1)
    shape.erase(shape.begin() + 1);
  if (binding.queryRank == 2 && shape[0] == 1 && binding.queryHeads == 1)
    shape.erase(shape.begin());
  return shape;
}

bool runtime::expand(Tensor &tensor, const std::vector<int64_t> &full) {
  if (tensor.shape == full)
    return true;
  for (std::vector<size_t> missing : {std::vector<size_t>{1}, {0}, {0, 1}}) {
    std::vector<int64_t> shape = full;
    bool ones = true;
    for (size_t i = missing.size(); i-- > 0;) {
      ones &= full[missing[i]] == 1;
      shape.erase(shape.begin() + missing[i]);
    }
    if (!ones || tensor.shape != shape)
      continue;
    for (size_t axis : missing)
      tensor.strides.insert(tensor.strides.begin() + axis, 0);
    tensor.shape = full;
    return true;
  }
  return false;
}

static void checkType(const std::string &who, std::string_view result,
                      Type type, const Binding &binding, bool reference) {
  Type wanted = result == "argmax" ? Type::i32
                : result == "o"    ? binding.outputType
                                   : Type::f32;
  // The interpreter's own numbers, not rounded.
  bool wide = reference && result != "argmax" && wanted != Type::f64;
  if (type == wanted || (wide && type == Type::f64))
    return;
  throw Error(who + " has type " + nameOf(type) + "; it must be " +
              nameOf(wanted) + (wide ? " or f64" : ""));
}

void runtime::bindOutputs(Binding &binding, const Signature &signature,
                          const std::vector<Output> &outputs, int64_t outputRow,
                          const BindRules &rules) {
  auto expected = [&] {
    return "; " + signature.name + " returns " + joinNames(signature.results);
  };
  auto find = [&](const std::string &name) {
    return std::find_if(outputs.begin(), outputs.end(),
                        [&](const Output &o) { return o.name == name; });
  };
  for (auto it = outputs.begin(); it != outputs.end(); ++it) {
    if (std::find(signature.results.begin(), signature.results.end(),
                  it->name) == signature.results.end())
      throw Error("there is no output '" + it->name + "'" + expected());
    if (find(it->name) != it)
      throw Error("output '" + it->name + "' is given twice");
  }

  std::vector<size_t> bound; // formals of the outputs so far
  for (size_t i = 0; i < signature.formals.size(); ++i) {
    const Formal &formal = signature.formals[i];
    if (formal.kind != FormalKind::Output)
      continue;
    auto it = find(formal.name);
    std::string who = "output '" + formal.name + "'";
    if (it == outputs.end())
      throw Error(who + " is missing" + expected());
    Tensor tensor = it->tensor;
    checkType(who, formal.name, tensor.type, binding, rules.reference);
    checkView(who, tensor);
    checkPlace(who, tensor, rules);
    if (tensor.device != binding.place)
      throw Error(who + " lies on " + toString(tensor.device) +
                  ", and the inputs on " + toString(binding.place) +
                  "; inputs and outputs of a call lie in one place");
    std::vector<int64_t> full = fullShape(binding, formal.name, outputRow);
    if (!expand(tensor, full))
      throw Error(who + " has shape " + toString(tensor.shape) +
                  "; it must be " +
                  toString(outputShape(binding, formal.name, outputRow)));
    if (mayOverlapItself(tensor))
      throw Error(who + " has strides " + toString(tensor.strides) +
                  " that let its elements overlap");
    bool isState = formal.name == kState;
    if (isState)
      checkStateRows(who, tensor);
    for (const auto &[name, source] : binding.sources)
      if (isState && name == kState && tensor.data == source.data &&
          tensor.strides == source.strides)
        continue; // in place
      else if (mayOverlap(tensor, source))
        throw Error(who + " shares memory with '" + name + "'");
    for (size_t j : bound)
      if (mayOverlap(tensor, binding.arrays[j]))
        throw Error(who + " shares memory with output '" +
                    signature.formals[j].name + "'");
    bound.push_back(i);
    binding.arrays[i] = std::move(tensor);
  }

  // Only now: a packed copy must not hide an overlap from the checks above.
  if (rules.reference)
    return;
  for (size_t i : bound) {
    Tensor &tensor = binding.arrays[i];
    if (signature.formals[i].name != "o")
      continue;
    if (tensor.strides[3] != 1 && tensor.shape[3] > 1) {
      if (tensor.device.kind == Device::Cuda)
        throw Error("output 'o' has rows of stride " +
                    std::to_string(tensor.strides[3]) +
                    "; on a GPU they have stride 1");
      Tensor packed(nullptr, tensor.type, tensor.shape);
      packed.strides = rowMajor(packed.shape);
      packed.data =
          binding.allocate(elementCount(packed.shape) * sizeOf(packed.type));
      binding.copyBacks.push_back({packed, tensor});
      tensor = packed;
    }
    tensor.strides[3] = 1;
  }
}
