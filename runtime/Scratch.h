//===- Scratch.h - a folder for other programs' files -----------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compilers and linkers that are run read and write files; these are in a
// folder that is removed with all in it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SCRATCH_H
#define ATTN_RUNTIME_SCRATCH_H

#include "attn/Error.h"
#include "runtime/FileLimitErrors.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace attn::runtime {

class Scratch {
public:
  explicit Scratch(llvm::StringRef prefix) {
    if (std::error_code code =
            llvm::sys::fs::createUniqueDirectory(prefix, path))
      throw Error("cannot make a temporary folder: " + code.message());
  }
  ~Scratch() { llvm::sys::fs::remove_directories(path); }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  /// The path of a file of that name.
  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return std::string(full);
  }
  /// Writes a file, and returns its path.
  std::string write(llvm::StringRef name, llvm::StringRef bytes) const {
    std::string full = file(name);
    std::error_code code;
    FileLimitErrors errors;
    llvm::raw_fd_ostream stream(full, code);
    if (!code) {
      stream << bytes;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    if (code)
      throw Error(full + ": error: cannot write: " + code.message());
    return full;
  }

private:
  llvm::SmallString<128> path;
};

} // namespace attn::runtime

#endif // ATTN_RUNTIME_SCRATCH_H
