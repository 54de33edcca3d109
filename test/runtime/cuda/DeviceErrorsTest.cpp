//===- DeviceErrorsTest.cpp - what is refused, and what fails -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceFixture.h"

#include <cmath>
#include <cstdlib>

using namespace attn;

namespace {
Tensor onDevice(const void *p, Type type, std::vector<int64_t> shape,
                int device = 0) {
  return Tensor(const_cast<void *>(p), type, std::move(shape))
      .on(Device::cuda(device));
}
} // namespace

TEST_F(DeviceTest, ArraysOfACallLieInOnePlace) {
  Kernel kernel = compile("cuda");
  std::vector<Argument> arguments = argumentsOn(0, {"b", 0.5});
  std::vector<Output> outputs = outputsOn(0);
  arguments[1].tensor = Tensor(k.data(), {N, D});
  EXPECT_EQ(
      errorOf(kernel, arguments, outputs),
      "input 'k' lies on the host, but input 'q' on CUDA device 0; inputs "
      "and outputs of a call lie in one place");
  arguments[1].tensor = rowsOn(1, k);
  EXPECT_EQ(errorOf(kernel, arguments, outputs),
            "input 'k' lies on CUDA device 1, but input 'q' on CUDA device 0; "
            "inputs and outputs of a call lie in one place");
  arguments = argumentsOn(0, {"b", 0.5});
  EXPECT_EQ(
      errorOf(kernel, arguments, outputsOn(1)),
      "output 'o' lies on CUDA device 1, and the inputs on CUDA device 0; "
      "inputs and outputs of a call lie in one place");
  float b = 0.5;
  arguments[3] = {"b", onDevice(driver.upload(&b, 4, 1), Type::f32, {}, 1)};
  EXPECT_EQ(
      errorOf(kernel, arguments, outputs),
      "parameter 'b' lies on CUDA device 1, but input 'q' on CUDA device 0");
  EXPECT_EQ(
      errorOf(compile("cuda", 1), argumentsOn(0, {"b", 0.5}), outputs),
      "the arrays lie on CUDA device 0, and the kernel is for CUDA device "
      "1 (Options::device)");
}

TEST_F(DeviceTest, OnlyTheTargetCudaTakesThem) {
  std::vector<Argument> arguments = argumentsOn(0, {"b", 0.5});
  std::vector<Output> outputs = outputsOn(0);
  EXPECT_EQ(errorOf(compile("cpu"), arguments, outputs),
            "input 'q' lies on CUDA device 0, and the target cpu computes on "
            "the host: copy it there, or take the target cuda");
  EXPECT_EQ(
      errorOf(compile("cuda-emulator"), arguments, outputs),
      "input 'q' lies on CUDA device 0, and the emulator executes a GPU's "
      "kernel on the host: copy it there, or take the target cuda");
  EXPECT_EQ(errorOf(compile("cpu"), {}, {}, reinterpret_cast<void *>(1)),
            "a stream is for the target cuda, not for cpu");
  EXPECT_THROW(compile("cpu", 0), Error);
}

