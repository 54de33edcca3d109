//===- BindParameters.cpp - axes, bounds and values of parameters ---------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Arrays.h"
#include "runtime/BinderImpl.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace attn;
using namespace attn::runtime;

static std::string describe(const Formal &formal) {
  return "parameter '" + formal.name + "'";
}

/// As declared: `Wq[head, D, d]`.
static std::string declaration(const Formal &formal) {
  std::string text = formal.name;
  for (size_t i = 0; i < formal.axes.size(); ++i)
    text += (i ? ", " : "[") + formal.axes[i].toString();
  return text + (formal.axes.empty() ? "" : "]");
}

Extent &InputBinder::variable(const std::string &name) {
  auto [it, isNew] = sizes.try_emplace(name);
  if (isNew)
    it->second.what = name;
  return it->second;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

void InputBinder::checkParameter(size_t index) {
  const Formal &formal = signature.formals[index];
  const Argument &argument = *find(formal.name);
  std::string who = describe(formal);
  for (const Axis &axis : formal.axes) // known by name from here on
    if (axis.kind == Axis::Named && axis.name != "nq" && axis.name != "nk")
      variable(axis.name);
  if (argument.isNumber)
    return;
  Tensor tensor = argument.tensor;
  checkView(who, tensor);
  checkBeside(who, tensor);
  binding.sources.push_back({formal.name, tensor});
  if (formal.axes.empty() && tensor.shape == std::vector<int64_t>{1}) {
    tensor.shape.clear(); // one element serves as a number
    tensor.strides.clear();
  }
  if (tensor.shape.size() != formal.axes.size())
    throw Error(
        who + " has shape " + toString(tensor.shape) + "; it is declared as " +
        declaration(formal) +
        (formal.axes.empty() ? ", one number" : ", or one number for all"));
  for (size_t axis = 0; axis < formal.axes.size(); ++axis) {
    const Axis &declared = formal.axes[axis];
    int64_t extent = tensor.shape[axis];
    auto shared = [&](Extent &with) {
      if (extent != 1) // an extent of 1 broadcasts
        with.require(extent, who);
    };
    switch (declared.kind) {
    case Axis::Head:
      shared(queryHeads);
      break;
    case Axis::KvHead:
      shared(keyHeads);
      break;
    case Axis::Batch:
      shared(batch);
      break;
    case Axis::Named:
      if (declared.name == "nq")
        queries.require(extent, who);
      else if (declared.name == "nk")
        keys.require(extent, who);
      else if (extent < 1)
        throw Error(who + " has shape " + toString(tensor.shape) + ": '" +
                    declared.name + "' must be at least 1");
      else
        variable(declared.name).require(extent, who);
      break;
    case Axis::Table:
      break; // once all names are known
    }
  }
  binding.arrays[index] = std::move(tensor);
}

bool InputBinder::evaluate(const Edge &edge, int64_t &value) const {
  if (edge.name.empty())
    value = edge.number;
  else if (edge.name == "nq")
    value = queries.value;
  else if (edge.name == "nk")
    value = keys.value;
  else if (auto it = sizes.find(edge.name);
           it != sizes.end() && it->second.fixed)
    value = it->second.value;
  else
    return false;
  if (edge.negated)
    value = -value;
  return true;
}

/// Finds the one unknown size variable of lo:hi from the extent hi - lo + 1.
/// Returns false where both edges are unknown and differ in name.
bool InputBinder::solveTable(const std::string &who, const Axis &axis,
                             int64_t extent) {
  int64_t low, high;
  bool knowsLow = evaluate(axis.low, low),
       knowsHigh = evaluate(axis.high, high);
  if (knowsLow && knowsHigh)
    return true;
  // hi - lo = known + factor * unknown
  int64_t known = (knowsHigh ? high : 0) - (knowsLow ? low : 0), factor = 0;
  std::string name = knowsHigh ? axis.low.name : axis.high.name;
  if (!knowsHigh)
    factor += axis.high.negated ? -1 : 1;
  if (!knowsLow) {
    if (axis.low.name != name)
      return false;
    factor -= axis.low.negated ? -1 : 1;
  }
  if (factor == 0)
    return false;
  int64_t rest = extent - 1 - known;
  if (rest % factor || rest / factor < 0)
    throw Error(who + " has extent " + std::to_string(extent) + " on axis " +
                axis.toString() + ", which fits no '" + name + "'");
  variable(name).require(rest / factor, who);
  return true;
}

void InputBinder::resolveSizes() {
  // A solved edge may make another one solvable, so as many rounds as edges.
  bool open = true, progress = true;
  while (open && progress) {
    open = progress = false;
    size_t before = 0, after = 0;
    auto countFixed = [&] {
      size_t count = 0;
      for (const auto &[name, extent] : sizes)
        count += extent.fixed;
      return count;
    };
    before = countFixed();
    forEach(FormalKind::Param, FormalKind::Param, [&](size_t i) {
      const Formal &formal = signature.formals[i];
      for (size_t axis = 0; axis < formal.axes.size(); ++axis)
        if (formal.axes[axis].kind == Axis::Table &&
            !find(formal.name)->isNumber)
          open |= !solveTable(describe(formal), formal.axes[axis],
                              binding.arrays[i].shape[axis]);
    });
    after = countFixed();
    progress = after > before;
  }
  for (const auto &[name, extent] : sizes)
    if (!extent.fixed)
      throw Error(
          "nothing given fixes the size '" + name +
          "': give an array, not a number, for a parameter with that axis");
}

int64_t InputBinder::extentOf(const Formal &formal, const Axis &axis) const {
  switch (axis.kind) {
  case Axis::Head:
    return binding.queryHeads;
  case Axis::KvHead:
    return binding.keyHeads;
  case Axis::Batch:
    return binding.batch;
  case Axis::Named:
    return axis.name == "nq"   ? binding.queries
           : axis.name == "nk" ? binding.keys
                               : sizes.at(axis.name).value;
  case Axis::Table:
    break;
  }
  int64_t low, high, extent;
  if (!evaluate(axis.low, low) || !evaluate(axis.high, high))
    throw Error("nothing given fixes the axis " + axis.toString() + " of " +
                describe(formal) + ": give an array for it");
  if (__builtin_sub_overflow(high, low, &extent) ||
      __builtin_add_overflow(extent, 1, &extent))
    throw Error("the axis " + axis.toString() + " of " + describe(formal) +
                " exceeds 64 bits");
  return std::max<int64_t>(extent, 0);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static bool holds(double value, const std::string &relop, double bound) {
  if (relop == "<")
    return value < bound;
  if (relop == "<=")
    return value <= bound;
  if (relop == ">")
    return value > bound;
  if (relop == ">=")
    return value >= bound;
  if (relop == "==")
    return value == bound;
  return value != bound;
}

/// `b[1, 2]`, or `b` where there is no index.
static std::string place(const Formal &formal,
                         const std::vector<int64_t> &indices) {
  return describe(formal) +
         (indices.empty() ? "" : " at index " + toString(indices));
}

/// Converts one element to the parameter's type at `to`, or throws.
static void convert(const Formal &formal, Type from, const void *address,
                    Type type, void *to, const std::vector<int64_t> &indices) {
  if (formal.integer) {
    std::optional<int64_t> value = loadInteger(from, address);
    if (!value)
      throw Error(place(formal, indices) + ": " +
                  toString(loadReal(from, address)) +
                  " is not an integer, and the parameter is declared int");
    std::memcpy(to, &*value, sizeof *value);
    return;
  }
  double value = loadReal(from, address);
  if (from == Type::i64 &&
      loadInteger(Type::f64, &value) != loadInteger(from, address))
    throw Error(place(formal, indices) + ": " +
                std::to_string(*loadInteger(from, address)) +
                " has no exact real value");
  storeReal(type, to, value);
  double stored = loadReal(type, to);
  if (std::isfinite(value) && std::isinf(stored))
    throw Error(place(formal, indices) + ": " + toString(value) +
                " is beyond the range of f32");
  if (isInteger(from) && stored != value)
    throw Error(place(formal, indices) + ": the integer " + toString(value) +
                " is not exact in f32; give a real array");
}

static void checkBound(const Formal &formal, Type type, const void *address,
                       const std::vector<int64_t> &indices) {
  if (formal.integer) {
    int64_t value = *loadInteger(type, address);
    if (value < -kPositionLimit || value > kPositionLimit)
      throw Error(place(formal, indices) + ": " + std::to_string(value) +
                  " is out of range: integers of a kernel lie between -" +
                  std::to_string(kPositionLimit) + " and " +
                  std::to_string(kPositionLimit));
  }
  if (formal.relop.empty())
    return;
  double value = loadReal(type, address);
  if (!holds(value, formal.relop, formal.bound))
    throw Error(place(formal, indices) + ": " + toString(value) +
                " violates its declared bound " + formal.name + " " +
                formal.relop + " " + toString(formal.bound));
}

void InputBinder::bindUnseen(size_t index, Type type) {
  const Formal &formal = signature.formals[index];
  Tensor &tensor = binding.arrays[index];
  Binding::Unseen unseen;
  unseen.formal = index;
  unseen.source = tensor;
  unseen.isConverted = tensor.type != type || formal.integer;
  unseen.type = type;
  unseen.relop = formal.relop;
  unseen.bound = formal.bound;
  std::string bound = formal.relop.empty()
                          ? ""
                          : ", " + formal.name + " " + formal.relop + " " +
                                toString(formal.bound);
  if (formal.integer) {
    unseen.low = -kPositionLimit;
    unseen.high = kPositionLimit;
    unseen.rule = formal.name + " is a whole number from " +
                  std::to_string(unseen.low) + " to " +
                  std::to_string(unseen.high) + bound;
  } else {
    unseen.rule = formal.name + " is a number that f32 holds" + bound;
  }
  if (unseen.isConverted) {
    tensor = Tensor(nullptr, type, tensor.shape).on(tensor.device);
    tensor.strides = rowMajor(tensor.shape);
  }
  if (unseen.isConverted || !formal.relop.empty())
    binding.unseen.push_back(std::move(unseen));
}

void InputBinder::bindParameter(size_t index) {
  const Formal &formal = signature.formals[index];
  const Argument &argument = *find(formal.name);
  Tensor &tensor = binding.arrays[index];
  std::string who = describe(formal);

  std::vector<int64_t> extents;
  for (const Axis &axis : formal.axes)
    extents.push_back(extentOf(formal, axis));

  Type type = formal.integer ? Type::i64 : Type::f32;
  if (rules.reference && !formal.integer &&
      (argument.isNumber || tensor.type == Type::f64))
    type = Type::f64; // the reference computes in f64: nothing is gained by
                      // rounding
  if (argument.isNumber) {
    tensor = Tensor(binding.allocate(8), type, extents,
                    std::vector<int64_t>(extents.size(), 0));
    convert(formal, Type::f64, &argument.number, type, tensor.data, {});
    checkBound(formal, type, tensor.data, {});
  } else {
    for (size_t axis = 0; axis < extents.size(); ++axis)
      if (formal.axes[axis].kind == Axis::Table &&
          tensor.shape[axis] != extents[axis])
        throw Error(who + " has extent " + std::to_string(tensor.shape[axis]) +
                    " on axis " + formal.axes[axis].toString() +
                    ", which has " + std::to_string(extents[axis]) +
                    " entries");
    bool isSeen = tensor.device.kind == Device::Host;
    if (!isSeen) {
      bindUnseen(index, type);
    } else if (tensor.type != type) {
      Tensor packed(nullptr, type, tensor.shape);
      packed.strides = rowMajor(packed.shape);
      char *to = binding.allocate(elementCount(packed.shape) * sizeOf(type));
      packed.data = to;
      forEachElement(tensor,
                     [&](const std::vector<int64_t> &indices, char *from) {
                       convert(formal, tensor.type, from, type, to, indices);
                       to += sizeOf(type);
                       return true;
                     });
      tensor = packed;
    }
    if (isSeen && (formal.integer || !formal.relop.empty()))
      forEachElement(tensor,
                     [&](const std::vector<int64_t> &indices, char *address) {
                       checkBound(formal, type, address, indices);
                       return true;
                     });
    for (size_t axis = 0; axis < extents.size(); ++axis)
      if (tensor.shape[axis] == 1)
        tensor.strides[axis] = 0;
    tensor.shape = extents;
  }
  // Indices clamp to their axis. Where an axis is empty they clamp to an
  // element that is not there: let it be this one, whatever the index.
  if (elementCount(extents) == 0) {
    char *zero = binding.allocate(8);
    std::memset(zero, 0, 8);
    tensor.data = zero;
    tensor.device = Device::host();
    std::fill(tensor.strides.begin(), tensor.strides.end(), 0);
  }
}
