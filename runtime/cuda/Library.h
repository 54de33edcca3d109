//===- Library.h - shared libraries that are looked for ---------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's libraries are opened when they are first needed: nothing of them is
// wanted to build attnc, or to run it on a CPU.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_LIBRARY_H
#define ATTN_RUNTIME_CUDA_LIBRARY_H

#include <string>
#include <vector>

namespace attn::runtime {

/// Where to look for a library.
struct LibrarySearch {
  std::string what;                 ///< "NVRTC", for errors
  std::string variable;             ///< names the file or its folder; may be ""
  std::vector<std::string> names;   ///< file names, the best first
  std::vector<std::string> folders; ///< after the system's own
};

/// A shared library that stays open.
class Library {
public:
  /// Opens the first that is there; throws Error with all that was tried.
  explicit Library(const LibrarySearch &search);
  /// The address of a symbol; throws where there is none.
  void *find(const char *symbol) const;
  template <typename F> void bind(F *&function, const char *symbol) const {
    function = reinterpret_cast<F *>(find(symbol));
  }
  const std::string &getPath() const { return path; }

private:
  void *handle = nullptr;
  std::string path;
};

/// Folders of CUDA toolkits, and of those that pip installs.
std::vector<std::string> cudaFolders();

} // namespace attn::runtime

#endif // ATTN_RUNTIME_CUDA_LIBRARY_H
