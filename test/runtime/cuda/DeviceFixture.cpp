//===- DeviceFixture.cpp - calls on the fake driver's devices -------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceFixture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <random>
#include <regex>

using namespace attn;

static void *library() {
  static void *handle = [] {
    setenv("ATTN_CUDA", FAKE_CUDA, 1);
    setenv("ATTN_NVRTC", FAKE_NVRTC, 1);
    setenv("FAKE_CUDA_DEVICES", "80,80,90,80n", 1);
    return dlopen(FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  }();
  return handle;
}

template <typename F> static F *find(const char *symbol) {
  return reinterpret_cast<F *>(dlsym(library(), symbol));
}

const FakeDriver &FakeDriver::get() {
  static const FakeDriver driver = {
      find<const char *()>("fakeCudaTakeLog"),
      find<void(const char *, int, int)>("fakeCudaFail"),
      find<int()>("fakeCudaAllocations"),
      find<void(void *, const void *, unsigned long)>("fakeCudaPeek")};
  return driver;
}

namespace {
/// The context of a device, as another library of the process would use it.
class Current {
public:
  explicit Current(int device) {
    void *context = nullptr;
    find<int(unsigned)>("cuInit")(0);
    find<int(void **, int)>("cuDevicePrimaryCtxRetain")(&context, device);
    find<int(void *)>("cuCtxPushCurrent_v2")(context);
  }
  ~Current() {
    void *context = nullptr;
    find<int(void **)>("cuCtxPopCurrent_v2")(&context);
  }
};
} // namespace

void *FakeDriver::upload(const void *from, size_t bytes, int device) const {
  Current current(device);
  unsigned long long address = 0;
  find<int(unsigned long long *, size_t)>("cuMemAlloc_v2")(&address, bytes);
  find<int(unsigned long long, const void *, size_t)>("cuMemcpyHtoD_v2")(
      address, from, bytes);
  takeLog();
  return reinterpret_cast<void *>(address);
}

void FakeDriver::download(void *to, const void *from, size_t bytes,
                          int device) const {
  Current current(device);
  find<int(void *, unsigned long long, size_t)>("cuMemcpyDtoH_v2")(
      to, reinterpret_cast<unsigned long long>(from), bytes);
  takeLog();
}

void *FakeDriver::makeStream(int device) const {
  Current current(device);
  void *stream = nullptr;
  find<int(void **, unsigned)>("cuStreamCreate")(&stream, 0);
  return stream;
}

void FakeDriver::synchronize(void *stream, int device) const {
  Current current(device);
  find<int(void *)>("cuStreamSynchronize")(stream);
}

std::string FakeDriver::calls() const {
  std::string text = takeLog();
  const std::pair<const char *, const char *> rules[] = {
      {"(allocate|copy|fill) \\d+", "$1"},
      {" with \\d+ blocks of \\d+", ""},
      {"(launch yat)_stage\\d( on stream \\d+\n)(launch yat_stage.*\n)*",
       "$1$2"},
      {"stream [1-9]\\d*", "stream S"}};
  for (auto [from, to] : rules)
    text = std::regex_replace(text, std::regex(from), to);
  return text;
}

const char *DeviceTest::spec() {
  return "attention yat(q, k, v; b >= 0) { kappa = (dot(q, k) + b)^2 / "
         "(sqdist(q, k) + 1); return o, mass }";
}

Kernel DeviceTest::compile(const char *target, int device) const {
  Options options;
  options.target = target;
  options.device = device;
  return Compiler(options).compile(spec());
}

DeviceTest::DeviceTest() : o(N * D), mass(N), expected(N * D) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 1);
  for (std::vector<float> *rows : {&q, &k, &v}) {
    rows->resize(N * D);
    for (float &x : *rows)
      x = normal(random);
  }
  compile("reference")({{"q", {q.data(), {N, D}}},
                        {"k", {k.data(), {N, D}}},
                        {"v", {v.data(), {N, D}}},
                        {"b", 0.5}},
                       {{"o", {expected.data(), Type::f64, {N, D}}},
                        {"mass", {mass.data(), {N}}}});
}

Tensor DeviceTest::rowsOn(int device, const std::vector<float> &values) const {
  return Tensor(driver.upload(values.data(), values.size() * 4, device),
                Type::f32, {N, D})
      .on(Device::cuda(device));
}

std::vector<Argument> DeviceTest::argumentsOn(int device, Argument b) const {
  return {{"q", rowsOn(device, q)},
          {"k", rowsOn(device, k)},
          {"v", rowsOn(device, v)},
          std::move(b)};
}

std::vector<Output> DeviceTest::outputsOn(int device) {
  std::vector<float> nothing(N * D, NAN);
  Tensor rows = rowsOn(device, nothing), sums = rowsOn(device, nothing);
  deviceO = rows.data;
  sums.shape = {N};
  return {{"o", rows}, {"mass", sums}};
}

double DeviceTest::errorOn(int device) const {
  std::vector<float> got(N * D);
  driver.download(got.data(), deviceO, got.size() * 4, device);
  double worst = 0;
  for (size_t n = 0; n < got.size(); ++n) {
    double error = std::fabs(got[n] - expected[n]);
    if (std::isnan(error))
      return error;
    worst = std::max(worst, error);
  }
  return worst;
}

std::string DeviceTest::errorOf(const Kernel &kernel,
                                const std::vector<Argument> &arguments,
                                const std::vector<Output> &outputs,
                                void *stream) const {
  try {
    kernel(arguments, outputs, stream);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}
