//===- Device.cpp - kernels on an NVIDIA GPU ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Device.h"
#include "lowering/CudaTarget.h"
#include "runtime/Arrays.h"
#include "runtime/cuda/CudaCache.h"
#include "runtime/cuda/Library.h"

#include <cstdlib>

using namespace attn;
using namespace attn::runtime;

namespace {
using Address = unsigned long long; // CUdeviceptr

/// The functions of cuda.h that are used; handles are pointers, results 0 for
/// success.
struct Driver {
  int (*init)(unsigned);
  int (*deviceCount)(int *);
  int (*deviceGet)(int *, int);
  int (*deviceAttribute)(int *, int, int);
  int (*retainContext)(void **, int);
  int (*setContext)(void *);
  int (*loadModule)(void **, const void *);
  int (*unloadModule)(void *);
  int (*getFunction)(void **, void *, const char *);
  int (*setFunctionAttribute)(void *, int, int);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned, unsigned, void *, void **, void **);
  int (*allocate)(Address *, size_t);
  int (*free)(Address);
  int (*toDevice)(Address, const void *, size_t);
  int (*toHost)(void *, Address, size_t);
  int (*pointerAttribute)(void *, int, Address);
  int (*synchronize)(void *);
  int (*makeEvent)(void **, unsigned);
  int (*destroyEvent)(void *);
  int (*recordEvent)(void *, void *);
  int (*synchronizeEvent)(void *);
  int (*elapsedMilliseconds)(float *, void *, void *);
  int (*errorText)(int, const char **);
  Library library;
  void *context = nullptr;
  int device = 0;

  Driver();
  void check(int result, const char *what) const {
    if (!result)
      return;
    const char *text = nullptr;
    errorText(result, &text);
    throw Error(std::string("CUDA: ") + what + ": " +
                (text ? text : "unknown error"));
  }
  static const Driver &get() {
    static const Driver driver;
    return driver;
  }
};
} // namespace

Driver::Driver() : library({"the CUDA driver", "", {"libcuda.so.1"}, {}}) {
  library.bind(init, "cuInit");
  library.bind(deviceCount, "cuDeviceGetCount");
  library.bind(deviceGet, "cuDeviceGet");
  library.bind(deviceAttribute, "cuDeviceGetAttribute");
  library.bind(retainContext, "cuDevicePrimaryCtxRetain");
  library.bind(setContext, "cuCtxSetCurrent");
  library.bind(loadModule, "cuModuleLoadData");
  library.bind(unloadModule, "cuModuleUnload");
  library.bind(getFunction, "cuModuleGetFunction");
  library.bind(setFunctionAttribute, "cuFuncSetAttribute");
  library.bind(launch, "cuLaunchKernel");
  library.bind(allocate, "cuMemAlloc_v2");
  library.bind(free, "cuMemFree_v2");
  library.bind(toDevice, "cuMemcpyHtoD_v2");
  library.bind(toHost, "cuMemcpyDtoH_v2");
  library.bind(pointerAttribute, "cuPointerGetAttribute");
  library.bind(synchronize, "cuStreamSynchronize");
  library.bind(makeEvent, "cuEventCreate");
  library.bind(destroyEvent, "cuEventDestroy_v2");
  library.bind(recordEvent, "cuEventRecord");
  library.bind(synchronizeEvent, "cuEventSynchronize");
  library.bind(elapsedMilliseconds, "cuEventElapsedTime");
  library.bind(errorText, "cuGetErrorString");
  check(init(0), "no GPU can be used");
  int count = 0, wanted = 0;
  check(deviceCount(&count), "no GPU can be used");
  if (const char *given = std::getenv("ATTN_CUDA_DEVICE"))
    wanted = std::atoi(given);
  if (wanted < 0 || wanted >= count)
    throw Error("CUDA: there is no GPU " + std::to_string(wanted) +
                "; the driver knows " + std::to_string(count));
  check(deviceGet(&device, wanted), "the GPU cannot be opened");
  check(retainContext(&context, device), "the GPU cannot be opened");
}

std::string runtime::deviceArchitecture() {
  const Driver &driver = Driver::get();
  constexpr int majorAttribute = 75, minorAttribute = 76;
  int major = 0, minor = 0;
  driver.check(driver.deviceAttribute(&major, majorAttribute, driver.device),
               "no compute capability");
  driver.check(driver.deviceAttribute(&minor, minorAttribute, driver.device),
               "no compute capability");
  int capability = 10 * major + minor;
  // Machine code runs on later devices of the same major version.
  std::string best;
  int bestOf = 0;
  for (const CudaLevel &level : cudaLevels()) {
    int known = std::atoi(level.name.data() + 3);
    if (known / 10 == major && known <= capability && known >= bestOf) {
      best = level.name.str();
      bestOf = known;
    }
  }
  if (best.empty())
    throw Error("CUDA: this GPU has compute capability " +
                std::to_string(major) + "." + std::to_string(minor) +
                ", which no architecture of the table runs on");
  return best;
}

namespace {
/// Device memory, freed with its scope.
class DeviceMemory {
public:
  DeviceMemory(const Driver &driver, size_t bytes) : driver(driver) {
    driver.check(driver.allocate(&address, bytes ? bytes : 1),
                 "out of device memory");
  }
  ~DeviceMemory() {
    if (address)
      driver.free(address);
  }
  DeviceMemory(DeviceMemory &&other) noexcept
      : driver(other.driver), address(other.address) {
    other.address = 0;
  }
  Address get() const { return address; }

private:
  const Driver &driver;
  Address address = 0;
};

class DeviceKernel : public GpuKernel {
public:
  DeviceKernel(const CudaProgram &program, const Cache &cache);
  ~DeviceKernel() override {
    if (module)
      driver.unloadModule(module);
  }
  void run(const Binding &binding) const override;
  std::vector<double> time(const Binding &binding,
                           int64_t repetitions) const override;

private:
  /// Device memory in the place of an array of the host.
  struct Mirror {
    DeviceMemory memory;
    char *host;
    size_t bytes;
    bool isOutput;
  };
  std::vector<Mirror> mirror(LaunchArguments &arguments) const;
  void launch(const LaunchArguments &arguments) const;

