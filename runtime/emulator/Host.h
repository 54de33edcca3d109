//===- Host.h - the functions of the machine, on this one -------*- C++ -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's body of the functions of lowering/cuda/prelude/Device.h, as far as
// it does not stand in Machine.cpp. It is compiled with every kernel: templates
// and standard headers cost more time here than most kernels do.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_HOST_H
#define ATTN_RUNTIME_EMULATOR_HOST_H

#include "runtime/emulator/Machine.h"

// What kernels call of <math.h>, which would take a tenth of a second.
extern "C" {
float ceilf(float) noexcept;
float copysignf(float, float) noexcept;
float cosf(float) noexcept;
float exp2f(float) noexcept;
float expf(float) noexcept;
float expm1f(float) noexcept;
float fabsf(float) noexcept;
double floor(double) noexcept;
float floorf(float) noexcept;
float fmaf(float, float, float) noexcept;
float fmaxf(float, float) noexcept;
float fminf(float, float) noexcept;
float log1pf(float) noexcept;
float log2f(float) noexcept;
float logf(float) noexcept;
float powf(float, float) noexcept;
float sinf(float) noexcept;
float sqrtf(float) noexcept;
float tanhf(float) noexcept;
}

namespace attn_host {

/// Whoever launches says which it is. Every source that includes this has one
/// of its own, and so what uses it.
static const Machine *machine = nullptr;

[[noreturn, maybe_unused]] static void fail(const char *what) {
  machine->fail(what);
  __builtin_unreachable();
}
template <class F>
static const char *launch(i64 blocks, int threads, i64 sharedBytes,
                          unsigned seed, F kernel) {
  return machine->launch(
      blocks, threads, sharedBytes, seed,
      [](void *f) { (*static_cast<F *>(f))(); }, &kernel);
}

} // namespace attn_host

#define ATTN_FN static inline
#define ATTN_METHOD inline
#define ATTN_KERNEL(threads) static void
#define ATTN_CONSTANT static const
#define ATTN_TABLE static const
#define ATTN_SHARED(name) unsigned char *name = attn_host::machine->shared
#define ATTN_UNROLL
#define ATTN_LOOP

ATTN_FN int threadOf() { return attn_host::machine->thread; }
ATTN_FN i64 blockOf() { return attn_host::machine->block; }
ATTN_FN void barrier() { attn_host::machine->meet(false); }
ATTN_FN bool anyThread(bool x) { return attn_host::machine->meet(x); }
template <class T> ATTN_FN T shuffle(T x, int lane) {
  attn_host::machine->exchange("shuffle", &x, sizeof x, lane);
  return x;
}
template <class T> ATTN_FN T shuffleXor(T x, int mask) {
  attn_host::machine->exchange("shuffleXor", &x, sizeof x,
                               threadOf() % 32 ^ mask);
  return x;
}

ATTN_FN void copyAsync16(void *to, const void *from, bool inside) {
  attn_host::machine->copyAsync(to, from, 16, inside);
}
ATTN_FN void copyAsync4(void *to, const void *from, bool inside) {
  attn_host::machine->copyAsync(to, from, 4, inside);
}
ATTN_FN void commitCopies() { attn_host::machine->commitCopies(); }
template <int N> ATTN_FN void waitForCopies() {
  attn_host::machine->waitForCopies(N);
}
ATTN_FN void loadMatrices(u32 (&r)[4], const void *row) {
  attn_host::machine->loadMatrices(r, row, false);
}
ATTN_FN void loadTransposed(u32 (&r)[4], const void *row) {
  attn_host::machine->loadMatrices(r, row, true);
}

struct Bf16 {
  u16 bits;
  static constexpr attn_host::Element kElement = attn_host::kBf16;
};
struct F16 {
  u16 bits;
  static constexpr attn_host::Element kElement = attn_host::kF16;
};
struct Tf32 {
  u32 bits;
  static constexpr attn_host::Element kElement = attn_host::kTf32;
};

ATTN_FN u32 bitsOf(float x) {
  u32 bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
ATTN_FN float floatOf(u32 bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
ATTN_FN float toFloat(Bf16 x) { return floatOf(u32(x.bits) << 16); }
ATTN_FN float toFloat(F16 x) { return attn_host::machine->fromF16(x.bits); }
ATTN_FN float toFloat(Tf32 x) { return floatOf(x.bits); }
// To nearest, ties to even, as cvt.rn does.
ATTN_FN u32 toBits(float x, Bf16) {
  u32 bits = bitsOf(x);
  return x == x ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : 0x7fff;
}
ATTN_FN u32 toBits(float x, F16) { return attn_host::machine->toF16(x); }
template <class T> ATTN_FN u32 pack(float low, float high, T type) {
  return toBits(low, type) | toBits(high, type) << 16;
}
ATTN_FN Tf32 roundTf32(float x) {
  u32 bits = bitsOf(x);
  return {x == x ? (bits + 0xfff + (bits >> 13 & 1)) & ~u32(0x1fff)
                 : 0x7fffffff};
}

template <class T>
ATTN_FN void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, T) {
  attn_host::machine->multiply(c, a, b0, b1, T::kElement);
}

ATTN_FN float pow2(float x) { return exp2f(x); }
ATTN_FN float sinInTurn(float x) { return sinf(x); }
ATTN_FN float cosInTurn(float x) { return cosf(x); }
ATTN_FN int lowestBit(u32 x) { return __builtin_ctz(x); }
ATTN_FN float infinity() { return __builtin_inff(); }

#endif // ATTN_RUNTIME_EMULATOR_HOST_H