TEST_F(DeviceTest, AddressesAreWhereTheyAreSaidToBe) {
  Kernel kernel = compile("cuda");
  std::vector<Argument> arguments = argumentsOn(0, {"b", 0.5});
  std::vector<Output> outputs = outputsOn(0);
  arguments[0].tensor.data = q.data();
  EXPECT_EQ(
      errorOf(kernel, arguments, outputs),
      "'q' is said to lie on CUDA device 0, and its address is one of the "
      "host");
  arguments = argumentsOn(0, {"b", 0.5});
  outputs[1].tensor.data = driver.upload(q.data(), 80, 1);
  EXPECT_EQ(errorOf(kernel, arguments, outputs),
            "'mass' is said to lie on CUDA device 0, and its address is one of "
            "CUDA device 1");
  for (Argument &argument : arguments)
    argument.tensor.device = Device::host();
  outputs = {{"o", {o.data(), {N, D}}}, {"mass", {mass.data(), {N}}}};
  EXPECT_EQ(errorOf(kernel, arguments, outputs),
            "'q' is said to lie on the host, and its address is one of CUDA "
            "device 0");
  arguments = argumentsOn(0, {"b", 0.5});
  arguments[2].tensor.strides = {1, N};
  EXPECT_EQ(
      errorOf(kernel, arguments, outputsOn(0)),
      "input 'v' has rows of stride 20; on a GPU they have stride 1: make "
      "it contiguous");
  arguments = argumentsOn(0, {"b", 0.5});
  outputs = outputsOn(0);
  for (int n = 0; n < 3; ++n)
    arguments[n].tensor.device = Device::cuda(7);
  for (Output &output : outputs)
    output.tensor.device = Device::cuda(7);
  EXPECT_EQ(errorOf(kernel, arguments, outputs),
            "CUDA: there is no GPU 7; the driver knows 4");
  setenv("ATTN_CUDA_DEVICE", "first", 1);
  EXPECT_EQ(errorOf(kernel,
                    {{"q", {q.data(), {N, D}}},
                     {"k", {k.data(), {N, D}}},
                     {"v", {v.data(), {N, D}}},
                     {"b", 0.5}},
                    {{"o", {o.data(), {N, D}}}, {"mass", {mass.data(), {N}}}}),
            "ATTN_CUDA_DEVICE is first; the number of a device is expected");
}

TEST_F(DeviceTest, BoundsAreCheckedOnTheDevice) {
  Kernel kernel = compile("cuda");
  const std::string broken =
      "element 0 of an array on a GPU is not as declared: b is a number that "
      "f32 holds, b >= 0";
  double b = -0.25; // an f64, which is converted
  std::vector<Argument> bad =
      argumentsOn(0, {"b", onDevice(driver.upload(&b, 8, 0), Type::f64, {})});
  std::vector<Argument> good = argumentsOn(0, {"b", 0.5});
  std::vector<Output> outputs = outputsOn(0);
  // Where the call waits, it says so itself.
  EXPECT_EQ(errorOf(kernel, bad, outputs), broken);
  EXPECT_EQ(errorOf(kernel, good, outputs), "");
  // On a stream, whoever waits.
  void *stream = driver.makeStream(0);
  EXPECT_EQ(errorOf(kernel, bad, outputs, stream), "");
  try {
    kernel.synchronize();
    ADD_FAILURE() << "nothing was found";
  } catch (const Error &error) {
    EXPECT_EQ(error.what(), broken);
  }
  kernel.synchronize(); // said once
  // Or the next call, when it is known.
  EXPECT_EQ(errorOf(kernel, bad, outputs, stream), "");
  driver.synchronize(stream, 0);
  EXPECT_EQ(errorOf(kernel, good, outputs, stream), broken);
  EXPECT_EQ(errorOf(kernel, good, outputs, stream), "");
  driver.synchronize(stream, 0);
  EXPECT_LE(errorOn(0), 2e-5);

  b = 0.5;
  std::vector<Argument> converted =
      argumentsOn(0, {"b", onDevice(driver.upload(&b, 8, 0), Type::f64, {})});
  EXPECT_EQ(errorOf(kernel, converted, outputsOn(0)), "");
  EXPECT_LE(errorOn(0), 2e-5);
}