  const Driver &driver;
  CudaProgram program;
  void *module = nullptr;
  std::vector<void *> functions;
};
} // namespace

DeviceKernel::DeviceKernel(const CudaProgram &program, const Cache &cache)
    : driver(Driver::get()), program(program) {
  CudaCode code = compileCudaCached(cache, program.source, program.name,
                                    program.architecture, /*toPtx=*/false);
  driver.check(driver.setContext(driver.context), "the GPU cannot be used");
  driver.check(driver.loadModule(&module, code.bytes.data()),
               "the kernel cannot be loaded");
  constexpr int dynamicSharedBytes = 8;
  for (const LaunchStage &stage : program.stages) {
    void *function = nullptr;
    driver.check(driver.getFunction(&function, module, stage.entry.c_str()),
                 "an entry is missing");
    driver.check(
        driver.setFunctionAttribute(function, dynamicSharedBytes,
                                    static_cast<int>(stage.sharedBytes)),
        "too much shared memory");
    functions.push_back(function);
  }
}

std::vector<DeviceKernel::Mirror>
DeviceKernel::mirror(LaunchArguments &arguments) const {
  std::vector<Mirror> mirrors;
  auto isOnDevice = [&](const void *p) {
    constexpr int memoryType = 2;
    unsigned type = 0; // 2: device memory
    return p &&
           driver.pointerAttribute(&type, memoryType,
                                   reinterpret_cast<Address>(p)) == 0 &&
           type == 2;
  };
  for (size_t n = 0; n < arguments.tensors.size(); ++n) {
    Tensor &tensor = arguments.tensors[n];
    if (isOnDevice(tensor.data))
      continue;
    auto [low, high] = LaunchArguments::span(tensor);
    size_t bytes = static_cast<size_t>(high - low);
    DeviceMemory memory(driver, bytes);
    char *host = tensor.data ? static_cast<char *>(tensor.data) + low : nullptr;
    if (host && bytes)
      driver.check(driver.toDevice(memory.get(), host, bytes),
                   "an array cannot be copied");
    tensor.data = reinterpret_cast<void *>(memory.get() - low);
    mirrors.push_back({std::move(memory), host, bytes,
                       isOutputRole(program.arguments[n].role)});
  }
  return mirrors;
}

void DeviceKernel::launch(const LaunchArguments &arguments) const {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const LaunchStage &stage = program.stages[s];
    int64_t blocks = arguments.blocks(stage);
    if (blocks == 0)
      continue;
    if (blocks > 0x7fffffff)
      throw Error(stage.entry + " wants " + std::to_string(blocks) +
                  " blocks, more than a grid has");
    std::vector<int64_t> values = arguments.values(stage);
    std::vector<void *> addresses;
    for (int64_t &value : values)
      addresses.push_back(&value);
    driver.check(driver.launch(functions[s], static_cast<unsigned>(blocks), 1,
                               1, static_cast<unsigned>(stage.threads), 1, 1,
                               static_cast<unsigned>(stage.sharedBytes),
                               /*stream=*/nullptr, addresses.data(), nullptr),
                 "the kernel cannot be launched");
  }
}

void DeviceKernel::run(const Binding &binding) const {
  driver.check(driver.setContext(driver.context), "the GPU cannot be used");
  LaunchArguments arguments(program, binding);
  std::vector<Mirror> mirrors = mirror(arguments);
  launch(arguments);
  driver.check(driver.synchronize(nullptr), "the kernel failed");
  for (const Mirror &mirror : mirrors)
    if (mirror.isOutput && mirror.bytes)
      driver.check(
          driver.toHost(mirror.host, mirror.memory.get(), mirror.bytes),
          "a result cannot be copied");
}

std::vector<double> DeviceKernel::time(const Binding &binding,
                                       int64_t repetitions) const {
  driver.check(driver.setContext(driver.context), "the GPU cannot be used");
  LaunchArguments arguments(program, binding);
  std::vector<Mirror> mirrors = mirror(arguments);
  struct Event {
    const Driver &driver;
    void *handle = nullptr;
    explicit Event(const Driver &driver) : driver(driver) {
      driver.check(driver.makeEvent(&handle, 0), "no event can be made");
    }
    ~Event() { driver.destroyEvent(handle); }
  } begin(driver), end(driver);
  std::vector<double> seconds;
  for (int64_t n = 0; n <= repetitions; ++n) {
    driver.check(driver.recordEvent(begin.handle, nullptr), "no time is kept");
    launch(arguments);
    driver.check(driver.recordEvent(end.handle, nullptr), "no time is kept");
    driver.check(driver.synchronizeEvent(end.handle), "the kernel failed");
    float milliseconds = 0;
    driver.check(
        driver.elapsedMilliseconds(&milliseconds, begin.handle, end.handle),
        "no time is kept");
    if (n) // the first one loads the code
      seconds.push_back(milliseconds * 1e-3);
  }
  return seconds;
}

std::shared_ptr<const GpuKernel>
runtime::loadOnDevice(const CudaProgram &program, const Cache &cache) {
  return std::make_shared<DeviceKernel>(program, cache);
}
