//===- Driver.cpp - NVIDIA's driver and its devices -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Driver.h"
#include "attn/Error.h"
#include "lowering/CudaTarget.h"

#include <cstdint>
#include <cstdlib>

using namespace attn;
using namespace attn::runtime;

/// CUmemPoolProps.
struct runtime::MemoryPoolProperties {
  int allocationType = 1; // pinned
  int handleTypes = 0;    // none: not for other processes
  int locationType = 1;   // a device
  int location = 0;
  void *securityAttributes = nullptr;
  size_t maxSize = 0; // the system's limit
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};
static_assert(sizeof(MemoryPoolProperties) == 88, "as in cuda.h");

Driver::Driver()
    : library({"the CUDA driver", "ATTN_CUDA", {"libcuda.so.1"}, {}}) {
  library.bind(init, "cuInit");
  library.bind(deviceCount, "cuDeviceGetCount");
  library.bind(deviceGet, "cuDeviceGet");
  library.bind(deviceAttribute, "cuDeviceGetAttribute");
  library.bind(retainContext, "cuDevicePrimaryCtxRetain");
  library.bind(pushContext, "cuCtxPushCurrent_v2");
  library.bind(popContext, "cuCtxPopCurrent_v2");
  library.bind(synchronizeContext, "cuCtxSynchronize");
  library.bind(loadModule, "cuModuleLoadData");
  library.bind(unloadModule, "cuModuleUnload");
  library.bind(getFunction, "cuModuleGetFunction");
  library.bind(setFunctionAttribute, "cuFuncSetAttribute");
  library.bind(launch, "cuLaunchKernel");
  library.bind(allocate, "cuMemAlloc_v2");
  library.bind(free, "cuMemFree_v2");
  library.bind(makePool, "cuMemPoolCreate");
  library.bind(setPoolAttribute, "cuMemPoolSetAttribute");
  library.bind(allocateFrom, "cuMemAllocFromPoolAsync");
  library.bind(freeInOrder, "cuMemFreeAsync");
  library.bind(allocateHost, "cuMemHostAlloc");
  library.bind(freeHost, "cuMemFreeHost");
  library.bind(toDevice, "cuMemcpyHtoDAsync_v2");
  library.bind(toHost, "cuMemcpyDtoHAsync_v2");
  library.bind(fillWords, "cuMemsetD32Async");
  library.bind(pointerAttribute, "cuPointerGetAttribute");
  library.bind(synchronize, "cuStreamSynchronize");
  library.bind(makeEvent, "cuEventCreate");
  library.bind(destroyEvent, "cuEventDestroy_v2");
  library.bind(recordEvent, "cuEventRecord");
  library.bind(synchronizeEvent, "cuEventSynchronize");
  library.bind(elapsedMilliseconds, "cuEventElapsedTime");
  library.bind(errorText, "cuGetErrorString");
  check(init(0), "no GPU can be used");
  check(deviceCount(&count), "no GPU can be used");
}

const Driver &Driver::get() {
  // Never destroyed: kernels in static storage may outlive it.
  static const Driver &driver = *new Driver();
  return driver;
}

void Driver::check(int result, const char *what) const {
  if (!result)
    return;
  const char *text = nullptr;
  errorText(result, &text);
  throw Error(std::string("CUDA: ") + what + ": " +
              (text ? text : "unknown error"));
}

const CudaDevice &Driver::device(int ordinal) const {
  if (ordinal < 0 || ordinal >= count)
    throw Error("CUDA: there is no GPU " + std::to_string(ordinal) +
                "; the driver knows " + std::to_string(count));
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &known : devices)
    if (known->ordinal == ordinal)
      return *known;
  devices.push_back(std::make_unique<const CudaDevice>(open(ordinal)));
  return *devices.back();
}

CudaDevice Driver::open(int ordinal) const {
  CudaDevice device;
  device.ordinal = ordinal;
  check(deviceGet(&device.handle, ordinal), "the GPU cannot be opened");
  check(retainContext(&device.context, device.handle),
        "the GPU cannot be opened");
  constexpr int majorAttribute = 75, minorAttribute = 76;
  int major = 0, minor = 0;
  check(deviceAttribute(&major, majorAttribute, device.handle),
        "no compute capability");
  check(deviceAttribute(&minor, minorAttribute, device.handle),
        "no compute capability");
  device.capability = 10 * major + minor;
  constexpr int memoryPoolsSupported = 115, releaseThreshold = 4;
  int hasPools = 0;
  if (deviceAttribute(&hasPools, memoryPoolsSupported, device.handle) ||
      !hasPools)
    return device;
  // A pool of our own, whose settings are nobody else's; it keeps a little when
  // a stream is waited for, since the next call wants it again.
  MemoryPoolProperties properties;
  properties.location = ordinal;
  check(makePool(&device.pool, &properties), "no memory pool can be made");
  uint64_t kept = uint64_t(64) << 20;
  check(setPoolAttribute(device.pool, releaseThreshold, &kept),
        "no memory pool can be made");
  return device;
}

std::string CudaDevice::architecture() const {
  // Machine code runs on later devices of the same major version.
  std::string best;
  int bestOf = 0;
  for (const CudaLevel &level : cudaLevels()) {
    int known = std::atoi(level.name.data() + 3);
    if (known / 10 == capability / 10 && known <= capability &&
        known >= bestOf) {
      best = level.name.str();
      bestOf = known;
    }
  }
  if (best.empty())
    throw Error("CUDA: this GPU has compute capability " +
                std::to_string(capability / 10) + "." +
                std::to_string(capability % 10) +
                ", which no architecture of the table runs on");
  return best;
}
