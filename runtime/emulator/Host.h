//===- Host.h - the machine, on this one ------------------------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's body of the functions of lowering/cuda/prelude/Device.h. What has
// not arrived is NaN: the destination of a copy until it is waited for.
//
// It does not see bank conflicts, the error of ex2.approx, and races of plain
// stores. Products of four warps: WarpGroups.h.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_HOST_H
#define ATTN_RUNTIME_EMULATOR_HOST_H

#include "runtime/emulator/Fibers.h"

namespace attn_host {

inline float fromBf16(u16 bits) {
  u32 wide = static_cast<u32>(bits) << 16;
  float x;
  std::memcpy(&x, &wide, 4);
  return x;
}
inline u16 toBf16(float x) {
  u32 bits;
  std::memcpy(&bits, &x, 4);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline float fromF16(u16 bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float x = exponent == 31 ? (fraction ? NAN : INFINITY)
            : exponent     ? std::ldexp(1024.f + fraction, exponent - 25)
                           : std::ldexp(float(fraction), -24);
  return bits & 0x8000 ? -x : x;
}
inline u16 toF16(float x) {
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

inline u32 bitsOf(float x) {
  u32 bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
inline float fromBits(u32 bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
/// To nearest, ties to even, as cvt.rn does.
inline u32 toTf32(float x) {
  u32 bits = bitsOf(x);
  if (std::isnan(x))
    return 0x7fffffff;
  return (bits + 0xfff + (bits >> 13 & 1)) & ~u32(0x1fff);
}

} // namespace attn_host

#define ATTN_FN static inline
#define ATTN_METHOD inline
#define ATTN_KERNEL(threads) static void
#define ATTN_CONSTANT static const
#define ATTN_TABLE static const
#define ATTN_SHARED(name) unsigned char *name = attn_host::shared
#define ATTN_UNROLL
#define ATTN_LOOP

ATTN_FN int threadOf() { return attn_host::current->thread; }
ATTN_FN i64 blockOf() { return attn_host::block; }
ATTN_FN void barrier() { attn_host::meet(false); }
ATTN_FN bool anyThread(bool x) { return attn_host::meet(x); }

template <class T> ATTN_FN T exchange(const char *name, T x, int from) {
  struct Slot {
    T value, result;
    int from;
  } slot{x, T(), from};
  attn_host::collective(name, slot, [](Slot **all) {
    for (int lane = 0; lane < 32; ++lane)
      all[lane]->result = all[all[lane]->from & 31]->value;
  });
  return slot.result;
}
template <class T> ATTN_FN T shuffle(T x, int lane) {
  return exchange("shuffle", x, lane);
}
template <class T> ATTN_FN T shuffleXor(T x, int mask) {
  return exchange("shuffleXor", x, threadOf() % 32 ^ mask);
}

ATTN_FN void copyAsync(void *to, const void *from, int bytes, bool inside) {
  auto misaligned = [&](const void *p) {
    return reinterpret_cast<uintptr_t>(p) % bytes != 0;
  };
  if (misaligned(to) || misaligned(from))
    attn_host::fail("an asynchronous copy is misaligned");
  std::memset(to, 0xff, bytes);
  attn_host::current->open.push_back({to, from, bytes, inside});
}
ATTN_FN void copyAsync16(void *to, const void *from, bool inside) {
  copyAsync(to, from, 16, inside);
}
ATTN_FN void copyAsync4(void *to, const void *from, bool inside) {
  copyAsync(to, from, 4, inside);
}
ATTN_FN void commitCopies() {
  attn_host::Fiber &me = *attn_host::current;
  me.committed.push_back(std::move(me.open));
  me.open.clear();
}
template <int N> ATTN_FN void waitForCopies() {
  auto &groups = attn_host::current->committed;
  while (groups.size() > N) {
    for (const attn_host::Copy &copy : groups.front())
      if (copy.inside)
        std::memcpy(copy.to, copy.from, copy.bytes);
      else
        std::memset(copy.to, 0, copy.bytes);
    groups.erase(groups.begin());
  }
}

ATTN_FN void loadMatrices(u32 (&r)[4], const void *row, bool transposed) {
  struct Slot {
    u32 *r;
    const u16 *row;
  } slot{r, static_cast<const u16 *>(row)};
  if (reinterpret_cast<uintptr_t>(row) % 16)
    attn_host::fail("a row of a matrix is misaligned");
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
  attn_host::collective(transposed ? "loadTransposed" : "loadMatrices", slot,
                        load);
}
ATTN_FN void loadMatrices(u32 (&r)[4], const void *row) {
  loadMatrices(r, row, false);
}
ATTN_FN void loadTransposed(u32 (&r)[4], const void *row) {
  loadMatrices(r, row, true);
}

struct Bf16 {
  u16 bits;
};
struct F16 {
  u16 bits;
};
ATTN_FN float toFloat(Bf16 x) { return attn_host::fromBf16(x.bits); }
ATTN_FN float toFloat(F16 x) { return attn_host::fromF16(x.bits); }
ATTN_FN u32 pack(float low, float high, Bf16) {
  return attn_host::toBf16(low) | static_cast<u32>(attn_host::toBf16(high))
                                      << 16;
}
ATTN_FN u32 pack(float low, float high, F16) {
  return attn_host::toF16(low) | static_cast<u32>(attn_host::toF16(high)) << 16;
}

template <class T>
ATTN_FN void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, T) {
  struct Slot {
    float *c;
    const u32 *a;
    u32 b[2];
  } slot{c, a, {b0, b1}};
  attn_host::collective("mma", slot, [](Slot **all) {
    float left[16][16], right[8][16];
    auto half = [](u32 two, int which) {
      return toFloat(T{static_cast<u16>(two >> 16 * which)});
    };
    for (int lane = 0; lane < 32; ++lane) {
      int g = lane / 4, t = lane % 4;
      for (int w = 0; w < 2; ++w) {
        for (int i = 0; i < 4; ++i)
          left[g + i % 2 * 8][2 * t + i / 2 * 8 + w] = half(all[lane]->a[i], w);
        for (int i = 0; i < 2; ++i)
          right[g][2 * t + 8 * i + w] = half(all[lane]->b[i], w);
      }
    }
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        int row = lane / 4 + i / 2 * 8, col = 2 * (lane % 4) + i % 2;
        float sum = 0;
        for (int k = 0; k < 16; ++k)
          sum += left[row][k] * right[col][k];
        all[lane]->c[i] += sum;
      }
  });
}

struct Tf32 {
  u32 bits;
};
ATTN_FN float toFloat(Tf32 x) { return attn_host::fromBits(x.bits); }
ATTN_FN Tf32 roundTf32(float x) { return {attn_host::toTf32(x)}; }
ATTN_FN u32 bitsOf(float x) { return attn_host::bitsOf(x); }
ATTN_FN float floatOf(u32 bits) { return attn_host::fromBits(bits); }

/// What was not rounded before loses its last bits, as it does on the device.
ATTN_FN void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, Tf32) {
  struct Slot {
    float *c;
    const u32 *a;
    u32 b[2];
  } slot{c, a, {b0, b1}};
  attn_host::collective("mma", slot, [](Slot **all) {
    float left[16][8], right[8][8];
    auto cut = [](u32 bits) {
      return attn_host::fromBits(
          (bits & 0x7f800000) == 0x7f800000 ? bits : bits & ~u32(0x1fff));
    };
    for (int lane = 0; lane < 32; ++lane) {
      int g = lane / 4, t = lane % 4;
      for (int i = 0; i < 4; ++i)
        left[g + i % 2 * 8][t + i / 2 * 4] = cut(all[lane]->a[i]);
      for (int i = 0; i < 2; ++i)
        right[g][t + 4 * i] = cut(all[lane]->b[i]);
    }
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        int row = lane / 4 + i / 2 * 8, col = 2 * (lane % 4) + i % 2;
        float sum = 0;
        for (int k = 0; k < 8; ++k)
          sum += left[row][k] * right[col][k];
        all[lane]->c[i] += sum;
      }
  });
}

ATTN_FN float pow2(float x) { return exp2f(x); }
ATTN_FN float sinInTurn(float x) { return sinf(x); }
ATTN_FN float cosInTurn(float x) { return cosf(x); }
ATTN_FN int lowestBit(u32 x) { return __builtin_ctz(x); }
ATTN_FN float infinity() { return INFINITY; }

#endif // ATTN_RUNTIME_EMULATOR_HOST_H
