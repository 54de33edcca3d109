//===- DeviceTest.cpp - device tensors, streams and devices ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the fake driver: what is asked of a driver, in which order, and whether
// the numbers are right.
//
//===----------------------------------------------------------------------===//

#include "DeviceFixture.h"

#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <dlpack/dlpack.h>
#include <filesystem>

using namespace attn;

namespace {
size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++found;
  return found;
}
constexpr double bound = 2e-5;
} // namespace

TEST_F(DeviceTest, HostArraysAreCopiedThereAndBack) {
  Kernel kernel = compile("cuda");
  kernel({{"q", {q.data(), {N, D}}},
          {"k", {k.data(), {N, D}}},
          {"v", {v.data(), {N, D}}},
          {"b", 0.5}},
         {{"o", {o.data(), {N, D}}}, {"mass", {mass.data(), {N}}}});
  for (size_t n = 0; n < o.size(); ++n)
    ASSERT_NEAR(o[n], expected[n], bound);
  // One block for all of q, k, v, b, o, mass, and workspaces.
  EXPECT_EQ(driver.calls(), R"(allocate on stream 0
copy to the device on stream 0
copy to the device on stream 0
copy to the device on stream 0
fill on stream 0
copy to the device on stream 0
copy to the device on stream 0
load sm_80 on device 0
launch yat on stream 0
copy to the host on stream 0
copy to the host on stream 0
wait for stream 0
free on stream 0
)");
}

TEST_F(DeviceTest, DeviceArraysStayWhereTheyAre) {
  Kernel kernel = compile("cuda");
  std::vector<Argument> arguments = argumentsOn(0, {"b", 0.5});
  kernel(arguments, outputsOn(0));
  EXPECT_EQ(driver.calls(), R"(allocate on stream 0
fill on stream 0
load sm_80 on device 0
launch yat on stream 0
wait for stream 0
free on stream 0
)");
  EXPECT_LE(errorOn(0), bound);

  // A parameter may lie there too; a kernel checks its bound. Nothing is loaded
  // twice.
  float b = 0.5;
  arguments[3] = {
      "b", Tensor(driver.upload(&b, 4, 0), Type::f32, {}).on(Device::cuda(0))};
  std::vector<Output> outputs = outputsOn(0);
  kernel(arguments, outputs);
  EXPECT_EQ(driver.calls(), R"(allocate on stream 0
load sm_80 on device 0
launch attn_take_unseen on stream 0
launch yat on stream 0
wait for stream 0
free on stream 0
)");
  EXPECT_LE(errorOn(0), bound);
}

TEST_F(DeviceTest, AStreamIsNotWaitedFor) {
  Kernel kernel = compile("cuda");
  void *stream = driver.makeStream(0);
  int before;
  {
    std::vector<Argument> arguments = argumentsOn(0, {"b", 0.5});
    std::vector<Output> outputs = outputsOn(0);
    before = driver.allocations();
    kernel(arguments, outputs, stream);
  } // arguments go; what was enqueued needs none of them
  std::string log = driver.takeLog();
  EXPECT_EQ(count(log, "wait"), 0u) << log;
  EXPECT_EQ(count(log, "on stream 0"), 0u) << log;
  // The block is given back behind the kernel.
  EXPECT_LT(log.find("launch yat_stage0"), log.find("free")) << log;
  float first;
  driver.peek(&first, deviceO, sizeof first);
  EXPECT_TRUE(std::isnan(first)); // not yet
  EXPECT_EQ(driver.allocations(), before + 1);
  driver.synchronize(stream, 0);
  EXPECT_EQ(driver.allocations(), before);
  EXPECT_LE(errorOn(0), bound);

  // CU_STREAM_LEGACY is the default stream, and not waited for either.
  kernel(argumentsOn(0, {"b", 0.5}), outputsOn(0), reinterpret_cast<void *>(1));
  EXPECT_EQ(count(driver.takeLog(), "wait"), 0u);
  kernel.synchronize();
  EXPECT_EQ(driver.takeLog(), std::string("wait for device 0\n"));
  driver.peek(&first, deviceO, sizeof first);
  EXPECT_NEAR(first, expected[0], bound);
}

TEST_F(DeviceTest, HostArraysOnAStreamAreWaitedFor) {
  void *stream = driver.makeStream(0);
  Kernel kernel = compile("cuda");
  kernel({{"q", {q.data(), {N, D}}},
          {"k", {k.data(), {N, D}}},
          {"v", {v.data(), {N, D}}},
          {"b", 0.5}},
         {{"o", {o.data(), {N, D}}}, {"mass", {mass.data(), {N}}}}, stream);
  std::string log = driver.calls();
  EXPECT_EQ(count(log, "wait for stream S"), 1u) << log;
  EXPECT_EQ(count(log, "stream 0"), 0u) << log;
  EXPECT_NEAR(o[0], expected[0], bound);
}

