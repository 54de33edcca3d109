//===- FakeCuda.cpp - a driver without a GPU ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As much of libcuda as the runtime and tools/gpu-check ask for; in one file,
// since all of it shares what one lock guards. Memory of a device is memory of
// the host that nobody may touch but the driver and the kernels of that device
// (FakeKernels.h): whoever else does, ends the process. Work is done when
// somebody waits for it, never earlier.
//
// FAKE_CUDA_DEVICES=80,90,80n: their compute capabilities, the last one without
// memory pools. FAKE_CUDA_FAIL=cuLaunchKernel:701:2: what the third launch
// gives.
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"
#include "FakeKernels.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
using Address = unsigned long long;
enum {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  InvalidContext = 201,
  NoBinary = 209,
  InvalidImage = 200,
  InvalidHandle = 400,
  NotFound = 500
};

struct Context {
  int device;
};
struct Stream {
  int device, number;
  std::deque<std::function<void()>> work;
};
struct Memory {
  size_t bytes, mapped;
  int device; ///< -1: page-locked, of the host
};
struct Pool {
  int device;
};
struct Module {
  int device;
  void *library;
};
struct Function {
  Module *module;
  std::string name;
  fake_cuda::Copy copy;
  fake_cuda::Run run;
};
struct Failure {
  std::string function;
  int code, after;
};

std::recursive_mutex mutex;
std::vector<int> capabilities;
std::vector<bool> pools;
std::vector<Context> contexts;
std::vector<std::unique_ptr<Stream>> streams; ///< the default ones first
std::map<Address, Memory> memories;
std::vector<std::string> logged;
std::vector<Failure> failures;
thread_local std::vector<Context *> stack;

void note(const std::string &line) { logged.push_back(line); }

/// The code that a test wants this call to return.
int failureOf(const char *function) {
  for (auto it = failures.begin(); it != failures.end(); ++it)
    if (it->function == function && it->after-- == 0) {
      int code = it->code;
      failures.erase(it);
      return code;
    }
  return Success;
}

#define BEGIN                                                                  \
  std::lock_guard<std::recursive_mutex> lock(mutex);                           \
  if (int code = failureOf(__func__))                                          \
    return code;
#define NEEDS_CONTEXT                                                          \
  BEGIN                                                                        \
  if (stack.empty())                                                           \
    return InvalidContext;

/// The stream of a handle, on the current device; null where it is none.
Stream *streamOf(void *handle) {
  if (reinterpret_cast<uintptr_t>(handle) <= 2)
    return streams[stack.back()->device].get();
  for (const auto &stream : streams)
    if (stream.get() == handle && stream->device == stack.back()->device)
      return stream.get();
  return nullptr;
}
std::string nameOf(const Stream *stream) {
  return "stream " + std::to_string(stream->number);
}

std::map<Address, Memory>::iterator find(Address address) {
  auto it = memories.upper_bound(address);
  if (it == memories.begin())
    return memories.end();
  --it;
  return address < it->first + it->second.mapped ? it : memories.end();
}
void protect(const std::pair<const Address, Memory> &memory, bool closed) {
  if (memory.second.device >= 0)
    mprotect(reinterpret_cast<void *>(memory.first), memory.second.mapped,
             closed ? PROT_NONE : PROT_READ | PROT_WRITE);
}
/// Opens the memory of a device for a scope.
class Open {
public:
  explicit Open(int device) : device(device) { set(false); }
  ~Open() { set(true); }

private:
  void set(bool closed) {
    for (const auto &memory : memories)
      if (memory.second.device == device)
        protect(memory, closed);
  }
  int device;
};

int allocate(Address *address, size_t bytes, int device) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t mapped = (bytes + page - 1) / page * page;
  if (bytes == 0)
    return InvalidValue;
  void *memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return OutOfMemory;
  std::memset(memory, 0xff, mapped); // NaN
  *address = reinterpret_cast<Address>(memory);
  protect(*memories.emplace(*address, Memory{bytes, mapped, device}).first,
          true);
  return Success;
}
void release(Address address) {
  auto it = memories.find(address);
  if (it == memories.end()) {
    std::fprintf(stderr, "FakeCuda: memory is freed twice\n");
    std::abort();
  }
  munmap(reinterpret_cast<void *>(address), it->second.mapped);
  memories.erase(it);
}
bool holds(Address address, size_t bytes, int device) {
  auto it = find(address);
  return it != memories.end() && it->second.device == device &&
         address + bytes <= it->first + it->second.bytes;
}

