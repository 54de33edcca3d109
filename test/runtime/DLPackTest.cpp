//===- DLPackTest.cpp - tensors of other libraries ------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attn.h"

#include <cmath>
#include <dlpack/dlpack.h>
#include <gtest/gtest.h>

using namespace attn;

namespace {

/// A tensor as another library would lend it.
struct Foreign {
  std::vector<int64_t> shape, strides;
  DLManagedTensor managed = {};
  Foreign(void *data, DLDataType type, std::vector<int64_t> extents,
          std::vector<int64_t> steps = {})
      : shape(std::move(extents)), strides(std::move(steps)) {
    DLTensor &t = managed.dl_tensor;
    t.data = data;
    t.device = {kDLCPU, 0};
    t.ndim = static_cast<int>(shape.size());
    t.dtype = type;
    t.shape = shape.data();
    t.strides = strides.empty() ? nullptr : strides.data();
  }
};

constexpr DLDataType kFloat32 = {kDLFloat, 32, 1};

std::string errorOf(const Foreign &foreign) {
  try {
    fromDLPack(foreign.managed);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(DLPackTest, InAndOut) {
  Kernel kernel =
      Compiler().compile("attention f(q, k, v) { kappa = exp(dot(q, k)) }");
  // The same call as with plain pointers; q begins one number into its memory,
  // and v's columns lie two numbers apart.
  float q[] = {9, 1}, k[] = {1, 0}, v[] = {3, -1, 30, -1, 5, -1, 50, -1};
  Foreign Q(q, kFloat32, {1, 1}), K(k, kFloat32, {2, 1}),
      V(v, kFloat32, {2, 2}, {4, 2});
  Q.managed.dl_tensor.byte_offset = sizeof(float);
  std::vector<Argument> arguments = {{"q", fromDLPack(Q.managed)},
                                     {"k", fromDLPack(K.managed)},
                                     {"v", fromDLPack(V.managed)}};
  DLManagedTensor *o = newDLPack(Type::f32, kernel.shapeOf("o", arguments));
  kernel(arguments, {{"o", fromDLPack(*o)}});
  const DLTensor &result = o->dl_tensor;
  ASSERT_EQ(result.ndim, 2);
  EXPECT_EQ(result.shape[0], 1);
  EXPECT_EQ(result.shape[1], 2);
  EXPECT_EQ(result.strides[0], 2);
  EXPECT_EQ(result.dtype.code, kDLFloat);
  EXPECT_EQ(result.dtype.bits, 32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(result.data) % 256, 0u);
  const float *values = static_cast<const float *>(result.data);
  double e = std::exp(1.0);
  EXPECT_NEAR(values[0], (3 * e + 5) / (e + 1), 1e-5);
  EXPECT_NEAR(values[1], (30 * e + 50) / (e + 1), 1e-4);
  o->deleter(o);
}

TEST(DLPackTest, TheOwnerLivesUntilTheDeleter) {
  auto memory = std::make_shared<std::vector<float>>(6, 1.0f);
  std::weak_ptr<std::vector<float>> watch = memory;
  float *data = memory->data();
  DLManagedTensor *lent =
      toDLPack(Tensor(data, {2, 3}, {1, 2}), std::move(memory));
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(lent->dl_tensor.data, data);
  EXPECT_EQ(lent->dl_tensor.strides[1], 2);
  lent->deleter(lent);
  EXPECT_TRUE(watch.expired());
}

TEST(DLPackTest, Types) {
  alignas(8) char memory[16] = {};
  const std::pair<DLDataType, Type> types[] = {
      {{kDLFloat, 32, 1}, Type::f32}, {{kDLFloat, 64, 1}, Type::f64},
      {{kDLFloat, 16, 1}, Type::f16}, {{kDLBfloat, 16, 1}, Type::bf16},
      {{kDLInt, 32, 1}, Type::i32},   {{kDLInt, 64, 1}, Type::i64},
      {{kDLInt, 8, 1}, Type::i8},     {{kDLInt, 16, 1}, Type::i16},
      {{kDLUInt, 8, 1}, Type::u8},    {{kDLUInt, 16, 1}, Type::u16},
      {{kDLUInt, 32, 1}, Type::u32},  {{6, 8, 1}, Type::boolean}};
  for (auto &[foreign, type] : types) {
    Foreign tensor(memory, foreign, {1});
    EXPECT_EQ(fromDLPack(tensor.managed).type, type);
    DLManagedTensor *back = toDLPack(Tensor(memory, type, {1}), nullptr);
    EXPECT_EQ(back->dl_tensor.dtype.code, foreign.code);
    EXPECT_EQ(back->dl_tensor.dtype.bits, foreign.bits);
    back->deleter(back);
  }
  const std::string known =
      " is not supported; those of f32, f64, f16, bf16, i32, i64, i8, i16, u8, "
      "u16, u32, bool are";
  EXPECT_EQ(errorOf(Foreign(memory, {kDLUInt, 64, 1}, {1})),
            "a DLPack tensor of u64" + known);
  EXPECT_EQ(errorOf(Foreign(memory, {kDLComplex, 64, 1}, {1})),
            "a DLPack tensor of complex64" + known);
  EXPECT_EQ(errorOf(Foreign(memory, {17, 4, 1}, {1})),
            "a DLPack tensor of type code 17 with 4 bits" + known);
  EXPECT_EQ(errorOf(Foreign(memory, {kDLFloat, 32, 4}, {1})),
            "a DLPack tensor of vectors (4 lanes) is not supported; view it as "
            "scalars");
}

TEST(DLPackTest, WhereTensorsLie) {
  float x[4] = {};
  Foreign tensor(x, kFloat32, {4});
  tensor.managed.dl_tensor.device = {kDLCUDA, 3};
  EXPECT_EQ(fromDLPack(tensor.managed).device, Device::cuda(3));
  tensor.managed.dl_tensor.device = {kDLCUDAHost, 3};
  EXPECT_EQ(fromDLPack(tensor.managed).device, Device::host());
  DLManagedTensor *lent = toDLPack(Tensor(x, {4}).on(Device::cuda(2)), nullptr);
  EXPECT_EQ(lent->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(lent->dl_tensor.device.device_id, 2);
  lent->deleter(lent);
}

TEST(DLPackTest, WhatIsRefused) {
  float x[4] = {};
  Foreign gpu(x, kFloat32, {4});
  gpu.managed.dl_tensor.device = {kDLMetal, 0};
  EXPECT_EQ(errorOf(gpu), "a DLPack tensor on device type 8 is not supported; "
                          "copy it to the CPU or a CUDA device");
  EXPECT_EQ(errorOf(Foreign(x, kFloat32, {-1})),
            "a DLPack tensor has a negative extent in its shape [-1]");
  EXPECT_EQ(errorOf(Foreign(nullptr, kFloat32, {4})),
            "a DLPack tensor has no memory: its pointer is null");
  Foreign askew(x, kFloat32, {2});
  askew.managed.dl_tensor.byte_offset = 2;
  EXPECT_EQ(errorOf(askew), "a DLPack tensor is not aligned: the address of a "
                            "f32 is a multiple of 4 bytes");
  EXPECT_EQ(errorOf(Foreign(x, kFloat32, {int64_t(1) << 40, int64_t(1) << 40})),
            "a DLPack tensor has shape [1099511627776, 1099511627776], more "
            "elements than 64 bits count");
  EXPECT_EQ(errorOf(Foreign(nullptr, kFloat32, {0, 3})), "no error");
  EXPECT_THROW(newDLPack(Type::f32, {int64_t(1) << 62, 8}), Error);
}

} // namespace
