//===- Machine.cpp - the machine, on this one -----------------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What has not arrived is NaN: the destination of a copy until it is waited
// for.
//
// It does not see bank conflicts, the error of ex2.approx, and races of plain
// stores. Products of four warps: GroupProducts.cpp.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulator/Fibers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

using namespace attn;
using namespace attn::emulator;

//===- numbers ------------------------------------------------------------===//

static float fromBits(u32 bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

static float fromF16(u16 bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float x = exponent == 31 ? (fraction ? NAN : INFINITY)
            : exponent     ? std::ldexp(1024.f + fraction, exponent - 25)
                           : std::ldexp(float(fraction), -24);
  return bits & 0x8000 ? -x : x;
}

static u16 toF16(float x) {
  u16 sign = std::signbit(x) ? 0x8000 : 0;
  float a = std::fabs(x);
  if (!(a == a))
    return 0x7fff;
  if (a >= 65520)
    return sign | 0x7c00;
  if (a == 0)
    return sign;
  int exponent;
  std::frexp(a, &exponent); // a = m 2^exponent, 1/2 <= m < 1
  int shift = exponent < -13 ? 24 : 11 - exponent;
  float scaled = std::nearbyint(std::ldexp(a, shift)); // ties to even
  int whole = static_cast<int>(scaled);
  return sign | (exponent < -13 ? whole : whole + ((exponent + 13) << 10));
}

float emulator::toFloat(u32 bits, Element element) {
  switch (element) {
  case attn_host::kBf16:
    return fromBits(bits << 16);
  case attn_host::kF16:
    return fromF16(static_cast<u16>(bits));
  case attn_host::kTf32:
    // What was not rounded before loses its last bits, as it does there.
    return fromBits((bits & 0x7f800000) == 0x7f800000 ? bits
                                                      : bits & ~u32(0x1fff));
  }
  return NAN;
}

//===- a thread, and a warp -----------------------------------------------===//

static void exchange(const char *name, void *value, int bytes, int from) {
  struct Slot {
    void *value;
    int from, bytes;
    char result[16];
  } slot{value, from, bytes, {}};
  if (bytes > static_cast<int>(sizeof slot.result))
    fail("what threads exchange is too large");
  collective(name, slot, [](Slot **all) {
    for (int lane = 0; lane < 32; ++lane)
      std::memcpy(all[lane]->result, all[all[lane]->from & 31]->value,
                  all[lane]->bytes);
  });
  std::memcpy(value, slot.result, bytes);
}

static void copyAsync(void *to, const void *from, int bytes, bool inside) {
  auto misaligned = [&](const void *p) {
    return reinterpret_cast<uintptr_t>(p) % bytes != 0;
  };
  if (misaligned(to) || misaligned(from))
    fail("an asynchronous copy is misaligned");
  std::memset(to, 0xff, bytes);
  current->open.push_back({to, from, bytes, inside});
}

static void commitCopies() {
  current->committed.push_back(std::move(current->open));
  current->open.clear();
}

static void waitForCopies(int open) {
  std::vector<std::vector<Copy>> &groups = current->committed;
  while (static_cast<int>(groups.size()) > open) {
    for (const Copy &copy : groups.front())
      if (copy.inside)
        std::memcpy(copy.to, copy.from, copy.bytes);
      else
        std::memset(copy.to, 0, copy.bytes);
    groups.erase(groups.begin());
  }
}

static void loadMatrices(u32 *r, const void *row, bool transposed) {
  struct Slot {
    u32 *r;
    const u16 *row;
  } slot{r, static_cast<const u16 *>(row)};
  if (reinterpret_cast<uintptr_t>(row) % 16)
    fail("a row of a matrix is misaligned");
  auto load = [=](Slot **all) {
    for (int m = 0; m < 4; ++m)
      for (int lane = 0; lane < 32; ++lane) {
        int g = lane / 4, t = lane % 4;
        u16 low, high;
        if (!transposed) {
          low = all[8 * m + g]->row[2 * t];
          high = all[8 * m + g]->row[2 * t + 1];
        } else {
          low = all[8 * m + 2 * t]->row[g];
          high = all[8 * m + 2 * t + 1]->row[g];
        }
        all[lane]->r[m] = low | static_cast<u32>(high) << 16;
      }
  };
  collective(transposed ? "loadTransposed" : "loadMatrices", slot, load);
}

/// c (16 x 8) += a (16 x K) b (K x 8), over a warp: K is 16, of two elements a
/// register, or 8.
static void multiply(float *c, const u32 *a, u32 b0, u32 b1, Element element) {
  struct Slot {
    float *c;
    const u32 *a;
    u32 b[2];
    Element element;
  } slot{c, a, {b0, b1}, element};
  collective("mma", slot, [](Slot **all) {
    Element element = all[0]->element;
    // Elements in a register, and of what is summed over.
    const int wide = element == attn_host::kTf32 ? 1 : 2, depth = 8 * wide;
    auto part = [&](u32 bits, int w) {
      return toFloat(wide == 1 ? bits : bits >> 16 * w & 0xffff, element);
    };
    float left[16][16], right[8][16];
    for (int lane = 0; lane < 32; ++lane) {
      int g = lane / 4, t = lane % 4;
      for (int w = 0; w < wide; ++w) {
        for (int i = 0; i < 4; ++i)
          left[g + i % 2 * 8][(t + i / 2 * 4) * wide + w] =
              part(all[lane]->a[i], w);
        for (int i = 0; i < 2; ++i)
          right[g][(t + i * 4) * wide + w] = part(all[lane]->b[i], w);
      }
    }
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        int row = lane / 4 + i / 2 * 8, col = 2 * (lane % 4) + i % 2;
        float sum = 0;
        for (int k = 0; k < depth; ++k)
          sum += left[row][k] * right[col][k];
        all[lane]->c[i] += sum;
      }
  });
}

attn_host::Machine emulator::machine = {launch,
                                        /*thread=*/0,
                                        /*block=*/0,
                                        /*shared=*/nullptr,
                                        fail,
                                        meet,
                                        exchange,
                                        copyAsync,
                                        commitCopies,
                                        waitForCopies,
                                        loadMatrices,
                                        multiply,
                                        toF16,
                                        fromF16,
                                        showMatrixUnit,
                                        beginProducts,
                                        multiplyGroup,
                                        commitProducts,
                                        waitForProducts};

const attn_host::Machine *attn_host::getMachine() { return &machine; }
