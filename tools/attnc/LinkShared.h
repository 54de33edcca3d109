//===- LinkShared.h - objects to shared libraries ---------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_LINKSHARED_H
#define ATTN_TOOLS_LINKSHARED_H

#include <string>
#include <string_view>

namespace attn {

/// Links an object file to a shared library of that name with the system's
/// compiler driver or linker: cc, gcc, clang, ld or ld.lld, the first that is
/// on the PATH. Returns the library's bytes; throws Error where there is none,
/// or with what it said where it fails.
std::string linkShared(std::string_view object, const std::string &name);

} // namespace attn

#endif // ATTN_TOOLS_LINKSHARED_H
