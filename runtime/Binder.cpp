//===- Binder.cpp - inputs, heads and lengths -----------------------------===//
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
// Rows: the inputs that q, k and v derive from
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Lengths and offset
//===----------------------------------------------------------------------===//

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
                  "; it must be i32 or i64");
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
