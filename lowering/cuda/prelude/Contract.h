//===- Contract.h - products of tiles --------------------------*- CUDA -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//===- contractions -------------------------------------------------------===//

ATTN_FN float dotFour(const Four &a, const Four &b, float sum) {
  sum += a.x * b.x;
  sum += a.y * b.y;
  sum += a.z * b.z;
  return sum + a.w * b.w;
}

/// acc + q k^T on the multiply-adders.
template <int N, int R, int K, int C>
ATTN_FN Pairs<N> contract(Rows<R, C, float> q, Rows<K, C, float> k,
                          Pairs<N> acc) {
  const float *q0 = q.row(queryRow(0)), *q1 = q.row(queryRow(1));
  const float *keys = k.row(column(0, 0));
  constexpr int stride = Rows<K, C, float>::kStride;
  ATTN_LOOP for (int d = 0; d < C; d += 4) {
    Four a0 = *reinterpret_cast<const Four *>(q0 + d);
    Four a1 = *reinterpret_cast<const Four *>(q1 + d);
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      ATTN_UNROLL for (int e = 0; e < 2; ++e) {
        Four b =
            *reinterpret_cast<const Four *>(keys + (8 * n + e) * stride + d);
        acc.x[n][e] = dotFour(a0, b, acc.x[n][e]);
        acc.x[n][2 + e] = dotFour(a1, b, acc.x[n][2 + e]);
      }
    }
  }
  return acc;
}

/// The 16 rows of this warp as left operands of the matrix unit.
template <int S, class T> struct Operand { u32 x[S][4]; };
template <int R, int C, class T>
ATTN_FN Operand<Rows<R, C, T>::kPadded / 16, T> operand(Rows<R, C, T> q) {
  constexpr int steps = Rows<R, C, T>::kPadded / 16;
  Operand<steps, T> a;
  const T *row =
      q.row(threadOf() / 32 * 16 + laneOf() % 16) + laneOf() / 16 * 8;
  ATTN_UNROLL for (int s = 0; s < steps; ++s)
      loadMatrices(a.x[s], row + 16 * s);
  return a;
}

/// acc + q k^T on the matrix unit.
template <int N, int S, int K, int C, class T>
ATTN_FN Pairs<N> contract(const Operand<S, T> &q, Rows<K, C, T> k,
                          Pairs<N> acc) {
  const T *row = k.row(laneOf() / 16 * 8 + laneOf() % 8) + laneOf() / 8 % 2 * 8;
  constexpr int stride = Rows<K, C, T>::kStride;
  ATTN_UNROLL for (int s = 0; s < S; ++s) {
    ATTN_UNROLL for (int n = 0; n < N; n += 2) {
      u32 b[4];
      loadMatrices(b, row + 8 * n * stride + 16 * s);
      mma(acc.x[n], q.x[s], b[0], b[1], T());
      mma(acc.x[n + 1], q.x[s], b[2], b[3], T());
    }
  }
  return acc;
}

template <int N, int R, int K, int C, class T>
ATTN_FN Pairs<N> contract(Rows<R, C, T> q, Rows<K, C, T> k, Pairs<N> acc) {
  return contract(operand(q), k, acc);
}

/// As the matrix unit takes it.
template <class T> ATTN_FN u32 tf32Bits(T x) {
  if constexpr (kSame<T, float>)
    return roundTf32(x).bits;
  else
    return bitsOf(toFloat(x));
}
/// Columns 8 s to 8 s + 7 of this warp's rows as a left operand. The unit's
/// columns t and t + 4 are columns 2 t and 2 t + 1, of both operands.
template <class Q> ATTN_FN void operandOf(u32 (&a)[4], const Q &q, int s) {
  ATTN_UNROLL for (int i = 0; i < 4; ++i) a[i] =
      tf32Bits(q.element(queryRow(i % 2), column(s, i / 2)));
}

/// acc + q k^T on the matrix unit, of rows of any type.
template <int N, class Q, int K, int R, class T, class L>
ATTN_FN Pairs<N> contractTf32(const Q &q, Rows<K, R, T, L> k, Pairs<N> acc) {
  int g = laneOf() / 4;
  ATTN_LOOP for (int s = 0; s < (R + 7) / 8; ++s) { // columns past R are 0
    u32 a[4];
    operandOf(a, q, s);
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      const T *pair = k.place(8 * n + g, column(s, 0)); // in one chunk
      mma(acc.x[n], a, tf32Bits(pair[0]), tf32Bits(pair[1]), Tf32());
    }
  }
  return acc;
}

template <class T> ATTN_FN bool isFinite(T x) {
  return toFloat(x) - toFloat(x) == 0;
}

