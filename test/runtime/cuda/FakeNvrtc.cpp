//===- FakeNvrtc.cpp - a compiler that keeps the source -------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What it makes of a source is the source, behind a line with the architecture:
// the fake driver compiles that for the host.
//
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {
struct Program {
  std::string source, made;
};
std::atomic<int> compilations{0};
int give(const std::string &text, char *to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return 0;
}
} // namespace

EXPORT int fakeNvrtcCompilations() { return compilations; }
EXPORT int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
EXPORT int nvrtcCreateProgram(Program **program, const char *source,
                              const char *, int, const char *const *,
                              const char *const *) {
  *program = new Program{source, ""};
  return 0;
}
EXPORT int nvrtcCompileProgram(Program *program, int count,
                               const char *const *options) {
  const std::string wanted = "--gpu-architecture=";
  ++compilations;
  for (int n = 0; n < count; ++n)
    if (std::string option = options[n]; option.rfind(wanted, 0) == 0) {
      option = option.substr(wanted.size());
      bool isVirtual = option.rfind("compute_", 0) == 0;
      if (isVirtual)
        option = "sm_" + option.substr(8);
      program->made = "// fake cubin " + option + "\n" + program->source;
      return 0;
    }
  return 5; // NVRTC_ERROR_INVALID_OPTION
}
EXPORT int nvrtcDestroyProgram(Program **program) {
  delete *program;
  *program = nullptr;
  return 0;
}
EXPORT int nvrtcGetProgramLogSize(Program *, size_t *size) {
  *size = 1;
  return 0;
}
EXPORT int nvrtcGetProgramLog(Program *, char *log) { return give("", log); }
EXPORT int nvrtcGetPTXSize(Program *program, size_t *size) {
  *size = program->made.size() + 1;
  return 0;
}
EXPORT int nvrtcGetPTX(Program *program, char *to) {
  return give(program->made, to);
}
EXPORT int nvrtcGetCUBINSize(Program *program, size_t *size) {
  *size = program->made.size() + 1;
  return 0;
}
EXPORT int nvrtcGetCUBIN(Program *program, char *to) {
  return give(program->made, to);
}
EXPORT const char *nvrtcGetErrorString(int) {
  return "an error of the fake NVRTC";
}
