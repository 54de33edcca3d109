//===- CudaCache.cpp - machine code kept between runs ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaCache.h"

#include <chrono>
#include <sstream>

using namespace attn;
using namespace attn::runtime;

/// A line of figures an entry, the remarks, an empty line, the code.
static std::string encode(const CudaCode &code) {
  std::ostringstream text;
  for (const KernelUsage &u : code.usage)
    text << (u.entry.empty() ? "-" : u.entry) << ' ' << u.registers << ' '
         << u.stack << ' ' << u.spillStores << ' ' << u.spillLoads << '\n';
  for (const std::string &remark : code.remarks)
    text << "# " << remark << '\n';
  text << '\n' << code.bytes;
  return text.str();
}

static std::optional<CudaCode> decode(const std::string &stored) {
  CudaCode code;
  std::istringstream text(stored);
  for (std::string line; std::getline(text, line);) {
    if (line.empty()) {
      code.bytes = stored.substr(static_cast<size_t>(text.tellg()));
      return code;
    }
    if (line.rfind("# ", 0) == 0) {
      code.remarks.push_back(line.substr(2));
      continue;
    }
    KernelUsage u;
    std::istringstream fields(line);
    if (!(fields >> u.entry >> u.registers >> u.stack >> u.spillStores >>
          u.spillLoads))
      return std::nullopt;
    if (u.entry == "-")
      u.entry.clear();
    code.usage.push_back(u);
  }
  return std::nullopt;
}

CudaCode runtime::compileCudaCached(const Cache &cache,
                                    const std::string &source,
                                    const std::string &name,
                                    const std::string &architecture,
                                    bool toPtx) {
  if (!cache)
    return compileCuda(source, name, architecture, toPtx);
  auto start = std::chrono::steady_clock::now();
  std::string key = "cuda " + architecture + (toPtx ? " ptx " : " cubin ") +
                    nvrtcVersion() + "\n" + source;
  if (std::optional<std::string> stored = cache.load(key))
    if (std::optional<CudaCode> code = decode(*stored)) {
      code->milliseconds = std::chrono::duration<double, std::milli>(
                               std::chrono::steady_clock::now() - start)
                               .count();
      return *code;
    }
  CudaCode code = compileCuda(source, name, architecture, toPtx);
  cache.store(key, name + ", " + architecture + (toPtx ? ", ptx" : ", cubin"),
              encode(code));
  return code;
}
