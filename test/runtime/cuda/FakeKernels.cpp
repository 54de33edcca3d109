//===- FakeKernels.cpp - the fake driver's kernels, on the host -----------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeKernels.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <regex>
#include <unistd.h>

/// What launches the entries of a source.
static std::string glue(const std::string &source) {
  std::string text =
      "\n#include <utility>\n#include <tuple>\n"
      "namespace fake_cuda {\n"
      "template <class... A> void *copy(void (*)(A...), void **p) {\n"
      "  int n = 0;\n"
      "  return new std::tuple<A...>{*static_cast<A *>(p[n++])...};\n}\n"
      "template <class... A>\n"
      "const char *run(void (*f)(A...), void *p, long long blocks, int "
      "threads, int shared) {\n"
      "  auto *values = static_cast<std::tuple<A...> *>(p);\n"
      "  const char *error = attn_host::launch(blocks, threads, shared, 1, [=] "
      "{ "
      "std::apply(f, *values); });\n"
      "  delete values;\n  return error;\n}\n}\n";
  static const std::regex kernel(R"(ATTN_KERNEL\(\w+\) (\w+)\()");
  for (std::sregex_iterator it(source.begin(), source.end(), kernel), end;
       it != end; ++it) {
    std::string name = (*it)[1];
    text += "extern \"C\" void *copy_" + name +
            "(void **p) { return fake_cuda::copy(" + name +
            ", p); }\nextern \"C\" const char *run_" + name +
            "(const attn_host::Machine *machine, void *p, long long blocks, "
            "int threads, int shared) {\n  attn_host::machine = machine;\n  "
            "return fake_cuda::run(" +
            name + ", p, blocks, threads, shared); }\n";
  }
  return text;
}

void *fake_cuda::compileSource(const std::string &source) {
  char folder[] = "/tmp/fake-cuda-XXXXXX";
  if (!mkdtemp(folder))
    return nullptr;
  std::string path = folder;
  std::ofstream(path + "/kernel.cpp") << source << glue(source);
  std::string command =
      "c++ -std=c++17 -O1 -fexpensive-optimizations -march=native "
      "-ffp-contract=fast -w -shared -fPIC -fno-gnu-unique -I '" ATTN_SOURCE
      "' -DATTN_HOST_PRELUDE='\"runtime/emulator/WarpGroups.h\"' " +
      path + "/kernel.cpp -o " + path + "/kernel.so";
  void *library = std::system(command.c_str())
                      ? nullptr
                      : dlopen((path + "/kernel.so").c_str(), RTLD_NOW);
  for (const char *file : {"/kernel.cpp", "/kernel.so"})
    unlink((path + file).c_str());
  rmdir(folder);
  return library;
}
