//===- DLPack.cpp - tensors of other libraries ----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/DLPack.h"
#include "attn/attn.h"
#include "runtime/Arrays.h"

#include <cstdlib>
#include <cstring>
#include <dlpack/dlpack.h>

using namespace attn;
using namespace attn::runtime;

/// Booleans, a byte each; headers before DLPack 0.8 do not name them.
static constexpr uint8_t kBool = 6;

/// All of DLPack's types that there is a Type for.
static constexpr struct {
  uint8_t code, bits;
  Type type;
} knownTypes[] = {
    {kDLFloat, 32, Type::f32}, {kDLFloat, 64, Type::f64},
    {kDLFloat, 16, Type::f16}, {kDLBfloat, 16, Type::bf16},
    {kDLInt, 32, Type::i32},   {kDLInt, 64, Type::i64},
    {kDLInt, 8, Type::i8},     {kDLInt, 16, Type::i16},
    {kDLUInt, 8, Type::u8},    {kDLUInt, 16, Type::u16},
    {kDLUInt, 32, Type::u32},  {kBool, 8, Type::boolean},
};

/// `u64`, or what can be said of a type that later versions may know.
static std::string describe(const DLDataType &type) {
  const char *kind = type.code == kDLInt       ? "i"
                     : type.code == kDLUInt    ? "u"
                     : type.code == kDLFloat   ? "f"
                     : type.code == kDLBfloat  ? "bf"
                     : type.code == kDLComplex ? "complex"
                     : type.code == kBool      ? "bool"
                                               : nullptr;
  return kind ? kind + std::to_string(type.bits)
              : "type code " + std::to_string(type.code) + " with " +
                    std::to_string(type.bits) + " bits";
}

static Type typeOf(const DLDataType &type) {
  if (type.lanes != 1)
    throw Error("a DLPack tensor of vectors (" + std::to_string(type.lanes) +
                " lanes) is not supported; view it as scalars");
  std::string names;
  for (const auto &known : knownTypes) {
    if (known.code == type.code && known.bits == type.bits)
      return known.type;
    names += (names.empty() ? "" : ", ") + std::string(nameOf(known.type));
  }
  throw Error("a DLPack tensor of " + describe(type) +
              " is not supported; those of " + names + " are");
}

static DLDataType typeOf(Type type) {
  for (const auto &known : knownTypes)
    if (known.type == type)
      return {known.code, known.bits, 1};
  throw Error(std::string("DLPack has no type for ") + nameOf(type));
}

static Device deviceOf(const DLDevice &device) {
  switch (device.device_type) {
  case kDLCPU:
  case kDLCUDAHost: // page-locked, and the host's like any other
    return Device::host();
  case kDLCUDA:
    return Device::cuda(device.device_id);
  default:
    throw Error("a DLPack tensor on device type " +
                std::to_string(device.device_type) +
                " is not supported; copy it to the CPU or a CUDA device");
  }
}

Tensor attn::fromDLPack(const DLManagedTensor &managed) {
  const DLTensor &given = managed.dl_tensor;
  Device device = deviceOf(given.device);
  if (given.ndim < 0 || (given.ndim > 0 && !given.shape))
    throw Error("a DLPack tensor has no shape");
  Type type = typeOf(given.dtype);
  void *data = given.data ? static_cast<char *>(given.data) + given.byte_offset
                          : nullptr;
  Tensor tensor(data, type, {given.shape, given.shape + given.ndim});
  tensor.device = device;
  if (given.strides)
    tensor.strides.assign(given.strides, given.strides + given.ndim);
  checkView("a DLPack tensor", tensor);
  return tensor;
}

namespace {
/// A lent tensor and all that it points to.
struct Lent {
  DLManagedTensor managed = {};
  std::vector<int64_t> shape, strides;
  std::shared_ptr<void> owner;
};
} // namespace

DLManagedTensor *attn::toDLPack(const Tensor &tensor,
                                std::shared_ptr<void> owner) {
  auto lent = std::make_unique<Lent>();
  Tensor view = tensor;
  checkView("a tensor for DLPack", view);
  lent->shape = std::move(view.shape);
  lent->strides = std::move(view.strides);
  lent->owner = std::move(owner);
  DLTensor &given = lent->managed.dl_tensor;
  given.data = view.data;
  given.device = {kDLCPU, 0};
  if (view.device.kind == Device::Cuda)
    given.device = {kDLCUDA, view.device.ordinal};
  given.ndim = static_cast<int>(lent->shape.size());
  given.dtype = typeOf(view.type);
  given.shape = lent->shape.data();
  given.strides = lent->strides.data();
  lent->managed.manager_ctx = lent.get();
  lent->managed.deleter = [](DLManagedTensor *self) {
    delete static_cast<Lent *>(self->manager_ctx);
  };
  return &lent.release()->managed;
}

DLManagedTensor *attn::newDLPack(Type type, const std::vector<int64_t> &shape) {
  constexpr int64_t alignment = 256;
  int64_t bytes = sizeOf(type);
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes))
      throw Error("a DLPack tensor of shape " + toString(shape) +
                  " cannot be allocated");
  int64_t rounded;
  if (__builtin_add_overflow(bytes, alignment, &rounded))
    throw Error("a DLPack tensor of shape " + toString(shape) +
                " cannot be allocated");
  rounded -= rounded % alignment; // one line at least
  void *memory = std::aligned_alloc(alignment, rounded);
  if (!memory)
    throw Error("out of memory: a DLPack tensor of shape " + toString(shape) +
                " takes " + std::to_string(bytes) + " bytes");
  std::shared_ptr<void> owner(memory, [](void *m) { std::free(m); });
  std::memset(memory, 0, bytes);
  return toDLPack(Tensor(memory, type, shape), std::move(owner));
}
