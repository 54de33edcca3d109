//===- Wgmma.h - asynchronous products, on an NVIDIA GPU -------*- CUDA -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As Device.h, for sm_90a. The products themselves are written for the sizes
// that a file uses, behind these. The host's body is
// runtime/emulator/WarpGroups.h.
//
//===----------------------------------------------------------------------===//

// What this thread has written to shared memory is there for the matrix unit.
ATTN_FN void showMatrixUnit() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
// What is in registers is there for the products that follow.
ATTN_FN void beginProducts() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
ATTN_FN void commitProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N> ATTN_FN void waitForProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
// Computed before what follows, and read after what came before.
ATTN_FN void settle(float &x) { asm volatile("" : "+f"(x)::"memory"); }
ATTN_FN void settle(u32 &x) { asm volatile("" : "+r"(x)::"memory"); }
