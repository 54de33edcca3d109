//===- CKernel.h - a kernel called through its C interface ------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links the object of an ahead-of-time kernel in memory and fills its struct of
// arguments member by member, as a C program would.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_RUNTIME_CKERNEL_H
#define ATTN_TEST_RUNTIME_CKERNEL_H

#include "attn/attn.h"
#include "runtime/AheadOfTime.h"
#include "runtime/Compile.h"
#include "runtime/Jit.h"
#include "runtime/Kernel.h"

#include <cstring>

namespace attn {

struct CKernel {
  runtime::AheadOfTime made;
  std::unique_ptr<runtime::Code> code;
  std::vector<char> arguments;
  std::vector<int64_t> call;

  CKernel(Kernel::Impl &impl, const runtime::StaticSizes &sizes,
          const std::string &name = {}) {
    made = impl.compilation->compileAhead(sizes, impl.getLevel(), name);
    code = std::make_unique<runtime::Code>(std::move(made.object));
    arguments.resize(made.interface.workspaceSizeOffset + 8);
    call.resize(made.interface.callWords());
  }

  const CField &field(const std::string &name) const {
    for (const CField &f : made.interface.fields)
      if (f.name == name)
        return f;
    throw Error("no member " + name);
  }
  /// A number, or an array; without strides, as C programs leave them out.
  void set(const std::string &name, const Tensor &tensor) {
    const CField &f = field(name);
    char *place = arguments.data() + f.offset;
    if (f.scalar) {
      std::memcpy(place, tensor.data, f.element == CField::I64 ? 8 : 4);
      return;
    }
    int64_t words[1 + 2 * kCRank] = {};
    std::memcpy(words, &tensor.data, 8);
    std::copy(tensor.shape.begin(), tensor.shape.end(), words + 1);
    std::copy(tensor.strides.begin(), tensor.strides.end(), words + 1 + kCRank);
    std::memcpy(place, words, sizeof words);
  }
  void setWorkspace(void *memory, int64_t bytes) {
    std::memcpy(arguments.data() + made.interface.workspaceOffset, &memory, 8);
    std::memcpy(arguments.data() + made.interface.workspaceSizeOffset, &bytes,
                8);
  }

  template <typename Result, typename... Args>
  Result invoke(const std::string &suffix, Args... args) const {
    auto *function = reinterpret_cast<Result (*)(Args...)>(
        code->find(made.interface.name + suffix));
    return function(args...);
  }
  int run() { return invoke<int, void *>("", arguments.data()); }
  int64_t workspace() {
    return invoke<int64_t, void *>("_workspace", arguments.data());
  }
  int prepare() {
    return invoke<int, void *, void *>("_prepare", arguments.data(),
                                       call.data());
  }
  int64_t stages() { return invoke<int64_t, void *>("_stages", call.data()); }
  int64_t items(int64_t stage) {
    return invoke<int64_t, void *, int64_t>("_items", call.data(), stage);
  }
  int range(int64_t stage, int64_t begin, int64_t end) {
    return invoke<int, void *, int64_t, int64_t, int64_t>("_range", call.data(),
                                                          stage, begin, end);
  }
  std::string error(int status) const {
    return invoke<const char *, int>("_error", status);
  }
};

} // namespace attn

#endif // ATTN_TEST_RUNTIME_CKERNEL_H
