//===- Library.cpp - shared libraries that are looked for -----------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Library.h"
#include "attn/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <glob.h>

using namespace attn;
using namespace attn::runtime;

static std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

static void addMatches(std::vector<std::string> &folders,
                       const std::string &pattern) {
  glob_t found;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t n = found.gl_pathc; n-- > 0;) // later versions first
      folders.push_back(found.gl_pathv[n]);
  globfree(&found);
}

std::vector<std::string> runtime::cudaFolders() {
  std::vector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string root = environment(variable); !root.empty())
      folders.push_back(root + "/lib64");
  folders.push_back("/usr/local/cuda/lib64");
  addMatches(folders, "/usr/local/cuda-*/lib64");
  folders.push_back("/opt/cuda/lib64");
  std::vector<std::string> roots{"/usr/local/lib", "/usr/lib"};
  for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (std::string root = environment(variable); !root.empty())
      roots.insert(roots.begin(), root + "/lib");
  if (std::string home = environment("HOME"); !home.empty())
    roots.push_back(home + "/.local/lib");
  for (const std::string &root : roots)
    for (const char *packages : {"/site-packages", "/dist-packages"})
      for (const char *wheel : {"/nvidia/cuda_nvrtc/lib", "/nvidia/cu1*/lib"})
        addMatches(folders, root + "/python3*" + packages + wheel);
  return folders;
}

Library::Library(const LibrarySearch &search) {
  std::vector<std::string> candidates;
  std::string given =
      search.variable.empty() ? "" : environment(search.variable.c_str());
  if (!given.empty()) {
    std::error_code code;
    if (std::filesystem::is_directory(given, code))
      for (const std::string &name : search.names)
        candidates.push_back(given + "/" + name);
    else
      candidates.push_back(given);
  } else {
    candidates = search.names;
    for (const std::string &folder : search.folders)
      for (const std::string &name : search.names)
        candidates.push_back(folder + "/" + name);
  }
  std::string broken;
  for (const std::string &candidate : candidates) {
    handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) {
      path = candidate;
      return;
    }
    std::error_code code;
    std::string why = dlerror();
    if (std::filesystem::exists(candidate, code) && broken.empty())
      broken = why; // it is there, and something is wrong with it
  }
  auto list = [](const std::vector<std::string> &items) {
    std::string text;
    for (const std::string &item : items)
      text += (text.empty() ? "" : ", ") + item;
    return text;
  };
  if (!broken.empty())
    throw Error(search.what + " cannot be opened: " + broken);
  if (!given.empty())
    throw Error(search.what + " is not where " + search.variable +
                " points: " + given);
  throw Error(search.what + " is not here: looked for " + list(search.names) +
              " where the system looks" +
              (search.folders.empty() ? "" : ", in " + list(search.folders)) +
              (search.variable.empty() ? ""
                                       : "; set " + search.variable +
                                             " to the file or its folder"));
}

void *Library::find(const char *symbol) const {
  if (void *address = dlsym(handle, symbol))
    return address;
  throw Error(path + " has no " + symbol);
}
