//===- Device.h - the machine, on an NVIDIA GPU ----------------*- CUDA -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that a kernel asks of the machine, and, with Wgmma.h where that is, the
// only inline PTX. The host's body of the same functions is
// runtime/emulator/Host.h.
//
//===----------------------------------------------------------------------===//

typedef unsigned u32;
typedef unsigned short u16;
typedef long long i64;
typedef unsigned long long u64;

#define ATTN_FN static __device__ __forceinline__
#define ATTN_METHOD __device__ __forceinline__
#define ATTN_KERNEL(threads)                                                   \
  extern "C" __global__ void __launch_bounds__(threads, 1)
#define ATTN_CONSTANT static __constant__
#define ATTN_TABLE static __device__ const
#define ATTN_SHARED(name) extern __shared__ __align__(128) unsigned char name[]
#define ATTN_UNROLL _Pragma("unroll")
#define ATTN_LOOP _Pragma("unroll 1")

ATTN_FN int threadOf() { return threadIdx.x; }
ATTN_FN i64 blockOf() { return blockIdx.x; }
ATTN_FN void barrier() { __syncthreads(); }
ATTN_FN bool anyThread(bool x) { return __syncthreads_or(x); }
template <class T> ATTN_FN T shuffle(T x, int lane) {
  return __shfl_sync(0xffffffffu, x, lane);
}
template <class T> ATTN_FN T shuffleXor(T x, int mask) {
  return __shfl_xor_sync(0xffffffffu, x, mask);
}

// Copies to shared memory that are waited for; outside, zeros.
ATTN_FN u32 sharedAddress(const void *p) {
  return static_cast<u32>(__cvta_generic_to_shared(p));
}
ATTN_FN void copyAsync16(void *to, const void *from, bool inside) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(sharedAddress(to)),
      "l"(from), "r"(inside ? 16 : 0)
      : "memory");
}
ATTN_FN void copyAsync4(void *to, const void *from, bool inside) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(sharedAddress(to)),
      "l"(from), "r"(inside ? 4 : 0)
      : "memory");
}
ATTN_FN void commitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N> ATTN_FN void waitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

// 8 x 8 matrices of 16-bit elements from shared memory; a row an address.
ATTN_FN void loadMatrices(u32 (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row))
               : "memory");
}
ATTN_FN void loadTransposed(u32 (&r)[4], const void *row) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(sharedAddress(row))
      : "memory");
}

struct Bf16 {
  u16 bits;
};
struct F16 {
  u16 bits;
};
/// A float with 10 bits after the point, as the matrix unit takes it.
struct Tf32 {
  u32 bits;
};

// c (16 x 8) += a (16 x 16) b (16 x 8), over a warp.
#define ATTN_MMA(TYPE)                                                         \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE          \
               ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"    \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
ATTN_FN void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, Bf16) {
  ATTN_MMA("bf16");
}
ATTN_FN void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, F16) {
  ATTN_MMA("f16");
}
#undef ATTN_MMA
// c (16 x 8) += a (16 x 8) b (8 x 8), over a warp.
ATTN_FN void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1, Tf32) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Conversions, to nearest; two at a time, the first in the low half.
ATTN_FN u32 pack(float low, float high, Bf16) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
ATTN_FN u32 pack(float low, float high, F16) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
ATTN_FN float toFloat(Bf16 x) {
  return __uint_as_float(static_cast<u32>(x.bits) << 16);
}
ATTN_FN float toFloat(F16 x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return r;
}

ATTN_FN float toFloat(Tf32 x) { return __uint_as_float(x.bits); }
// To nearest, ties to even: a bias would add up in sums.
ATTN_FN Tf32 roundTf32(float x) {
  Tf32 r;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(r.bits) : "f"(x));
#else // which has ties away from zero alone
  u32 bits = __float_as_uint(x);
  r.bits =
      x == x ? (bits + 0xfff + (bits >> 13 & 1)) & ~u32(0x1fff) : 0x7fffffff;
#endif
  return r;
}
ATTN_FN u32 bitsOf(float x) { return __float_as_uint(x); }
ATTN_FN float floatOf(u32 bits) { return __uint_as_float(bits); }

// 2^x, to 2 ulp; what is below 2^-126 is 0.
ATTN_FN float pow2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// Of angles in [-pi, pi], to 2^-21 absolute.
ATTN_FN float sinInTurn(float x) {
  float r;
  asm("sin.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
ATTN_FN float cosInTurn(float x) {
  float r;
  asm("cos.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
ATTN_FN int lowestBit(u32 x) { return __ffs(x) - 1; }
ATTN_FN float infinity() { return __int_as_float(0x7f800000); }