/// acc + p v on the matrix unit, p rounded to the 10 bits of tf32, which keeps
/// its exponent. The unit's keys t and t + 4 are keys 2 t and 2 t + 1.
/// `onlyFinite`: values that are not count as 0.
template <int N, int M, int K, int E, class T>
ATTN_FN Pairs<M> contractTf32(const Pairs<N> &p, Rows<K, E, T> v, Pairs<M> acc,
                              bool onlyFinite = false) {
  int g = laneOf() / 4;
  ATTN_UNROLL for (int n = 0; n < N; ++n) {
    u32 a[4] = {tf32Bits(p.x[n][0]), tf32Bits(p.x[n][2]), tf32Bits(p.x[n][1]),
                tf32Bits(p.x[n][3])};
    const T *row = v.row(column(n, 0)) + g;
    auto bits = [=](T x) {
      return onlyFinite && !isFinite(x) ? u32(0) : tf32Bits(x);
    };
    ATTN_UNROLL for (int m = 0; m < M; ++m)
        mma(acc.x[m], a, bits(row[8 * m]),
            bits(row[8 * m + Rows<K, E, T>::kStride]), Tf32());
  }
  return acc;
}
/// So are 16-bit values, where p is more than they hold.
template <int N, int M, int K, int E, class T>
ATTN_FN Pairs<M> contract(const Pairs<N> &p, Rows<K, E, T> v, Pairs<M> acc) {
  return contractTf32(p, v, acc);
}

/// acc + p v on the multiply-adders.
template <int N, int M, int K, int E>
ATTN_FN Pairs<M> contract(const Pairs<N> &p, Rows<K, E, float> v,
                          Pairs<M> acc) {
  const float *rows = v.row(0) + column(0, 0);
  ATTN_UNROLL for (int n = 0; n < N; ++n) {
    ATTN_LOOP for (int t = 0; t < 4; ++t) {
      int owner = laneOf() / 4 * 4 + t;
      ATTN_UNROLL for (int e = 0; e < 2; ++e) {
        float p0 = shuffle(p.x[n][e], owner),
              p1 = shuffle(p.x[n][2 + e], owner);
        const float *row =
            rows + (8 * n + 2 * t + e) * Rows<K, E, float>::kStride;
        ATTN_UNROLL for (int m = 0; m < M; ++m) {
          float v0 = row[8 * m], v1 = row[8 * m + 1];
          acc.x[m][0] += p0 * v0;
          acc.x[m][1] += p0 * v1;
          acc.x[m][2] += p1 * v0;
          acc.x[m][3] += p1 * v1;
        }
      }
    }
  }
  return acc;
}

/// Whether some value is no finite number; the same answer for all threads.
template <int K, int E, class T, class L>
ATTN_FN bool anyOdd(Rows<K, E, T, L> v) {
  bool odd = false;
  ATTN_LOOP for (int i = threadOf(); i < K * E; i += kThreads) odd |=
      !isFinite(v.element(i / E, i % E));
  return anyThread(odd);
}

/// Adds p v of the pairs that are kept, and of the values that are odd, if
/// `onlyOdd`. Seldom run: little code, a key at a time.
template <int N, int M, int K, int E, class T, class L, class Keep>
ATTN_FN Pairs<M> addKept(const Pairs<N> &p, Rows<K, E, T, L> v, Pairs<M> acc,
                         const Keep &keep, bool onlyOdd) {
  static_assert(4 * N <= 32, "a bit a pair of this thread");
  u32 bits = 0;
  ATTN_UNROLL for (int n = 0; n < N; ++n) {
    ATTN_UNROLL for (int e = 0; e < 4; ++e) bits |= u32(get(keep, n, e) != 0)
                                                    << (4 * n + e);
  }
  ATTN_LOOP for (int key = 0; key < 8 * N; ++key) {
    float p0 = 0, p1 = 0;
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      ATTN_UNROLL for (int e = 0; e < 2; ++e) {
        bool here = key / 8 == n && key % 2 == e;
        p0 = here ? p.x[n][e] : p0;
        p1 = here ? p.x[n][2 + e] : p1;
      }
    }
    int owner = laneOf() / 4 * 4 + key % 8 / 2, bit = key / 8 * 4 + key % 2;
    p0 = shuffle(p0, owner);
    p1 = shuffle(p1, owner);
    u32 kept = shuffle(bits, owner) >> bit;
    ATTN_UNROLL for (int m = 0; m < M; ++m) {
      ATTN_UNROLL for (int c = 0; c < 2; ++c) {
        T x = v.element(key, column(m, c));
        bool use = !onlyOdd || !isFinite(x);
        if (use && kept & 1)
          acc.x[m][c] += p0 * toFloat(x);
        if (use && kept & 4)
          acc.x[m][2 + c] += p1 * toFloat(x);
      }
    }
  }
  return acc;
}

/// acc + p v. S2: where `edge`, a pair that is not kept adds nothing, whatever
/// v holds: 0 * NaN is NaN.
template <int N, int M, int K, int E, class T, class Keep>
ATTN_FN Pairs<M> contractTf32(const Pairs<N> &p, Rows<K, E, T> v, Pairs<M> acc,
                              bool edge, const Keep &keep) {
  if (edge && anyOdd(v)) { // rows that do not see it keep every bit (S9)
    acc = addKept(p, v, acc, keep, true);
    return contractTf32(p, v, acc, true);
  }
  return contractTf32(p, v, acc);
}

