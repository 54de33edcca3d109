//===- Nvrtc.cpp - CUDA source to PTX and machine code --------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Nvrtc.h"
#include "attn/Error.h"
#include "runtime/cuda/Library.h"

#include <chrono>
#include <regex>
#include <sstream>

using namespace attn;
using namespace attn::runtime;

namespace {
/// The functions of nvrtc.h that are used; its handles are pointers, its
/// results 0 for success.
struct Nvrtc {
  using Program = void *;
  int (*version)(int *, int *);
  int (*create)(Program *, const char *, const char *, int, const char *const *,
                const char *const *);
  int (*compile)(Program, int, const char *const *);
  int (*destroy)(Program *);
  int (*logSize)(Program, size_t *);
  int (*log)(Program, char *);
  int (*ptxSize)(Program, size_t *);
  int (*ptx)(Program, char *);
  int (*cubinSize)(Program, size_t *);
  int (*cubin)(Program, char *);
  const char *(*errorText)(int);
  Library library;

  Nvrtc()
      : library({"NVRTC",
                 "ATTN_NVRTC",
                 {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"},
                 cudaFolders()}) {
    library.bind(version, "nvrtcVersion");
    library.bind(create, "nvrtcCreateProgram");
    library.bind(compile, "nvrtcCompileProgram");
    library.bind(destroy, "nvrtcDestroyProgram");
    library.bind(logSize, "nvrtcGetProgramLogSize");
    library.bind(log, "nvrtcGetProgramLog");
    library.bind(ptxSize, "nvrtcGetPTXSize");
    library.bind(ptx, "nvrtcGetPTX");
    library.bind(cubinSize, "nvrtcGetCUBINSize");
    library.bind(cubin, "nvrtcGetCUBIN");
    library.bind(errorText, "nvrtcGetErrorString");
  }
  /// Opened at the first use, and again where that failed.
  static const Nvrtc &get() {
    static const Nvrtc nvrtc;
    return nvrtc;
  }
};

/// A program that is destroyed with its scope.
struct Program {
  const Nvrtc &nvrtc;
  Nvrtc::Program handle = nullptr;
  ~Program() {
    if (handle)
      nvrtc.destroy(&handle);
  }
};
} // namespace

void runtime::readAssemblerLog(const std::string &log, CudaCode &code) {
  KernelUsage usage;
  std::istringstream stream(log);
  std::smatch m;
  static const std::regex entry(
      "(?:entry function|properties for) '?([A-Za-z0-9_]+)'?"),
      stack("(\\d+) bytes stack frame, (\\d+) bytes spill stores, (\\d+) bytes "
            "spill loads"),
      registers("Used (\\d+) registers"),
      remark("\\(C75\\d\\d\\).*(wgmma|warpgroup|GMMA).*");
  for (std::string line; std::getline(stream, line);) {
    if (std::regex_search(line, m, remark))
      code.remarks.push_back(m[0]);
    else if (std::regex_search(line, m, entry))
      usage.entry = m[1];
    if (std::regex_search(line, m, stack)) {
      usage.stack = std::stoll(m[1]);
      usage.spillStores = std::stoll(m[2]);
      usage.spillLoads = std::stoll(m[3]);
    }
    if (std::regex_search(line, m, registers)) {
      usage.registers = std::stoll(m[1]);
      code.usage.push_back(usage);
      usage = KernelUsage();
    }
  }
}

CudaCode runtime::compileCuda(const std::string &source,
                              const std::string &name,
                              const std::string &architecture, bool toPtx) {
  const Nvrtc &nvrtc = Nvrtc::get();
  auto start = std::chrono::steady_clock::now();
  Program program{nvrtc};
  auto check = [&](int result) {
    if (result)
      throw Error(std::string("NVRTC: ") + nvrtc.errorText(result));
  };
  check(nvrtc.create(&program.handle, source.c_str(), (name + ".cu").c_str(), 0,
                     nullptr, nullptr));
  // PTX for a virtual machine, else NVRTC assembles it as well.
  std::string arch =
      "--gpu-architecture=" +
      (toPtx ? "compute_" + architecture.substr(3) : architecture);
  std::vector<const char *> options{arch.c_str(), "--std=c++17", "--ftz=true",
                                    "--diag-suppress=177"};
  if (!toPtx)
    options.push_back("--ptxas-options=-v");
  int result = nvrtc.compile(program.handle, static_cast<int>(options.size()),
                             options.data());
  size_t size = 0;
  check(nvrtc.logSize(program.handle, &size));
  std::string log(size, '\0');
  check(nvrtc.log(program.handle, log.data()));
  if (result)
    throw Error("NVRTC refuses " + name + " for " + architecture + ": " +
                nvrtc.errorText(result) + "\n" + log.c_str());
  check((toPtx ? nvrtc.ptxSize : nvrtc.cubinSize)(program.handle, &size));
  CudaCode code;
  code.bytes.resize(size);
  check((toPtx ? nvrtc.ptx : nvrtc.cubin)(program.handle, code.bytes.data()));
  if (toPtx && !code.bytes.empty() && code.bytes.back() == '\0')
    code.bytes.pop_back();
  if (!toPtx)
    readAssemblerLog(log, code);
  code.milliseconds = std::chrono::duration<double, std::milli>(
                          std::chrono::steady_clock::now() - start)
                          .count();
  return code;
}

std::string runtime::nvrtcVersion() {
  const Nvrtc &nvrtc = Nvrtc::get();
  int major = 0, minor = 0;
  nvrtc.version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor) + " " +
         nvrtc.library.getPath();
}