TEST_F(DeviceTest, EveryDeviceHasItsCode) {
  Kernel kernel = compile("cuda");
  for (int device : {1, 0, 1}) {
    kernel(argumentsOn(device, {"b", 0.5}), outputsOn(device));
    EXPECT_LE(errorOn(device), bound) << device;
    // (The downloads have taken the logs.)
  }
  std::vector<Argument> arguments = argumentsOn(1, {"b", 0.5});
  std::vector<Output> outputs = outputsOn(1);
  kernel(arguments, outputs);
  EXPECT_EQ(count(driver.takeLog(), "load"), 0u);
  // Another architecture needs other code.
  arguments = argumentsOn(2, {"b", 0.5});
  outputs = outputsOn(2);
  kernel(arguments, outputs);
  EXPECT_EQ(count(driver.takeLog(), "load sm_90 on device 2"), 1u);
  EXPECT_LE(errorOn(2), bound);
}

TEST_F(DeviceTest, TheDeviceOfHostArrays) {
  std::vector<Argument> arguments = {{"q", {q.data(), {N, D}}},
                                     {"k", {k.data(), {N, D}}},
                                     {"v", {v.data(), {N, D}}},
                                     {"b", 0.5}};
  std::vector<Output> outputs = {{"o", {o.data(), {N, D}}},
                                 {"mass", {mass.data(), {N}}}};
  compile("cuda", 1)(arguments, outputs);
  EXPECT_EQ(count(driver.takeLog(), "load sm_80 on device 1"), 1u);
  EXPECT_NEAR(o[0], expected[0], bound);
  setenv("ATTN_CUDA_DEVICE", "1", 1);
  compile("cuda")(arguments, outputs);
  EXPECT_EQ(count(driver.takeLog(), "load sm_80 on device 1"), 1u);
  unsetenv("ATTN_CUDA_DEVICE");
}

TEST_F(DeviceTest, WithoutPoolsMemoryIsWaitedFor) {
  int before = driver.allocations();
  Kernel kernel = compile("cuda");
  std::vector<Argument> arguments = argumentsOn(3, {"b", 0.5});
  std::vector<Output> outputs = outputsOn(3);
  kernel(arguments, outputs, driver.makeStream(3));
  EXPECT_EQ(driver.calls(), R"(allocate
fill on stream S
load sm_80 on device 3
launch yat on stream S
wait for stream S
free
)");
  EXPECT_EQ(driver.allocations(), before + 5); // the arrays
  EXPECT_LE(errorOn(3), bound);
}

TEST_F(DeviceTest, LengthsOfADevice) {
  Kernel kernel = compile("cuda");
  // Seven keys: as if the others were not there, in i32 with a stride.
  std::vector<Argument> arguments = {{"q", {q.data(), {N, D}}},
                                     {"k", {k.data(), {7, D}}},
                                     {"v", {v.data(), {7, D}}},
                                     {"b", 0.5}};
  compile("reference")(arguments, {{"o", {expected.data(), Type::f64, {N, D}}},
                                   {"mass", {mass.data(), {N}}}});
  arguments = argumentsOn(0, {"b", 0.5});
  int32_t lengths[] = {7, -1};
  void *there = driver.upload(lengths, sizeof lengths, 0);
  arguments.push_back(
      {"key_lengths", Tensor(there, Type::i32, {1}, {2}).on(Device::cuda(0))});
  arguments.push_back({"offset", 0.0});
  kernel(arguments, outputsOn(0));
  EXPECT_LE(errorOn(0), bound);
}

TEST_F(DeviceTest, CodeIsKeptBetweenCompilers) {
  namespace fs = std::filesystem;
  unsetenv("ATTN_CACHE");
  std::string folder =
      (fs::temp_directory_path() / "attn-cuda.XXXXXX").string();
  setenv("ATTN_CACHE_DIR", mkdtemp(folder.data()), 1);
  auto compilations = reinterpret_cast<int (*)()>(
      dlsym(dlopen(FAKE_NVRTC, RTLD_NOW), "fakeNvrtcCompilations"));
  int before = compilations();
  for (auto [device, made] : {std::pair{0, 1}, {0, 1}, {1, 1}, {2, 2}}) {
    std::vector<Output> outputs = outputsOn(device);
    compile("cuda")(argumentsOn(device, {"b", 0.5}), outputs);
    EXPECT_LE(errorOn(device), bound);
    // Device 2 has another architecture.
    EXPECT_EQ(compilations() - before, made) << device;
  }
  setenv("ATTN_CACHE", "off", 1);
  unsetenv("ATTN_CACHE_DIR");
  fs::remove_all(folder);
}

TEST_F(DeviceTest, TensorsByDLPack) {
  std::vector<Argument> arguments = argumentsOn(1, {"b", 0.5});
  std::vector<Output> outputs = outputsOn(1);
  std::vector<DLManagedTensor *> lent;
  auto lend = [&](Tensor &tensor) {
    lent.push_back(toDLPack(tensor, nullptr));
    EXPECT_EQ(lent.back()->dl_tensor.device.device_type, kDLCUDA);
    EXPECT_EQ(lent.back()->dl_tensor.device.device_id, 1);
    tensor = fromDLPack(*lent.back());
  };
  for (int n = 0; n < 3; ++n)
    lend(arguments[n].tensor);
  for (Output &output : outputs)
    lend(output.tensor);
  compile("cuda")(arguments, outputs);
  EXPECT_LE(errorOn(1), bound);
  for (DLManagedTensor *tensor : lent)
    tensor->deleter(tensor);
}
