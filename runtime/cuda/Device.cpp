//===- Device.cpp - kernels on NVIDIA GPUs --------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Device.h"
#include "runtime/cuda/CudaCache.h"
#include "runtime/cuda/DeviceCall.h"

#include <cstdlib>

using namespace attn;
using namespace attn::runtime;

int runtime::defaultDevice() {
  const char *given = std::getenv("ATTN_CUDA_DEVICE");
  if (!given || !*given)
    return 0;
  char *end = nullptr;
  long ordinal = std::strtol(given, &end, 10);
  if (*end || ordinal < 0 || ordinal > 1000)
    throw Error(std::string("ATTN_CUDA_DEVICE is ") + given +
                "; the number of a device is expected");
  return static_cast<int>(ordinal);
}

namespace {
class DeviceKernel : public GpuKernel {
public:
  DeviceKernel(const CudaProgram &program, const std::string &cacheFolder);
  void run(const Binding &binding) const override;
  void synchronize() const override;
  std::vector<double> time(const Binding &binding,
                           int64_t repetitions) const override;

private:
  void launch(const std::vector<void *> &functions,
              const LaunchArguments &arguments, void *stream) const;

  const Driver &driver;
  CudaProgram program;
  mutable UnseenChecks checks;
  std::unique_ptr<DeviceCode> code;
};
} // namespace

DeviceKernel::DeviceKernel(const CudaProgram &program,
                           const std::string &cacheFolder)
    : driver(Driver::get()), program(program),
      checks(program.architecture, cacheFolder) {
  CudaCode compiled =
      compileCudaCached(Cache(cacheFolder), program.source, program.name,
                        program.architecture, /*toPtx=*/false);
  std::vector<DeviceCode::Entry> entries;
  for (const LaunchStage &stage : program.stages)
    entries.push_back({stage.entry, stage.sharedBytes});
  code = std::make_unique<DeviceCode>(std::move(compiled.bytes),
                                      std::move(entries));
}

void DeviceKernel::launch(const std::vector<void *> &functions,
                          const LaunchArguments &arguments,
                          void *stream) const {
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
                               static_cast<unsigned>(stage.sharedBytes), stream,
                               addresses.data(), nullptr),
                 "the kernel cannot be launched");
  }
}

void DeviceKernel::run(const Binding &binding) const {
  const CudaDevice &device = driver.device(binding.gpu);
  CurrentDevice current(device);
  checks.report(); // what calls before this one found
  DeviceCall call(program, binding, device, checks);
  launch(code->on(device), call.getArguments(), binding.stream);
  if (binding.stream && binding.place.kind == Device::Cuda)
    return; // the caller waits for the stream
  call.fetch();
  driver.check(driver.synchronize(binding.stream), "the kernel failed");
  checks.report();
}

void DeviceKernel::synchronize() const {
  code->synchronize();
  checks.report();
}

std::vector<double> DeviceKernel::time(const Binding &binding,
                                       int64_t repetitions) const {
  const CudaDevice &device = driver.device(binding.gpu);
  CurrentDevice current(device);
  DeviceCall call(program, binding, device, checks);
  const std::vector<void *> &functions = code->on(device);
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
    driver.check(driver.recordEvent(begin.handle, binding.stream),
                 "no time is kept");
    launch(functions, call.getArguments(), binding.stream);
    driver.check(driver.recordEvent(end.handle, binding.stream),
                 "no time is kept");
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
runtime::loadOnDevice(const CudaProgram &program,
                      const std::string &cacheFolder) {
  return std::make_shared<DeviceKernel>(program, cacheFolder);
}
