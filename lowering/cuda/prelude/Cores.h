//===- Cores.h - products of a group of four warps -------------*- CUDA -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the matrix unit reads shared memory on its own (wgmma), 64 queries at a
// time: the accumulators of warp w are rows 16 w to 16 w + 15, laid out as
// those of the products of one warp, so that nothing else changes.
//
//===----------------------------------------------------------------------===//

/// Core matrices, eight rows of 16 bytes one after the other: first those of
/// the first 16 bytes of all rows. PTX ISA, "Shared Memory Matrix Layout", no
/// swizzling: the layout is canonical both where sums run over columns
/// (K-major) and where they run over rows (MN-major).
struct Cores {
  static constexpr int kBytes = 128;
  template <int R, int P, int Chunk>
  ATTN_METHOD static int place(int r, int c) {
    u32 column = c;
    return column / Chunk * (R * Chunk) + r * Chunk + column % Chunk;
  }
  // Eight threads copy a core: their chunks lie in different banks.
  template <int P, int Chunk> ATTN_METHOD static int rowOf(int i) {
    return i / (8 * (P / Chunk)) * 8 + i % 8;
  }
  template <int P, int Chunk> ATTN_METHOD static int columnOf(int i) {
    return i / 8 % (P / Chunk) * Chunk;
  }
  /// What threads have written is there for all, and for the matrix unit.
  ATTN_METHOD static void publish() {
    showMatrixUnit();
    barrier();
  }
};

/// A matrix in shared memory, as the unit is told of it: from where on, and how
/// many bytes lie between cores that follow one another along the axis summed
/// over and along the other one. PTX ISA, "Matrix Descriptor Format".
ATTN_FN u64 descriptor(const void *from, u32 summed, u32 other) {
  auto field = [](u32 bytes) { return u64(bytes >> 4 & 0x3fff); };
  return field(sharedAddress(from)) | field(summed) << 16 | field(other) << 32;
}
/// Rows [r, ...) of x; sums run over columns.
template <int R, int C, class T>
ATTN_FN u64 byColumns(Rows<R, C, T, Cores> x, int r) {
  return descriptor(x.place(r, 0), R * 16, Cores::kBytes);
}
/// Sums run over rows.
template <int R, int C, class T> ATTN_FN u64 byRows(Rows<R, C, T, Cores> x) {
  return descriptor(x.data, Cores::kBytes, R * 16);
}

template <int M> ATTN_FN void settle(Pairs<M> &x) {
  ATTN_UNROLL for (int m = 0; m < M; ++m) {
    ATTN_UNROLL for (int e = 0; e < 4; ++e) settle(x.x[m][e]);
  }
}
/// The sums are there.
template <int M> ATTN_FN void finishProducts(Pairs<M> &acc) {
  commitProducts();
  waitForProducts<0>();
  settle(acc);
}

/// acc + q k^T on the matrix unit.
template <int N, int R, int K, int C, class T>
ATTN_FN Pairs<N> contract(Rows<R, C, T, Cores> q, Rows<K, C, T, Cores> k,
                          Pairs<N> acc) {
  constexpr int steps = Rows<K, C, T, Cores>::kPadded / 16;
  u64 a = byColumns(q, R == 64 ? 0 : threadOf() / 128 * 64),
      b = byColumns(k, 0);
  settle(acc);
  beginProducts();
  // 16 columns on are two cores on, in units of 16 bytes.
  ATTN_UNROLL for (int s = 0; s < steps; ++s)
      wgmma(acc.x, a + 2 * R * s, b + 2 * K * s, T());
  finishProducts(acc);
  return acc;
}

/// acc + p v on the matrix unit, p rounded to v's type.
template <int N, int M, int K, int E, class T>
ATTN_FN Pairs<M> contractRounded(const Pairs<N> &p, Rows<K, E, T, Cores> v,
                                 Pairs<M> acc) {
  u32 a[N / 2][4];
  ATTN_UNROLL for (int s = 0; s < N / 2; ++s) {
    ATTN_UNROLL for (int i = 0; i < 4; ++i) {
      const float(&x)[4] = p.x[2 * s + i / 2];
      a[s][i] = pack(x[i % 2 * 2], x[i % 2 * 2 + 1], T());
      settle(a[s][i]);
    }
  }
  u64 b = byRows(v);
  settle(acc);
  beginProducts();
  // 16 rows on are two cores on.
  ATTN_UNROLL for (int s = 0; s < N / 2; ++s)
      wgmma(acc.x, a[s], b + 2 * Cores::kBytes / 16 * s, T());
  finishProducts(acc);
  return acc;
}
