//===- DeviceCode.cpp - machine code on devices ---------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/DeviceCode.h"
#include "attn/Error.h"

using namespace attn;
using namespace attn::runtime;

const std::vector<void *> &DeviceCode::on(const CudaDevice &device) const {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &known : loaded)
    if (known->device == &device)
      return known->functions;
  const Driver &driver = Driver::get();
  auto made = std::make_unique<Loaded>();
  made->device = &device;
  driver.check(driver.loadModule(&made->module, cubin.data()),
               "the kernel cannot be loaded");
  try {
    constexpr int dynamicSharedBytes = 8;
    for (const Entry &entry : entries) {
      void *function = nullptr;
      driver.check(
          driver.getFunction(&function, made->module, entry.name.c_str()),
          "an entry is missing");
      driver.check(
          driver.setFunctionAttribute(function, dynamicSharedBytes,
                                      static_cast<int>(entry.sharedBytes)),
          "too much shared memory");
      made->functions.push_back(function);
    }
  } catch (...) {
    driver.unloadModule(made->module);
    throw;
  }
  loaded.push_back(std::move(made));
  return loaded.back()->functions;
}

std::vector<const CudaDevice *> DeviceCode::devices() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<const CudaDevice *> devices;
  for (const auto &known : loaded)
    devices.push_back(known->device);
  return devices;
}

void DeviceCode::synchronize() const {
  const Driver &driver = Driver::get();
  for (const CudaDevice *device : devices()) {
    CurrentDevice current(*device);
    driver.check(driver.synchronizeContext(), "the kernel failed");
  }
}

DeviceCode::~DeviceCode() {
  for (const auto &known : loaded)
    try {
      CurrentDevice current(*known->device);
      // What calls enqueued may not have begun.
      Driver::get().synchronizeContext();
      Driver::get().unloadModule(known->module);
    } catch (const Error &) { // the process ends, and the driver went first
    }
}
