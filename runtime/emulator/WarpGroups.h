//===- WarpGroups.h - products of four warps, on this machine ---*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's body of lowering/cuda/prelude/Wgmma.h. Sums are NaN from where
// their product is issued until it is waited for. Each warp multiplies when it
// comes by, with what the others have written by then, and all four must issue
// the same. The unit sees shared memory as it was at the last fence.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_WARPGROUPS_H
#define ATTN_RUNTIME_EMULATOR_WARPGROUPS_H

#include "runtime/emulator/Host.h"

namespace attn_host {

/// A matrix of 16-bit elements in shared memory, as a descriptor has it: PTX
/// ISA, "Matrix Descriptor Format" and "Canonical Layouts", no swizzling. Cores
/// are eight rows of 16 bytes.
struct Matrix {
  explicit Matrix(u64 descriptor) {
    auto field = [&](int bit) { return u32(descriptor >> bit & 0x3fff) << 4; };
    start = field(0);
    summed = field(16);
    other = field(32);
    if (descriptor & ~(u64(0x3fff) | u64(0x3fff) << 16 | u64(0x3fff) << 32))
      fail("a matrix is swizzled, or its descriptor malformed");
  }
  /// Element k along the axis summed over and n along the other one. A row of
  /// a core runs along the former where `byColumns`.
  u16 at(int k, int n, bool byColumns) const {
    int row = byColumns ? n : k, column = byColumns ? k : n;
    size_t place = start + k / 8 * size_t(summed) + n / 8 * size_t(other) +
                   row % 8 * 16 + column % 8 * 2;
    if (place + 2 > sharedBytes)
      fail("a matrix leaves the shared memory");
    if (std::memcmp(shared + place, shown.data() + place, 2) != 0)
      fail("the matrix unit reads what no fence has shown it");
    u16 bits;
    std::memcpy(&bits, shared + place, 2);
    return bits;
  }
  u32 start, summed, other;
};

/// All threads of a warp come by.
inline void together(const char *operation) {
  struct Slot {
  } slot;
  collective(operation, slot, [](Slot **) {});
}

struct Multiplied {
  float *sums;
  const u32 *registers; ///< the left factor; null: `left` says where
  u64 left, right;
};
/// c (64 x 8 N) += a (64 x 16) b (16 x 8 N); this warp's 16 rows of it.
template <int N, class T> void multiply(Multiplied **all) {
  const Multiplied &first = *all[0];
  int warp = current->thread / 32;
  bool byColumns = !first.registers;
  for (int lane = 0; lane < 32; ++lane)
    if (all[lane]->left != first.left || all[lane]->right != first.right)
      fail("the threads of a warp multiply different matrices");
  if (warps.size() % 4)
    fail("a group has four warps");
  warps[warp].products.push_back({first.left, first.right, N});
  float left[16][16], right[8 * N][16];
  auto real = [](u32 bits) { return toFloat(T{static_cast<u16>(bits)}); };
  if (first.registers) {
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 8; ++i)
        left[lane / 4 + i / 2 % 2 * 8][lane % 4 * 2 + i / 4 * 8 + i % 2] =
            real(all[lane]->registers[i / 2] >> i % 2 * 16);
  } else {
    Matrix a(first.left);
    for (int row = 0; row < 16; ++row)
      for (int k = 0; k < 16; ++k)
        left[row][k] = real(a.at(k, warp % 4 * 16 + row, true));
  }
  Matrix b(first.right);
  for (int n = 0; n < 8 * N; ++n)
    for (int k = 0; k < 16; ++k)
      right[n][k] = real(b.at(k, n, byColumns));
  for (int lane = 0; lane < 32; ++lane) {
    Fiber &thread = fibers[warp * 32 + lane];
    float *sums = all[lane]->sums;
    Product *product = nullptr;
    for (Product &known : thread.products)
      if (known.sums == sums)
        product = &known;
    if (!product) {
      if (!thread.registers)
        fail("products begin before a fence for their registers");
      thread.products.push_back({sums, {sums, sums + 4 * N}, 0});
      product = &thread.products.back();
    }
    product->commit = 0;
    for (int i = 0; i < 4 * N; ++i) {
      int row = lane / 4 + i / 2 % 2 * 8, n = i / 4 * 8 + lane % 4 * 2 + i % 2;
      float sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += left[row][k] * right[n][k];
      product->result[i] += sum;
    }
    std::memset(sums, 0xff, sizeof(float) * 4 * N);
  }
}

} // namespace attn_host

ATTN_FN u32 sharedAddress(const void *p) {
  return static_cast<u32>(static_cast<const unsigned char *>(p) -
                          attn_host::shared);
}
ATTN_FN void showMatrixUnit() {
  struct Slot {
  } slot;
  attn_host::collective("showMatrixUnit", slot, [](Slot **) {
    std::memcpy(attn_host::shown.data(), attn_host::shared,
                attn_host::sharedBytes);
  });
}
ATTN_FN void beginProducts() {
  attn_host::together("beginProducts");
  attn_host::current->registers = true;
}
ATTN_FN void commitProducts() {
  attn_host::together("commitProducts");
  attn_host::Fiber &me = *attn_host::current;
  ++me.commits;
  for (attn_host::Product &product : me.products)
    if (!product.commit)
      product.commit = me.commits;
}
template <int N> ATTN_FN void waitForProducts() {
  attn_host::together("waitForProducts");
  attn_host::Fiber &me = *attn_host::current;
  std::vector<attn_host::Product> others;
  for (attn_host::Product &product : me.products) {
    if (!product.commit || product.commit > me.commits - N) {
      others.push_back(std::move(product));
      continue;
    }
    size_t bytes = product.result.size() * sizeof(float);
    const auto *sums = reinterpret_cast<const unsigned char *>(product.sums);
    for (size_t n = 0; n < bytes; ++n)
      if (sums[n] != 0xff)
        attn_host::fail("sums are written before they are waited for");
    std::memcpy(product.sums, product.result.data(), bytes);
  }
  me.products = std::move(others);
  me.registers = false;
}
template <class T> ATTN_FN void settle(T &) {}

template <int N, class T>
ATTN_FN void wgmma(float (&c)[N][4], u64 a, u64 b, T) {
  attn_host::Multiplied slot{c[0], nullptr, a, b};
  attn_host::collective("wgmma", slot, attn_host::multiply<N, T>);
}
template <int N, class T>
ATTN_FN void wgmma(float (&c)[N][4], const u32 (&a)[4], u64 b, T) {
  attn_host::Multiplied slot{c[0], a, 0, b};
  attn_host::collective("wgmma from registers", slot,
                        attn_host::multiply<N, T>);
}

#endif // ATTN_RUNTIME_EMULATOR_WARPGROUPS_H
