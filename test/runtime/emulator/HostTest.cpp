//===- HostTest.cpp - the emulated machine --------------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Host.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

static u16 toF16(float x) { return static_cast<u16>(pack(x, 0, F16())); }

// Conversions against the compiler's own, of all halves and of many floats.
TEST(EmulatorHost, Halves) {
  attn_host::machine = attn_host::getMachine();
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    u16 half = static_cast<u16>(bits);
    if ((half & 0x7c00) == 0x7c00 && (half & 1023))
      continue; // NaN
    _Float16 own;
    std::memcpy(&own, &half, 2);
    wrong += toFloat(F16{half}) != static_cast<float>(own);
    wrong += toF16(static_cast<float>(own)) != half;
  }
  std::mt19937 random(1);
  for (int n = 0; n < 1000000; ++n) {
    float x = std::ldexp(1 + random() % 65536 / 65536.f,
                         static_cast<int>(random() % 48) - 30);
    x = random() % 2 ? -x : x;
    _Float16 own = static_cast<_Float16>(x);
    u16 half;
    std::memcpy(&half, &own, 2);
    wrong += toF16(x) != half;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(pack(1.f + 1.f / 256, 0, Bf16()), 0x3f80u); // ties to even
  EXPECT_EQ(pack(1.f + 3.f / 256, 0, Bf16()), 0x3f82u);
  EXPECT_EQ(toFloat(Bf16{0x4049}), 3.140625f);
}

// 10 bits after the point: those of 2^-11 of 1 are ties, 0x1000 in its bits.
TEST(EmulatorHost, Tf32) {
  auto rounded = [](u32 bits) { return roundTf32(floatOf(bits)).bits; };
  EXPECT_EQ(roundTf32(1.f + 1.f / 2048).bits, 0x3f800000u); // ties to even
  EXPECT_EQ(roundTf32(1.f + 3.f / 2048).bits, 0x3f804000u);
  EXPECT_EQ(roundTf32(-1.f - 1.f / 2048).bits, 0xbf800000u);
  EXPECT_EQ(rounded(0x3f800fff), 0x3f800000u); // next to a tie
  EXPECT_EQ(rounded(0x3f801001), 0x3f802000u);
  EXPECT_EQ(rounded(0x3fffffff), 0x40000000u); // to the next power of two
  EXPECT_EQ(rounded(0x00001000), 0u);          // denormal
  EXPECT_EQ(rounded(0x80003000), 0x80004000u);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f800000u); // infinity
  EXPECT_EQ(rounded(0x7f800000), 0x7f800000u);
  EXPECT_EQ(rounded(0xff800000), 0xff800000u);
  for (u32 nan : {0x7fffffffu, 0x7f800001u, 0xffc00000u})
    EXPECT_EQ(rounded(nan), 0x7fffffffu);
  // Features of 16-bit rows are ties half of the time: no bias.
  double sum = 0;
  for (u32 n = 0; n < 4096; ++n)
    sum += floatOf(rounded(0x3f800000 + 0x1000 * n)) -
           floatOf(0x3f800000 + 0x1000 * n);
  EXPECT_EQ(sum, 0);
}

static const char *launch(void (*kernel)(), int threads = 64) {
  attn_host::machine = attn_host::getMachine();
  return attn_host::launch(3, threads, 1024, 1, kernel);
}

TEST(EmulatorHost, WarpCollectives) {
  EXPECT_EQ(launch([] {
              int sum = threadOf();
              for (int mask = 1; mask < 32; mask *= 2)
                sum += shuffleXor(sum, mask);
              if (sum != (threadOf() < 32 ? 496 : 496 + 32 * 32))
                attn_host::fail("wrong sum");
              if (shuffle(threadOf(), 5) % 32 != 5)
                attn_host::fail("wrong lane");
              if (!anyThread(threadOf() == 40) || anyThread(false))
                attn_host::fail("wrong vote");
            }),
            nullptr);
}

TEST(EmulatorHost, DivergenceFails) {
  EXPECT_STREQ(launch([] {
                 if (threadOf() < 16)
                   shuffle(1, 0);
               }),
               "some threads of a warp never enter a collective");
  EXPECT_STREQ(launch([] {
                 if (threadOf() < 32)
                   barrier();
               }),
               "some threads never reach a barrier");
  EXPECT_STREQ(launch([] {
                 if (threadOf() % 2)
                   shuffle(1, 0);
                 else
                   shuffleXor(1, 1);
               }),
               "the threads of a warp enter different collectives");
  // And afterwards the machine still works.
  EXPECT_EQ(launch([] { barrier(); }), nullptr);
}

static float source[64];

TEST(EmulatorHost, CopiesArriveWhenTheyAreWaitedFor) {
  for (int n = 0; n < 64; ++n)
    source[n] = n;
  EXPECT_EQ(launch([] {
              auto *shared =
                  reinterpret_cast<float *>(attn_host::machine->shared);
              if (shared[threadOf()] == shared[threadOf()])
                attn_host::fail("shared memory begins as NaN");
              copyAsync4(shared + threadOf(), source + threadOf(), true);
              commitCopies();
              copyAsync4(shared + 64 + threadOf(), source, false);
              commitCopies();
              if (shared[threadOf()] == shared[threadOf()])
                attn_host::fail("a copy arrives too early");
              waitForCopies<1>();
              if (shared[threadOf()] != threadOf())
                attn_host::fail("a copy is missing");
              if (shared[64 + threadOf()] == 0)
                attn_host::fail("the second copy arrives too early");
              waitForCopies<0>();
              if (shared[64 + threadOf()] != 0)
                attn_host::fail("what is outside is no zero");
            }),
            nullptr);
  EXPECT_STREQ(
      launch([] { copyAsync16(attn_host::machine->shared, source + 1, true); }),
      "an asynchronous copy is misaligned");
}

TEST(EmulatorHost, SharedMemoryEnds) {
  EXPECT_STREQ(launch([] {
                 reinterpret_cast<float *>(attn_host::machine->shared)[256] = 1;
               }),
               "more shared memory is written than there is");
}

// A warp runs ahead of the others as far as it can.
TEST(EmulatorHost, MissingBarriersShow) {
  EXPECT_STREQ(launch([] {
                 auto *shared =
                     reinterpret_cast<float *>(attn_host::machine->shared);
                 shared[threadOf()] = 1;
                 if (!(shared[(threadOf() + 32) % 64] == 1))
                   attn_host::fail("another warp has not run yet");
               }),
               "another warp has not run yet");
}
