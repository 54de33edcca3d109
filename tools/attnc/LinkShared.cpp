//===- LinkShared.cpp - objects to shared libraries -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkShared.h"

#include "attn/attn.h"
#include "runtime/Scratch.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace attn;

static std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

std::string attn::linkShared(std::string_view object, const std::string &name) {
  std::string program;
  bool driver = false;
  for (const char *candidate : {"cc", "gcc", "clang", "ld", "ld.lld"}) {
    llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(candidate);
    if (!found)
      continue;
    program = *found;
    driver = llvm::StringRef(candidate).find("ld") != 0;
    break;
  }
  if (program.empty())
    throw Error("a shared library needs a linker, and none of cc, gcc, clang, "
                "ld, ld.lld is on the PATH; install one (Debian: binutils), or "
                "use --emit=obj");

  runtime::Scratch scratch("attnc");
  std::string input = scratch.write(
                  "kernel.o", llvm::StringRef(object.data(), object.size())),
              output = scratch.file("kernel.so"), log = scratch.file("log");
  std::string soname = name;
  std::vector<llvm::StringRef> arguments = {program, "-shared"};
  if (driver) {
    // No start-up files: the kernel has nothing to start. The C library for
    // memcpy and the like.
    soname = "-Wl,-soname," + name;
    arguments.insert(arguments.end(), {"-nostdlib", soname, "-Wl,-z,now", "-o",
                                       output, input, "-lc"});
  } else {
    arguments.insert(arguments.end(),
                     {"-soname", soname, "-z", "now", "-o", output, input});
  }
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(""), llvm::StringRef(log), llvm::StringRef(log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt,
                                         redirects, 0, 0, &message);
  std::string library = status == 0 ? readFile(output) : std::string();
  if (library.empty())
    throw Error(program + " could not link the shared library: " + message +
                readFile(log));
  return library;
}