/// The same on the multiply-adders, whose order addKept keeps.
template <int N, int M, int K, int E, class T, class Keep>
ATTN_FN Pairs<M> contract(const Pairs<N> &p, Rows<K, E, T> v, Pairs<M> acc,
                          bool edge, const Keep &keep) {
  if constexpr (!kSame<T, float>)
    return contractTf32(p, v, acc, edge, keep);
  if (edge && anyOdd(v))
    return addKept(p, v, acc, keep, false);
  return contract(p, v, acc);
}

/// acc + p v on the matrix unit, p rounded to v's type.
template <int N, int M, int K, int E, class T>
ATTN_FN Pairs<M> contractRounded(const Pairs<N> &p, Rows<K, E, T> v,
                                 Pairs<M> acc) {
  const T *row = v.row(laneOf() % 16) + laneOf() / 16 * 8;
  constexpr int stride = Rows<K, E, T>::kStride;
  ATTN_UNROLL for (int s = 0; s < N / 2; ++s) {
    const float(&x)[4] = p.x[2 * s], (&y)[4] = p.x[2 * s + 1];
    u32 a[4] = {pack(x[0], x[1], T()), pack(x[2], x[3], T()),
                pack(y[0], y[1], T()), pack(y[2], y[3], T())};
    ATTN_UNROLL for (int m = 0; m < M; m += 2) {
      u32 b[4];
      loadTransposed(b, row + 16 * s * stride + 8 * m);
      mma(acc.x[m], a, b[0], b[1], T());
      mma(acc.x[m + 1], a, b[2], b[3], T());
    }
  }
  return acc;
}

/// The same under S2. An odd value is added to the rows that see it, and then
/// becomes 0: rows that do not see it keep every bit (S9).
template <int N, int M, int K, int E, class T, class L, class Keep>
ATTN_FN Pairs<M> contractRounded(const Pairs<N> &p, Rows<K, E, T, L> v,
                                 Pairs<M> acc, bool edge, const Keep &keep) {
  if (edge && anyOdd(v)) {
    acc = addKept(p, v, acc, keep, true);
    barrier();
    ATTN_LOOP for (int i = threadOf(); i < K * E; i += kThreads) {
      if (!isFinite(v.element(i / E, i % E)))
        v.put(i / E, i % E, 0);
    }
    L::publish();
  }
  return contractRounded(p, v, acc);
}

//===- distances ----------------------------------------------------------===//

template <int R, int C, class T, class L>
ATTN_FN float rowNorm(Rows<R, C, T, L> x, int row) {
  float sum = 0;
  for (int c = 0; c < C; ++c)
    sum += x.at(row, c) * x.at(row, c);
  return sum;
}
template <int R, int C, class T, class L>
ATTN_FN PerQuery<float> queryNorms(Rows<R, C, T, L> q) {
  return {{rowNorm(q, queryRow(0)), rowNorm(q, queryRow(1))}};
}
/// A thread a key; they are there for all threads after its barrier.
template <int R, int C, class T, class L>
ATTN_FN SharedPerKey keyNorms(Rows<R, C, T, L> k, float *norms) {
  for (int r = threadOf(); r < R; r += kThreads)
    norms[r] = rowNorm(k, r);
  barrier();
  return {norms};
}
/// S5: |q|^2 + |k|^2 - 2 q.k, and the sum of squared differences where that has
/// lost its digits, pair by pair.
template <int N, int R, int K, int C, class T, class L, class U, class M,
          class Norms>
ATTN_FN Pairs<N> sqdist(const Pairs<N> &dot, PerQuery<float> queryNorm,
                        const Norms &keyNorm, float addend, Rows<R, C, T, L> q,
                        Rows<K, C, U, M> k) {
  static_assert(4 * N <= 32, "a bit a pair of this thread");
  Pairs<N> out;
  u32 near = 0;
  ATTN_UNROLL for (int n = 0; n < N; ++n) {
    ATTN_UNROLL for (int e = 0; e < 4; ++e) {
      float norms = queryNorm.x[e / 2] + get(keyNorm, n, e);
      out.x[n][e] = norms - 2 * dot.x[n][e];
      near |= u32(out.x[n][e] + addend <= norms * 0.0625f) << (4 * n + e);
    }
  }
  ATTN_LOOP for (; near; near &= near - 1) { // the lowest bit first
    int pair = lowestBit(near);
    int query = queryRow(pair / 2 % 2), key = column(pair / 4, pair);
    float sum = 0;
    ATTN_LOOP for (int c = 0; c < C; ++c) {
      float difference = q.at(query, c) - k.at(key, c);
      sum += difference * difference;
    }
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      ATTN_UNROLL for (int e = 0; e < 4; ++e) out.x[n][e] =
          pair == 4 * n + e ? sum : out.x[n][e];
    }
  }
  return out;
}
