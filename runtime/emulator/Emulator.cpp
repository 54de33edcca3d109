//===- Emulator.cpp - CUDA kernels on this machine's CPU ------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Emulator.h"
#include "lowering/cuda/Cuda.h"
#include "runtime/Scratch.h"
#include "runtime/emulator/GuardedMemory.h"
#include "runtime/emulator/Machine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

using namespace attn;
using namespace attn::runtime;

namespace {
class EmulatedKernel : public GpuKernel {
public:
  explicit EmulatedKernel(const CudaProgram &program);
  ~EmulatedKernel() override {
    if (handle)
      dlclose(handle);
  }
  void run(const Binding &binding) const override;

private:
  using Launch = const char *(const attn_host::Machine *machine, int stage,
                              void **parameters, long long blocks,
                              unsigned seed);
  CudaProgram program;
  void *handle = nullptr;
  Launch *launch = nullptr;
};
} // namespace

static std::string findCompiler() {
  if (const char *given = std::getenv("ATTN_CXX"); given && *given) {
    llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(given);
    if (!found || !llvm::sys::fs::can_execute(*found))
      throw Error(std::string("ATTN_CXX names ") + given +
                  ", which is no program on the PATH");
    return *found;
  }
  for (const char *candidate : {"c++", "g++", "clang++"})
    if (llvm::ErrorOr<std::string> found =
            llvm::sys::findProgramByName(candidate))
      return *found;
  throw Error("the CUDA emulator needs a C++ compiler, and none of c++, g++, "
              "clang++ is on the PATH; install one (Debian: g++), or set "
              "ATTN_CXX");
}

/// One function that launches any stage.
static std::string launcher(const CudaProgram &program) {
  std::string text =
      "\nextern \"C\" const char *attn_emulate(const attn_host::Machine "
      "*machine, int stage, void **p, long long blocks, unsigned seed) {\n"
      "  attn_host::machine = machine;\n  switch (stage) {\n";
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const LaunchStage &stage = program.stages[s];
    text += "  case " + std::to_string(s) +
            ":\n    return attn_host::launch(blocks, " +
            std::to_string(stage.threads) + ", " +
            std::to_string(stage.sharedBytes) + ", seed, [=] {\n      " +
            stage.entry + "(";
    for (size_t n = 0; n < stage.parameters.size(); ++n) {
      const std::string &type = stage.parameters[n].type;
      text += (n ? ", " : "") + std::string("*static_cast<") + type +
              (type.back() == '*' ? "" : " ") + "*>(p[" + std::to_string(n) +
              "])";
    }
    text += ");\n    });\n";
  }
  return text + "  }\n  return \"there is no such stage\";\n}\n";
}

EmulatedKernel::EmulatedKernel(const CudaProgram &program) : program(program) {
  std::string compiler = findCompiler();
  Scratch scratch("attnc-emulator");
  // The files that its includes name are part of the text.
  std::string host;
  for (llvm::StringRef line : llvm::split(hostPrelude(), '\n'))
    if (!line.starts_with("#include \"runtime/emulator/"))
      host += line.str() + "\n";
  scratch.write("Host.h", host);
  std::string source = scratch.write(
      "kernel.cpp", "#define " + kHostPreludeMacro.str() + " \"Host.h\"\n" +
                        program.source + launcher(program));
  std::string library = scratch.file("kernel.so"), log = scratch.file("log");
  // Multiplications and additions fuse, as on the device; the pass that does so
  // in gcc is not among those of -O1.
  llvm::SmallVector<llvm::StringRef> arguments = {compiler, source, "-o",
                                                  library};
  llvm::SplitString("-std=c++17 -O1 -fexpensive-optimizations -march=native "
                    "-ffp-contract=fast -w -shared -fPIC -fno-gnu-unique",
                    arguments);
  if (llvm::StringRef(compiler).contains("clang"))
    llvm::erase(arguments, "-fno-gnu-unique");
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(""), llvm::StringRef(log), llvm::StringRef(log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(compiler, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  if (status == 0 && !llvm::sys::fs::exists(library))
    throw Error(compiler + " made no library of the CUDA source of " +
                program.name + "; is it a C++ compiler (ATTN_CXX)?");
  if (status != 0) {
    auto text = llvm::MemoryBuffer::getFile(log);
    if (text)
      message += (*text)->getBuffer().take_front(4000).str();
    if (message.empty())
      message = "exit status " + std::to_string(status);
    throw Error(compiler + " refuses the CUDA source of " + program.name +
                ": " + message);
  }
  handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw Error(std::string("cannot load the emulated kernel: ") + dlerror());
  launch = reinterpret_cast<Launch *>(dlsym(handle, "attn_emulate"));
}

void EmulatedKernel::run(const Binding &binding) const {
  static std::mutex mutex; // signals, and the machine, are global
  std::lock_guard<std::mutex> lock(mutex);
  LaunchArguments arguments(program, binding);
  struct Copy {
    GuardedMemory memory;
    char *source;
    int64_t bytes;
    bool isOutput;
  };
  std::vector<Copy> copies;
  for (size_t n = 0; n < arguments.tensors.size(); ++n) {
    Tensor &tensor = arguments.tensors[n];
    auto [low, high] = arguments.span(n);
    int64_t bytes = high - low;
    char *source =
        tensor.data ? static_cast<char *>(tensor.data) + low : nullptr;
    bool isOutput = isOutputRole(program.arguments[n].role);
    // A state that is changed in place is one array here, too.
    auto same = std::find_if(copies.begin(), copies.end(), [&](const Copy &c) {
      return isOutput && source && c.source == source && c.bytes == bytes;
    });
    if (same == copies.end()) {
      copies.push_back({GuardedMemory(source, bytes), source, bytes, isOutput});
      same = copies.end() - 1;
    }
    same->isOutput |= isOutput;
    tensor.data = same->memory.get() - low;
  }
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const LaunchStage &stage = program.stages[s];
    std::vector<int64_t> values = arguments.values(stage);
    std::vector<void *> addresses;
    for (int64_t &value : values)
      addresses.push_back(&value);
    int64_t blocks = arguments.blocks(stage);
    const char *error = nullptr;
    if (!runGuarded([&] {
          error =
              launch(attn_host::getMachine(), static_cast<int>(s),
                     addresses.data(), blocks, static_cast<unsigned>(s + 1));
        }))
      error = "memory outside of the arrays is read or written";
    if (error)
      throw Error(stage.entry + " in the emulator: " + error);
  }
  for (const Copy &copy : copies)
    if (copy.isOutput && copy.source)
      copy.memory.copyTo(copy.source);
}

std::shared_ptr<const GpuKernel> runtime::emulate(const CudaProgram &program) {
  return std::make_shared<EmulatedKernel>(program);
}