TEST_F(DeviceTest, WholeNumbersAreCheckedOnTheDevice) {
  Options options;
  options.target = "cuda";
  Kernel kernel = Compiler(options).compile(
      "attention f(q, k, v; n[head]: int) { kappa = 1 + dot(q, k)^2; mask = j "
      "< n; return o, mass }");
  auto errorFor = [&](const void *data, size_t bytes, Type type) {
    void *there = driver.upload(data, bytes, 0);
    return errorOf(kernel, argumentsOn(0, {"n", onDevice(there, type, {1})}),
                   outputsOn(0));
  };
  const std::string broken =
      "element 0 of an array on a GPU is not as declared: n is a whole number "
      "from -1073741824 to 1073741824";
  float half = 2.5, whole = 3;
  int64_t large = int64_t(1) << 31;
  uint16_t bf16 = 0x4040; // 3
  EXPECT_EQ(errorFor(&half, 4, Type::f32), broken);
  EXPECT_EQ(errorFor(&large, 8, Type::i64), broken);
  EXPECT_EQ(errorFor(&whole, 4, Type::f32), "");
  std::vector<float> first(N * D), second(N * D);
  driver.download(first.data(), deviceO, N * D * 4, 0);
  EXPECT_EQ(errorFor(&bf16, 2, Type::bf16), "");
  driver.download(second.data(), deviceO, N * D * 4, 0);
  EXPECT_EQ(first, second);
  // In every integer type; the byte behind it would make it another number.
  const uint8_t three[] = {3, 0, 0, 0, 0, 0, 0, 0}, odd[] = {3, 1};
  for (Type type : {Type::i32, Type::i64, Type::i8, Type::i16, Type::u8,
                    Type::u16, Type::u32}) {
    bool isByte = type == Type::i8 || type == Type::u8;
    EXPECT_EQ(errorFor(isByte ? odd : three, isByte ? 2 : 8, type), "");
    driver.download(second.data(), deviceO, N * D * 4, 0);
    EXPECT_EQ(first, second);
  }
  const uint8_t minusOne[] = {0xff, 0xff};
  for (Type type : {Type::i8, Type::i16, Type::u8, Type::u16}) {
    // No key, where it is -1; else all.
    EXPECT_EQ(errorFor(minusOne, 2, type), "");
    driver.download(second.data(), deviceO, N * D * 4, 0);
    EXPECT_EQ(second[0] == 0, type == Type::i8 || type == Type::i16);
  }
  // Three keys: o is a weighted mean of three values.
  double sum = 0, weights = 0;
  for (int j = 0; j < 3; ++j) {
    double dot = 0;
    for (int d = 0; d < D; ++d)
      dot += double(q[d]) * k[j * D + d];
    sum += (1 + dot * dot) * v[j * D];
    weights += 1 + dot * dot;
  }
  EXPECT_NEAR(first[0], sum / weights, 2e-5);
}

TEST_F(DeviceTest, LengthsAreCheckedOnTheDevice) {
  Kernel kernel = compile("cuda");
  std::vector<Argument> arguments = argumentsOn(0, {"b", 0.5});
  int64_t length = 21;
  arguments.push_back(
      {"key_lengths", onDevice(driver.upload(&length, 8, 0), Type::i64, {1})});
  EXPECT_EQ(
      errorOf(kernel, arguments, outputsOn(0)),
      "element 0 of an array on a GPU is not as declared: key_lengths is a "
      "whole number from 0 to 20");
  // Nothing behind the keys was read: all twenty were taken.
  EXPECT_LE(errorOn(0), 2e-5);
}

TEST_F(DeviceTest, WhatFailsIsSaidAndNothingIsLost) {
  Kernel kernel = compile("cuda");
  std::vector<Argument> arguments = argumentsOn(0, {"b", 0.5});
  std::vector<Output> outputs = outputsOn(0);
  int before = driver.allocations();
  auto errorWith = [&](const char *function, int code) {
    driver.fail(function, code, 0);
    std::string error = errorOf(kernel, arguments, outputs);
    driver.synchronize(nullptr, 0);
    EXPECT_EQ(driver.allocations(), before) << function;
    return error;
  };
  EXPECT_EQ(errorWith("cuMemAllocFromPoolAsync", 2),
            "CUDA: no memory of the device for a call: out of memory");
  EXPECT_EQ(errorWith("cuModuleLoadData", 209),
            "CUDA: the kernel cannot be loaded: no kernel image is available "
            "for execution on the device");
  EXPECT_EQ(errorWith("cuModuleGetFunction", 500),
            "CUDA: an entry is missing: an error of the fake driver");
  EXPECT_EQ(errorWith("cuLaunchKernel", 701),
            "CUDA: the kernel cannot be launched: too many resources requested "
            "for launch");
  EXPECT_EQ(
      errorWith("cuStreamSynchronize", 700),
      "CUDA: the kernel failed: an illegal memory access was encountered");
  EXPECT_EQ(
      errorOf(kernel, arguments, outputs, driver.makeStream(1)),
      "CUDA: no memory of the device for a call: invalid resource handle");
  EXPECT_EQ(errorOf(kernel, arguments, outputs), "");
  EXPECT_LE(errorOn(0), 2e-5);
}
