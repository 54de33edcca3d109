//===- NoCache.cpp - unit tests compile anew ------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into every unit test: none reads or fills the user's cache of compiled
// kernels, however it is started. Tests of the cache turn it on themselves.
//
//===----------------------------------------------------------------------===//

#include <cstdlib>

[[maybe_unused]] static const int off = setenv("ATTN_CACHE", "off", 1);