void finish(Stream &stream) {
  while (!stream.work.empty()) {
    auto work = std::move(stream.work.front());
    stream.work.pop_front();
    work();
  }
}
void finishDevice(int device) {
  for (const auto &stream : streams)
    if (stream->device == device)
      finish(*stream);
}
} // namespace

//===----------------------------------------------------------------------===//
// For tests
//===----------------------------------------------------------------------===//

EXPORT const char *fakeCudaTakeLog() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  static std::string text;
  text.clear();
  for (const std::string &line : logged)
    text += line + "\n";
  logged.clear();
  return text.c_str();
}
EXPORT void fakeCudaFail(const char *function, int code, int after) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  failures.push_back({function, code, after});
}
EXPORT int fakeCudaAllocations() {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  return static_cast<int>(memories.size());
}

EXPORT void fakeCudaPeek(void *to, const void *from, size_t bytes) {
  std::lock_guard<std::recursive_mutex> lock(mutex);
  Open open(find(reinterpret_cast<Address>(from))->second.device);
  std::memcpy(to, from, bytes);
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

EXPORT int cuInit(unsigned) {
  BEGIN
  if (!capabilities.empty())
    return Success;
  const char *given = std::getenv("FAKE_CUDA_DEVICES");
  std::istringstream list(given ? given : "80,80");
  for (std::string one; std::getline(list, one, ',');) {
    capabilities.push_back(std::atoi(one.c_str()));
    pools.push_back(one.back() != 'n');
    contexts.push_back({static_cast<int>(contexts.size())});
    streams.push_back(
        std::make_unique<Stream>(Stream{contexts.back().device, 0, {}}));
  }
  if (const char *failure = std::getenv("FAKE_CUDA_FAIL")) {
    char function[64] = "";
    int code = 0, after = 0;
    std::sscanf(failure, "%63[^:]:%d:%d", function, &code, &after);
    failures.push_back({function, code, after});
  }
  return capabilities.empty() ? 100 : Success;
}
EXPORT int cuDeviceGetCount(int *count) {
  BEGIN *count = static_cast<int>(capabilities.size());
  return Success;
}
EXPORT int cuDeviceGet(int *device, int ordinal) {
  BEGIN *device = ordinal;
  return static_cast<size_t>(ordinal) < capabilities.size() ? Success : 101;
}
EXPORT int cuDeviceGetName(char *name, int length, int device) {
  BEGIN std::snprintf(name, static_cast<size_t>(length), "Fake %d", device);
  return Success;
}
EXPORT int cuDriverGetVersion(int *version) {
  BEGIN *version = 13000;
  return Success;
}
EXPORT int cuDevicePrimaryCtxReset_v2(int) { BEGIN return Success; }
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  BEGIN
  int capability = capabilities.at(static_cast<size_t>(device));
  *value = attribute == 75    ? capability / 10
           : attribute == 76  ? capability % 10
           : attribute == 115 ? pools[static_cast<size_t>(device)]
                              : 0;
  return Success;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
  BEGIN *context = &contexts.at(static_cast<size_t>(device));
  return Success;
}
EXPORT int cuCtxPushCurrent_v2(void *context) {
  BEGIN stack.push_back(static_cast<Context *>(context));
  return Success;
}
EXPORT int cuCtxPopCurrent_v2(void **context) {
  BEGIN if (stack.empty()) return InvalidContext;
  *context = stack.back();
  stack.pop_back();
  return Success;
}
EXPORT int cuCtxSetCurrent(void *context) {
  BEGIN stack.assign(1, static_cast<Context *>(context));
  return Success;
}
EXPORT int cuCtxSynchronize() {
  NEEDS_CONTEXT
  note("wait for device " + std::to_string(stack.back()->device));
  finishDevice(stack.back()->device);
  return Success;
}
EXPORT int cuGetErrorString(int code, const char **text) {
  *text = code == OutOfMemory      ? "out of memory"
          : code == InvalidContext ? "invalid device context"
          : code == NoBinary       ? "no kernel image is available for "
                                     "execution on the device"
          : code == InvalidHandle  ? "invalid resource handle"
          : code == 700            ? "an illegal memory access was encountered"
          : code == 701            ? "too many resources requested for launch"
                                   : "an error of the fake driver";
  return Success;
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

EXPORT int cuStreamCreate(void **handle, unsigned) {
  NEEDS_CONTEXT
  static int number = 0;
  streams.push_back(
      std::make_unique<Stream>(Stream{stack.back()->device, ++number, {}}));
  *handle = streams.back().get();
  return Success;
}
EXPORT int cuStreamSynchronize(void *handle) {
  NEEDS_CONTEXT
  Stream *stream = streamOf(handle);
  if (!stream)
    return InvalidHandle;
  note("wait for " + nameOf(stream));
  if (stream->number == 0) // the default one waits for all
    finishDevice(stream->device);
  finish(*stream);
  return Success;
}
EXPORT int cuEventCreate(void **event, unsigned) {
  NEEDS_CONTEXT *event = new int(0);
  return Success;
}
EXPORT int cuEventDestroy_v2(void *event) {
  BEGIN delete static_cast<int *>(event);
  return Success;
}
EXPORT int cuEventRecord(void *, void *handle) {
  NEEDS_CONTEXT return streamOf(handle) ? Success : InvalidHandle;
}
EXPORT int cuEventSynchronize(void *) {
  NEEDS_CONTEXT finishDevice(stack.back()->device);
  return Success;
}
EXPORT int cuEventElapsedTime(float *milliseconds, void *, void *) {
  BEGIN *milliseconds = 1.5f;
  return Success;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

EXPORT int cuMemAlloc_v2(Address *address, size_t bytes) {
  NEEDS_CONTEXT
  note("allocate " + std::to_string(bytes));
  return allocate(address, bytes, stack.back()->device);
}
EXPORT int cuMemFree_v2(Address address) {
  NEEDS_CONTEXT
  note("free");
  finishDevice(stack.back()->device);
  release(address);
  return Success;
}
EXPORT int cuMemPoolCreate(void **pool, const int *properties) {
  BEGIN // {type, handles, location's type, location, ...}
      if (properties[0] != 1 || properties[2] != 1) return InvalidValue;
  *pool = new Pool{properties[3]};
  return Success;
}
EXPORT int cuMemPoolSetAttribute(void *, int, void *) { BEGIN return Success; }
EXPORT int cuMemAllocFromPoolAsync(Address *address, size_t bytes, void *pool,
                                   void *handle) {
  NEEDS_CONTEXT
  Stream *stream = streamOf(handle);
  if (!stream || static_cast<Pool *>(pool)->device != stream->device)
    return InvalidHandle;
  note("allocate " + std::to_string(bytes) + " on " + nameOf(stream));
  return allocate(address, bytes, stream->device);
}
EXPORT int cuMemFreeAsync(Address address, void *handle) {
  NEEDS_CONTEXT
  Stream *stream = streamOf(handle);
  if (!stream)
    return InvalidHandle;
  note("free on " + nameOf(stream));
  stream->work.push_back([=] { release(address); });
  return Success;
}
EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  NEEDS_CONTEXT
  Address address = 0;
  int code = allocate(&address, bytes, -1);
  *memory = reinterpret_cast<void *>(address);
  return code;
}
EXPORT int cuMemFreeHost(void *memory) {
  BEGIN release(reinterpret_cast<Address>(memory));
  return Success;
}
EXPORT int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes,
                                void *handle) {
  NEEDS_CONTEXT
  Stream *stream = streamOf(handle);
  if (!stream || !holds(to, bytes, stream->device))
    return InvalidValue;
  note("copy " + std::to_string(bytes) + " to the device on " + nameOf(stream));
  // What is not page-locked is read at once.
  std::string staged(static_cast<const char *>(from), bytes);
  stream->work.push_back([=] {
    Open open(stream->device);
    std::memcpy(reinterpret_cast<void *>(to), staged.data(), bytes);
  });
  return Success;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes,
                                void *handle) {
  NEEDS_CONTEXT
  Stream *stream = streamOf(handle);
  if (!stream || !holds(from, bytes, stream->device))
    return InvalidValue;
  note("copy " + std::to_string(bytes) + " to the host on " + nameOf(stream));
  stream->work.push_back([=] {
    Open open(stream->device);
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  });
  return Success;
}
EXPORT int cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes) {
  int code = cuMemcpyHtoDAsync_v2(to, from, bytes, nullptr);
  return code ? code : cuStreamSynchronize(nullptr);
}
EXPORT int cuMemcpyDtoH_v2(void *to, Address from, size_t bytes) {
  if (int code = cuCtxSynchronize()) // the default stream waits for others
    return code;
  int code = cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr);
  return code ? code : cuStreamSynchronize(nullptr);
}
EXPORT int cuMemsetD32Async(Address to, unsigned word, size_t count,
                            void *handle) {
  NEEDS_CONTEXT
  Stream *stream = streamOf(handle);
  if (!stream || !holds(to, 4 * count, stream->device))
    return InvalidValue;
  note("fill " + std::to_string(4 * count) + " on " + nameOf(stream));
  stream->work.push_back([=] {
    Open open(stream->device);
    for (size_t n = 0; n < count; ++n)
      std::memcpy(reinterpret_cast<char *>(to) + 4 * n, &word, 4);
  });
  return Success;
}
EXPORT int cuPointerGetAttribute(void *value, int attribute, Address address) {
  NEEDS_CONTEXT
  auto it = find(address);
  if (it == memories.end())
    return InvalidValue;
  int answer = attribute == 2   ? (it->second.device < 0 ? 1 : 2)
               : attribute == 9 ? it->second.device
                                : 0;
  std::memcpy(value, &answer, sizeof answer);
  return Success;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

EXPORT int cuModuleLoadData(void **module, const void *image) {
  NEEDS_CONTEXT
  std::string text = static_cast<const char *>(image);
  int architecture = 0;
  if (std::sscanf(text.c_str(), "// fake cubin sm_%d", &architecture) != 1)
    return InvalidImage;
  int device = stack.back()->device;
  int capability = capabilities[static_cast<size_t>(device)];
  if (architecture / 10 != capability / 10 || architecture > capability)
    return NoBinary;
  note("load sm_" + std::to_string(architecture) + " on device " +
       std::to_string(device));
  void *library = fake_cuda::compileSource(text);
  if (!library)
    return InvalidImage;
  *module = new Module{device, library};
  return Success;
}
EXPORT int cuModuleUnload(void *module) {
  BEGIN
  note("unload");
  delete static_cast<Module *>(module); // functions of other streams may run
  return Success;
}
EXPORT int cuModuleGetFunction(void **function, void *module,
                               const char *name) {
  BEGIN
  auto *in = static_cast<Module *>(module);
  auto made = std::make_unique<Function>();
  made->module = in;
  made->name = name;
  made->copy = reinterpret_cast<fake_cuda::Copy>(
      dlsym(in->library, ("copy_" + made->name).c_str()));
  made->run = reinterpret_cast<fake_cuda::Run>(
      dlsym(in->library, ("run_" + made->name).c_str()));
  if (!made->copy || !made->run)
    return NotFound;
  *function = made.release();
  return Success;
}
EXPORT int cuFuncSetAttribute(void *, int, int) { BEGIN return Success; }

EXPORT int cuLaunchKernel(void *handle, unsigned x, unsigned y, unsigned z,
                          unsigned threads, unsigned, unsigned, unsigned shared,
                          void *where, void **parameters, void **) {
  NEEDS_CONTEXT
  auto *function = static_cast<Function *>(handle);
  Stream *stream = streamOf(where);
  if (!stream || stream->device != function->module->device)
    return InvalidHandle;
  if (x == 0 || y != 1 || z != 1)
    return InvalidValue;
  note("launch " + function->name + " with " + std::to_string(x) +
       " blocks of " + std::to_string(threads) + " on " + nameOf(stream));
  void *values = function->copy(parameters);
  auto run = function->run;
  stream->work.push_back([=] {
    Open open(stream->device);
    if (const char *error =
            run(attn_host::getMachine(), values, x, static_cast<int>(threads),
                static_cast<int>(shared))) {
      std::fprintf(stderr, "FakeCuda: %s\n", error);
      std::abort();
    }
  });
  return Success;
}
