//===- LinkShared.cpp - objects to shared libraries -----------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkShared.h"

#include "attn/attn.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;

namespace {
/// A folder of our own for the linker's files, removed with all in it.
class Scratch {
public:
  Scratch() {
    if (std::error_code code =
            llvm::sys::fs::createUniqueDirectory("attnc", path))
      throw Error("cannot make a temporary folder: " + code.message());
  }
  ~Scratch() { llvm::sys::fs::remove_directories(path); }
  std::string file(const char *name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return std::string(full);
  }

private:
  llvm::SmallString<128> path;
};
} // namespace

static void writeFile(const std::string &path, std::string_view bytes) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code);
  if (!code) {
    stream.write(bytes.data(), bytes.size());
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (code)
    throw Error(path + ": error: cannot write: " + code.message());
}

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

  Scratch scratch;
  std::string input = scratch.file("kernel.o"),
              output = scratch.file("kernel.so"), log = scratch.file("log");
  writeFile(input, object);
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
