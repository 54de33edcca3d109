//===- DeviceCall.cpp - the arrays of a call on a GPU ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/DeviceCall.h"
#include "runtime/Arrays.h"
#include "runtime/BinderImpl.h"

#include <algorithm>
#include <cstring>

using namespace attn;
using namespace attn::runtime;

DeviceAddress StreamMemory::allocate(size_t bytes) {
  const Driver &driver = Driver::get();
  driver.check(device.pool
                   ? driver.allocateFrom(&address, bytes, device.pool, stream)
                   : driver.allocate(&address, bytes),
               "no memory of the device for a call");
  return address;
}

StreamMemory::~StreamMemory() {
  const Driver &driver = Driver::get();
  if (!address)
    return;
  if (device.pool) {
    driver.freeInOrder(address, stream);
    return;
  }
  driver.synchronize(stream); // without a pool, calls wait
  driver.free(address);
}

DeviceCall::DeviceCall(const CudaProgram &program, const Binding &binding,
                       const CudaDevice &device, UnseenChecks &checks)
    : program(program), stream(binding.stream), arguments(program, binding),
      memory(device, stream) {
  checkAddresses(binding);
  place(binding);
  DeviceAddress block = bytes ? memory.allocate(bytes) : 0;
  for (const Placed &one : placed) {
    DeviceAddress to = block + one.offset;
    addresses.push_back(to);
    Tensor &tensor = arguments.tensors[one.argument];
    if (one.host)
      copyToDevice(one, to);
    tensor.data = reinterpret_cast<void *>(
        to - static_cast<DeviceAddress>(arguments.span(one.argument).first));
  }
  for (const Binding::Unseen &unseen : binding.unseen) {
    const Tensor &tensor = arguments.tensors[unseen.formal];
    // Where an extent of the call is 0, nothing is read of it.
    if (elementCount(unseen.source.shape) &&
        binding.arrays[unseen.formal].device.kind == Device::Cuda)
      checks.enqueue(device, stream, unseen,
                     unseen.isConverted
                         ? reinterpret_cast<DeviceAddress>(tensor.data)
                         : 0);
  }
}

void DeviceCall::checkAddresses(const Binding &binding) const {
  constexpr int memoryType = 2, isManaged = 8, deviceOrdinal = 9;
  constexpr unsigned deviceMemory = 2;
  const Driver &driver = Driver::get();
  auto check = [&](const std::string &name, const Tensor &tensor) {
    if (!tensor.data || !elementCount(tensor.shape))
      return;
    auto address = reinterpret_cast<DeviceAddress>(tensor.data);
    unsigned type = 0;
    int managed = 0, ordinal = -1;
    bool isDevice = !driver.pointerAttribute(&type, memoryType, address) &&
                    type == deviceMemory;
    if (isDevice) {
      driver.pointerAttribute(&managed, isManaged, address);
      driver.pointerAttribute(&ordinal, deviceOrdinal, address);
    }
    if (managed) // it is wherever it is wanted
      return;
    Device found = isDevice ? Device::cuda(ordinal) : Device::host();
    if (found != tensor.device)
      throw Error("'" + name + "' is said to lie on " +
                  toString(tensor.device) + ", and its address is one of " +
                  toString(found));
  };
  for (const auto &[name, tensor] : binding.sources)
    check(name, tensor);
  for (size_t n = 0; n < binding.arrays.size(); ++n)
    if (isOutputRole(program.arguments[n].role))
      check(program.arguments[n].name, binding.arrays[n]);
}

void DeviceCall::place(const Binding &binding) {
  auto add = [&](size_t argument, size_t size, char *host) {
    placed.push_back({argument, bytes, size, host});
    bytes += (size + 255) / 256 * 256; // as the driver aligns
  };
  for (size_t n = 0; n < arguments.tensors.size(); ++n) {
    const Tensor &tensor = arguments.tensors[n];
    auto [low, high] = arguments.span(n);
    auto size = static_cast<size_t>(high - low);
    if (tensor.device.kind == Device::Cuda) {
      if (!tensor.data && size) // it is made of one that the host has not seen
        add(n, size, nullptr);
    } else if (size) {
      add(n, size,
          tensor.data ? static_cast<char *>(tensor.data) + low : nullptr);
    }
  }
}

void DeviceCall::copyToDevice(const Placed &one, DeviceAddress to) const {
  const Driver &driver = Driver::get();
  if (one.bytes > 8 || one.bytes % 4) {
    driver.check(driver.toDevice(to, one.host, one.bytes, stream),
                 "an array cannot be copied");
    return;
  }
  // A number goes along with the command: there is no memory that must stay.
  for (size_t n = 0; n < one.bytes; n += 4) {
    unsigned word;
    std::memcpy(&word, one.host + n, 4);
    driver.check(driver.fillWords(to + n, word, 1, stream),
                 "a number cannot be copied");
  }
}

void DeviceCall::fetch() const {
  const Driver &driver = Driver::get();
  for (size_t n = 0; n < placed.size(); ++n)
    if (placed[n].host &&
        isOutputRole(program.arguments[placed[n].argument].role))
      driver.check(
          driver.toHost(placed[n].host, addresses[n], placed[n].bytes, stream),
          "a result cannot be copied");
}
