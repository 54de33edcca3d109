//===- WarpGroupsTest.cpp - emulated products of four warps ---------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrices are laid out here by the canonical layouts of the PTX ISA, with
// offsets that no kernel uses; products are those of their elements.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/WarpGroups.h"

#include "gtest/gtest.h"

#include <cstring>

namespace {

/// Small whole numbers, exact in 16 bits, and so are their products' sums.
float leftAt(int row, int k) { return (row * 7 + k * 5) % 11 - 5; }
float rightAt(int k, int n) { return (k * 3 + n * 13) % 9 - 4; }

constexpr int kColumns = 24, kGroups = kColumns / 8;
// Bytes: where matrices begin, and from core to core.
constexpr int kLeft = 256, kLeftSummed = 1168, kLeftOther = 144;
constexpr int kRight = 4096, kRightSummed = 528, kRightOther = 160;

u64 describe(int from, int summed, int other) {
  return u64(from >> 4) | u64(summed >> 4) << 16 | u64(other >> 4) << 32;
}
const u64 left = describe(kLeft, kLeftSummed, kLeftOther),
          right = describe(kRight, kRightSummed, kRightOther);

void put(int place, float x) {
  u32 bits = pack(x, 0, Bf16());
  std::memcpy(attn_host::machine->shared + place, &bits, 2);
}
/// ((8, m), (T, 2k)) : ((T, SBO), (1, LBO)), T = 8: a row holds what is summed.
void putLeft() {
  for (int row = threadOf(); row < 64; row += 128)
    for (int k = 0; k < 16; ++k)
      put(kLeft + row / 8 * kLeftOther + row % 8 * 16 + k / 8 * kLeftSummed +
              k % 8 * 2,
          leftAt(row, k));
}
void putRight(bool byColumns) {
  for (int n = threadOf(); n < kColumns; n += 128)
    for (int k = 0; k < 16; ++k)
      // ((T, 1, m), (8, k)) : ((1, T, SBO), (T, LBO)) where a row is not
      // summed.
      put(kRight + n / 8 * kRightOther + k / 8 * kRightSummed +
              (byColumns ? n % 8 * 16 + k % 8 * 2 : k % 8 * 16 + n % 8 * 2),
          rightAt(k, n));
}
void share(bool byColumns) {
  putLeft();
  putRight(byColumns);
  showMatrixUnit();
  barrier();
}
/// Rows g, g + 8 of this warp's 16; columns 2 t, 2 t + 1 of every 8.
int rowOf(int i) {
  return threadOf() / 32 * 16 + threadOf() % 32 / 4 + i / 2 % 2 * 8;
}
int columnOf(int i) { return i / 4 * 8 + threadOf() % 4 * 2 + i % 2; }
float &at(float (&sums)[kGroups][4], int i) { return sums[i / 4][i % 4]; }

void start(float (&sums)[kGroups][4]) {
  for (int i = 0; i < 4 * kGroups; ++i)
    at(sums, i) = i;
}
/// start + `times` products.
void expectSums(float (&sums)[kGroups][4], int times) {
  for (int i = 0; i < 4 * kGroups; ++i) {
    float expected = i;
    for (int k = 0; k < 16; ++k)
      expected += times * leftAt(rowOf(i), k) * rightAt(k, columnOf(i));
    if (at(sums, i) != expected)
      attn_host::fail("a sum is wrong");
  }
}
bool isNaN(float x) { return x != x; }

const char *launch(void (*kernel)(), int threads = 128) {
  attn_host::machine = attn_host::getMachine();
  return attn_host::launch(2, threads, 8192, 1, kernel);
}

} // namespace

TEST(WarpGroups, BothFactorsInSharedMemory) {
  EXPECT_EQ(launch([] {
              float sums[kGroups][4];
              start(sums);
              share(/*byColumns=*/true);
              beginProducts();
              wgmma(sums, left, right, Bf16());
              wgmma(sums, left, right, Bf16());
              commitProducts();
              waitForProducts<0>();
              expectSums(sums, 2);
            }),
            nullptr);
}

