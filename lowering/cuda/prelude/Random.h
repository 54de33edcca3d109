//===- Random.h - products with random rows --------------------*- CUDA -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//===- random features ----------------------------------------------------===//
// M features u_r = w_r . x of every row x; w_r is a column of `table`. All
// threads together; the features are there after the next barrier.

/// put(row, r, u_r, |x|^2 / 2).
template <int M, int K, class X, class F>
ATTN_FN void forProducts(X x, const float *table, F put) {
  constexpr int each = 4; // rows to a number from the table
  static_assert(K % each == 0, "tiles of whole warps");
  ATTN_LOOP for (int i = threadOf(); i < K / each * M; i += kThreads) {
    int r = i % M, row = i / M * each;
    float u[each] = {}, half[each] = {};
    ATTN_LOOP for (int d = 0; d < X::kColumns; ++d) {
      float w = table[d * M + r];
      ATTN_UNROLL for (int n = 0; n < each; ++n) {
        float y = x.at(row + n, d);
        u[n] += w * y;
        half[n] += 0.5f * y * y;
      }
    }
    ATTN_UNROLL for (int n = 0; n < each; ++n) put(row + n, r, u[n], half[n]);
  }
}

/// exp(u - |x|^2 / 2), cut where a sum of many could leave the range.
template <int M, bool Hyperbolic, int K, int N, class T, class X>
ATTN_FN void positiveFeatures(Rows<K, N, T> to, X x, const float *table,
                              float largest) {
  forProducts<M, K>(x, table, [=](int row, int r, float u, float half) {
    to.put(row, r, expf(minimum(u - half, largest)));
    if (Hyperbolic)
      to.put(row, M + r, expf(minimum(-u - half, largest)));
  });
}
/// exp(u - max u): first the exponents themselves, none of their bits lost.
template <int M, bool Hyperbolic, int K, int N, class T, class X>
ATTN_FN void stabilisedFeatures(Rows<K, N, T> to, X x, const float *table) {
  static_assert(sizeof(T) == sizeof(float), "room for exponents");
  forProducts<M, K>(x, table, [=](int row, int r, float u, float) {
    reinterpret_cast<float *>(to.row(row))[r] = u;
  });
  barrier();
  for (int row = threadOf(); row < K; row += kThreads) {
    const float *u = reinterpret_cast<const float *>(to.row(row));
    float most = -infinity();
    ATTN_LOOP for (int r = 0; r < M; ++r) most =
        maximum(most, Hyperbolic ? fabsf(u[r]) : u[r]);
    ATTN_LOOP for (int r = 0; r < M; ++r) {
      float exponent = u[r];
      to.put(row, r, expf(exponent - most));
      if (Hyperbolic)
        to.put(row, M + r, expf(-exponent - most));
    }
  }
}
template <int M, int K, int N, class T, class X>
ATTN_FN void trigonometricFeatures(Rows<K, N, T> to, X x, const float *table) {
  forProducts<M, K>(x, table, [=](int row, int r, float u, float) {
    to.put(row, r, cosf(u));
    to.put(row, M + r, sinf(u));
  });
}
template <int M, int K, int N, class T, class X>
ATTN_FN void anchorFeatures(Rows<K, N, T> to, X x, const float *table) {
  forProducts<M, K>(
      x, table, [=](int row, int r, float u, float) { to.put(row, r, u * u); });
}
