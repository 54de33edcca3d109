//===- GroupProducts.cpp - products of four warps, on this machine --------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums are NaN from where their product is issued until it is waited for. Each
// warp multiplies when it comes by, with what the others have written by then,
// and all four must issue the same. The unit sees shared memory as it was at
// the last fence.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Fibers.h"

#include <utility>

using namespace attn;
using namespace attn::emulator;
using attn_host::GroupProduct;

namespace {
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
    if (std::memcmp(machine.shared + place, shown.data() + place, 2) != 0)
      fail("the matrix unit reads what no fence has shown it");
    u16 bits;
    std::memcpy(&bits, machine.shared + place, 2);
    return bits;
  }
  u32 start, summed, other;
};
} // namespace

/// All threads of a warp come by.
static void together(const char *operation) {
  struct Slot {
  } slot;
  collective(operation, slot, [](Slot **) {});
}

void emulator::showMatrixUnit() {
  struct Slot {
  } slot;
  collective("showMatrixUnit", slot, [](Slot **) {
    std::memcpy(shown.data(), machine.shared, sharedBytes);
  });
}

void emulator::beginProducts() {
  together("beginProducts");
  current->registers = true;
}

/// This warp's 16 rows of it.
static void multiply(GroupProduct **all) {
  const GroupProduct &first = *all[0];
  int warp = current->thread / 32, columns = 8 * first.groups;
  for (int lane = 0; lane < 32; ++lane)
    if (all[lane]->left != first.left || all[lane]->right != first.right)
      fail("the threads of a warp multiply different matrices");
  if (warps.size() % 4)
    fail("a group has four warps");
  warps[warp].products.push_back(
      {first.left, first.right, static_cast<u64>(first.groups)});
  float left[16][16];
  std::vector<std::array<float, 16>> right(columns);
  if (first.registers) {
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 8; ++i)
        left[lane / 4 + i / 2 % 2 * 8][lane % 4 * 2 + i / 4 * 8 + i % 2] =
            toFloat(all[lane]->registers[i / 2] >> i % 2 * 16 & 0xffff,
                    first.element);
  } else {
    Matrix a(first.left);
    for (int row = 0; row < 16; ++row)
      for (int k = 0; k < 16; ++k)
        left[row][k] =
            toFloat(a.at(k, warp % 4 * 16 + row, true), first.element);
  }
  Matrix b(first.right);
  for (int n = 0; n < columns; ++n)
    for (int k = 0; k < 16; ++k)
      right[n][k] = toFloat(b.at(k, n, first.rightByColumns), first.element);
  int count = 4 * first.groups;
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
      thread.products.push_back({sums, {sums, sums + count}, 0});
      product = &thread.products.back();
    }
    product->commit = 0;
    for (int i = 0; i < count; ++i) {
      int row = lane / 4 + i / 2 % 2 * 8, n = i / 4 * 8 + lane % 4 * 2 + i % 2;
      float sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += left[row][k] * right[n][k];
      product->result[i] += sum;
    }
    std::memset(sums, 0xff, sizeof(float) * count);
  }
}

void emulator::multiplyGroup(const GroupProduct &product) {
  GroupProduct slot = product;
  collective(slot.registers ? "wgmma from registers" : "wgmma", slot, multiply);
}

void emulator::commitProducts() {
  together("commitProducts");
  ++current->commits;
  for (Product &product : current->products)
    if (!product.commit)
      product.commit = current->commits;
}

void emulator::waitForProducts(int open) {
  together("waitForProducts");
  std::vector<Product> others;
  for (Product &product : current->products) {
    if (!product.commit || product.commit > current->commits - open) {
      others.push_back(std::move(product));
      continue;
    }
    size_t bytes = product.result.size() * sizeof(float);
    const auto *sums = reinterpret_cast<const unsigned char *>(product.sums);
    for (size_t n = 0; n < bytes; ++n)
      if (sums[n] != 0xff)
        fail("sums are written before they are waited for");
    std::memcpy(product.sums, product.result.data(), bytes);
  }
  current->products = std::move(others);
  current->registers = false;
}

const char *emulator::checkProducts() {
  for (size_t w = 0; w < warps.size(); ++w)
    if (warps[w].products != warps[w / 4 * 4].products)
      return "the warps of a group multiply different matrices";
  return nullptr;
}