TEST(WarpGroups, LeftFactorInRegisters) {
  EXPECT_EQ(launch([] {
              float sums[kGroups][4];
              start(sums);
              share(/*byColumns=*/false);
              u32 a[4];
              for (int i = 0; i < 4; ++i) {
                int k = i / 2 * 8 + threadOf() % 4 * 2, row = rowOf(i % 2 * 2);
                a[i] = pack(leftAt(row, k), leftAt(row, k + 1), Bf16());
              }
              beginProducts();
              wgmma(sums, a, right, Bf16());
              commitProducts();
              waitForProducts<0>();
              expectSums(sums, 1);
            }),
            nullptr);
}

TEST(WarpGroups, SumsAreUnknownUntilTheirWait) {
  EXPECT_EQ(launch([] {
              float first[kGroups][4], second[kGroups][4];
              start(first);
              start(second);
              share(true);
              beginProducts();
              wgmma(first, left, right, Bf16());
              commitProducts();
              wgmma(second, left, right, Bf16());
              waitForProducts<0>(); // the second was not committed
              expectSums(first, 1);
              if (!isNaN(second[0][0]))
                attn_host::fail("a sum is there too early");
              commitProducts();
              waitForProducts<1>();
              if (!isNaN(second[0][0]))
                attn_host::fail("a sum is there too early");
              waitForProducts<0>();
              expectSums(second, 1);
            }),
            nullptr);
  EXPECT_STREQ(launch([] {
                 float sums[kGroups][4] = {};
                 share(true);
                 beginProducts();
                 wgmma(sums, left, right, Bf16());
                 sums[0][0] = 1;
                 commitProducts();
                 waitForProducts<0>();
               }),
               "sums are written before they are waited for");
  EXPECT_STREQ(launch([] {
                 float sums[kGroups][4] = {};
                 share(true);
                 beginProducts();
                 wgmma(sums, left, right, Bf16());
                 commitProducts();
               }),
               "products of a group of warps are never waited for");
}

TEST(WarpGroups, FencesAreNeeded) {
  EXPECT_STREQ(launch([] {
                 float sums[kGroups][4] = {};
                 share(true);
                 wgmma(sums, left, right, Bf16());
               }),
               "products begin before a fence for their registers");
  EXPECT_STREQ(launch([] {
                 float sums[kGroups][4] = {};
                 putLeft();
                 putRight(true);
                 barrier();
                 beginProducts();
                 wgmma(sums, left, right, Bf16());
               }),
               "the matrix unit reads what no fence has shown it");
}

TEST(WarpGroups, OneProductOfFourWarps) {
  EXPECT_STREQ(launch([] {
                 float sums[kGroups][4] = {};
                 share(true);
                 beginProducts();
                 wgmma(sums, left, right + (threadOf() >= 96), Bf16());
                 commitProducts();
                 waitForProducts<0>();
               }),
               "the warps of a group multiply different matrices");
  EXPECT_STREQ(launch([] {
                 float sums[kGroups][4] = {};
                 share(true);
                 beginProducts();
                 wgmma(sums, left, right + threadOf() % 2, Bf16());
               }),
               "the threads of a warp multiply different matrices");
  EXPECT_STREQ(launch(
                   [] {
                     float sums[kGroups][4] = {};
                     share(true);
                     beginProducts();
                     wgmma(sums, left, right, Bf16());
                   },
                   64),
               "a group has four warps");
  EXPECT_STREQ(launch([] {
                 float sums[kGroups][4] = {};
                 share(true);
                 beginProducts();
                 wgmma(sums, left, right | u64(1) << 62, Bf16());
               }),
               "a matrix is swizzled, or its descriptor malformed");
}

// A warp that comes early multiplies what is there.
TEST(WarpGroups, MissingBarriersShow) {
  EXPECT_STREQ(launch([] {
                 float sums[kGroups][4];
                 start(sums);
                 putLeft();
                 putRight(true);
                 showMatrixUnit();
                 beginProducts();
                 wgmma(sums, left, right, Bf16());
                 commitProducts();
                 waitForProducts<0>();
                 expectSums(sums, 1);
               }),
               "a sum is wrong");
}
