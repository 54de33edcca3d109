//===- WarpGroups.h - products of four warps, on this machine ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's body of lowering/cuda/prelude/Wgmma.h: see GroupProducts.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_WARPGROUPS_H
#define ATTN_RUNTIME_EMULATOR_WARPGROUPS_H

#include "runtime/emulator/Host.h"

ATTN_FN u32 sharedAddress(const void *p) {
  return static_cast<u32>(static_cast<const unsigned char *>(p) -
                          attn_host::machine->shared);
}
ATTN_FN void showMatrixUnit() { attn_host::machine->showMatrixUnit(); }
ATTN_FN void beginProducts() { attn_host::machine->beginProducts(); }
ATTN_FN void commitProducts() { attn_host::machine->commitProducts(); }
template <int N> ATTN_FN void waitForProducts() {
  attn_host::machine->waitForProducts(N);
}
template <class T> ATTN_FN void settle(T &) {}

template <int N, class T>
ATTN_FN void wgmma(float (&c)[N][4], u64 a, u64 b, T) {
  attn_host::machine->multiplyGroup(
      {c[0], N, T::kElement, nullptr, a, b, /*rightByColumns=*/true});
}
template <int N, class T>
ATTN_FN void wgmma(float (&c)[N][4], const u32 (&a)[4], u64 b, T) {
  attn_host::machine->multiplyGroup(
      {c[0], N, T::kElement, a, 0, b, /*rightByColumns=*/false});
}

#endif // ATTN_RUNTIME_EMULATOR_WARPGROUPS_H
