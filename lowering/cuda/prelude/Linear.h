//===- Linear.h - features and sums of them --------------------*- CUDA -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//===- features and states ------------------------------------------------===//
// The state S(e, r) = sum phi(k) v^T lies in shared memory and is added to in
// place, whatever the type of the rows in f32. Rows of 16 bits go through the
// matrix unit with the 10 bits of tf32: features of any size keep their
// exponents, and values of 16 bits all their digits.

/// (e, r), in shared memory. Rows begin 8 banks apart.
template <int E, int R> struct State {
  static_assert(R % 16 == 0, "whole fragments");
  static constexpr int kRows = (E + 15) / 16 * 16, kStride = R + 8;
  float *data;
  ATTN_METHOD float *row(int e) const { return data + e * kStride; }
};
/// (r): feature threadOf() + n kThreads in x[n].
template <int R> struct Features {
  static constexpr int kEach = (R + kThreads - 1) / kThreads;
  float x[kEach];
};
template <int R> ATTN_FN float get(const Features<R> &x, int n, int) {
  return x.x[n];
}
template <int R> struct Over<Features<R>> {
  template <class F, class... In>
  ATTN_METHOD static Features<R> map(F f, const In &...in) {
    Features<R> out;
    ATTN_UNROLL for (int n = 0; n < Features<R>::kEach; ++n) out.x[n] =
        f(get(in, n, 0)...);
    return out;
  }
};

template <int E, int R> ATTN_FN void fill(State<E, R> s, float x) {
  ATTN_LOOP for (int i = threadOf(); i < State<E, R>::kRows * R; i += kThreads)
      s.row(i / R)[i % R] = x;
}
/// Begins to copy rows [first, limit) of memory, at most E; the rest is zero.
template <int E, int R>
ATTN_FN void stage(State<E, R> to, const float *from, i64 stride, i64 first,
                   i64 limit) {
  // A caller's state stands where it likes.
  bool aligned =
      (reinterpret_cast<u64>(from) | stride * sizeof(float)) % 16 == 0;
  ATTN_LOOP for (int i = 4 * threadOf(); i < State<E, R>::kRows * R;
                 i += 4 * kThreads) {
    int e = i / R, r = i % R;
    bool inside = e < E && first + e < limit;
    const float *source = from + (inside ? (first + e) * stride + r : 0);
    if (aligned)
      copyAsync16(to.row(e) + r, source, inside);
    else
      for (int n = 0; n < 4; ++n)
        copyAsync4(to.row(e) + r + n, source + (inside ? n : 0), inside);
  }
  commitCopies();
}
template <int E, int R>
ATTN_FN void storeState(State<E, R> from, float *to, i64 stride, i64 first,
                        i64 limit) {
  ATTN_LOOP for (int i = threadOf(); i < E * R; i += kThreads) {
    if (first + i / R < limit)
      to[(first + i / R) * stride + i % R] = from.row(i / R)[i % R];
  }
}
template <int R> ATTN_FN Features<R> loadFeatures(const float *from) {
  Features<R> out;
  ATTN_UNROLL for (int n = 0; n < Features<R>::kEach; ++n) {
    int r = threadOf() + n * kThreads;
    out.x[n] = r < R ? from[r] : 0.f;
  }
  return out;
}
template <int R> ATTN_FN void storeFeatures(const Features<R> &x, float *to) {
  ATTN_UNROLL for (int n = 0; n < Features<R>::kEach; ++n) {
    int r = threadOf() + n * kThreads;
    if (r < R)
      to[r] = x.x[n];
  }
}

/// One of them, by the thread that stores it above.
ATTN_FN void storeFeature(float x, float *to, int r) {
  if (threadOf() == r % kThreads)
    to[r] = x;
}

//===- features, element by element ---------------------------------------===//

/// (k): a function of the key, evaluated where it is read.
template <class F> struct ByKey { F at; };
template <class F> ATTN_FN auto get(const ByKey<F> &x, int n, int e) {
  return x.at(column(n, e));
}
// What a tile holds for element (r, c) of the rows of a tile of keys.
template <int R, int C, class T, class L>
ATTN_FN float ofRow(const Rows<R, C, T, L> &x, int r, int c) {
  return x.at(r, c);
}
ATTN_FN int ofRow(const KeyPositions &x, int r, int) { return x.origin + r; }
ATTN_FN float ofRow(const SharedPerKey &x, int r, int) { return x.data[r]; }
template <class F> ATTN_FN auto ofRow(const ByKey<F> &x, int r, int) {
  return x.at(r);
}
template <class F, class... In> ATTN_FN auto byKey(F f, const In &...in) {
  auto at = [=](int key) { return f(ofRow(in, key, 0)...); };
  return ByKey<decltype(at)>{at};
}
/// The same for K keys, kept; there for all threads after its barrier.
template <int K, class F, class... In>
ATTN_FN SharedPerKey keptByKey(float *kept, F f, const In &...in) {
  for (int key = threadOf(); key < K; key += kThreads)
    kept[key] = f(ofRow(in, key, 0)...);
  barrier();
  return {kept};
}
/// f in every element of rows.
template <int R, int C, class T, class L, class F, class... In>
ATTN_FN void mapRows(Rows<R, C, T, L> to, F f, const In &...in) {
  static_assert(C % 16 == 0, "columns past C are zero, and f(0) need not be");
  ATTN_LOOP for (int i = threadOf(); i < R * C; i += kThreads)
      to.put(i / C, i % C, f(ofRow(in, i / C, i % C)...));
}
/// `fill` in the rows that are not kept, on tiles that are an edge.
template <int R, int C, class T, class L, class Keep>
ATTN_FN void maskRows(Rows<R, C, T, L> x, bool edge, const Keep &keep,
                      float fill) {
  if (edge) {
    ATTN_LOOP for (int i = threadOf(); i < R * C;
                   i += kThreads) if (!ofRow(keep, i / C, 0))
        x.put(i / C, i % C, fill);
  }
}
/// Rows whose elements are computed where they are read.
template <class X, class F> struct Mapped {
  using Element = Tf32;
  static_assert(X::kColumns % 16 == 0, "whole fragments");
  X rows;
  F f;
  ATTN_METHOD Tf32 element(int r, int c) const {
    return roundTf32(f(rows.at(r, c)));
  }
  ATTN_METHOD float at(int r, int c) const { return toFloat(element(r, c)); }
};
template <class F, class X> ATTN_FN Mapped<X, F> mapped(F f, X rows) {
  return {rows, f};
}

//===- products with features ---------------------------------------------===//

/// acc + q S^T.
template <int M, class Q, int E, int R>
ATTN_FN Pairs<M> contract(const Q &q, State<E, R> s, Pairs<M> acc) {
  if constexpr (kSame<typename Q::Element, float>) {
    ATTN_LOOP for (int r = 0; r < R; r += 4) {
      Four a0 = *reinterpret_cast<const Four *>(q.row(queryRow(0)) + r);
      Four a1 = *reinterpret_cast<const Four *>(q.row(queryRow(1)) + r);
      ATTN_UNROLL for (int m = 0; m < M; ++m) {
        ATTN_UNROLL for (int e = 0; e < 2; ++e) {
          Four b = *reinterpret_cast<const Four *>(s.row(column(m, e)) + r);
          acc.x[m][e] = dotFour(a0, b, acc.x[m][e]);
          acc.x[m][2 + e] = dotFour(a1, b, acc.x[m][2 + e]);
        }
      }
    }
  } else {
    int g = laneOf() / 4;
    ATTN_LOOP for (int step = 0; step < R / 8; ++step) {
      u32 a[4];
      operandOf(a, q, step);
      ATTN_UNROLL for (int m = 0; m < M; ++m) {
        const float *row = s.row(8 * m + g) + column(step, 0);
        mma(acc.x[m], a, tf32Bits(row[0]), tf32Bits(row[1]), Tf32());
      }
    }
  }
  return acc;
}
/// acc + q z. What z holds is there for all threads after its barrier.
template <class Q, int R>
ATTN_FN PerQuery<float> contract(const Q &q, const Features<R> &z, float *kept,
                                 PerQuery<float> acc) {
  storeFeatures(z, kept);
  barrier();
  ATTN_UNROLL for (int half = 0; half < 2; ++half) {
    float sum = 0;
    ATTN_LOOP for (int s = 0; s < R / 8; ++s) {
      ATTN_UNROLL for (int e = 0; e < 2; ++e) {
        int c = column(s, e);
        sum += q.at(queryRow(half), c) * kept[c];
      }
    }
    sum += shuffleXor(sum, 1);
    acc.x[half] += sum + shuffleXor(sum, 2);
  }
  return acc;
}
/// z + the sum of the rows.
template <int K, int R, class T, class L>
ATTN_FN Features<R> sumRows(Rows<K, R, T, L> f, Features<R> z) {
  ATTN_UNROLL for (int n = 0; n < Features<R>::kEach; ++n) {
    int r = threadOf() + n * kThreads;
    float sum = 0;
    if (r < R) {
      ATTN_LOOP for (int key = 0; key < K; ++key) sum += f.at(key, r);
    }
    z.x[n] += sum;
  }
  return z;
}

/// S = before(S) + v^T f, in place: 16 values by 32 or 16 features a warp at a
/// time.
template <int E, int R, int K, class T, class A, class V, class B, class F>
ATTN_FN void absorb(State<E, R> s, Rows<K, R, T, A> f, Rows<K, E, V, B> v,
                    F before) {
  constexpr int N = R % 32 ? 2 : 4, across = R / (8 * N),
                units = State<E, R>::kRows / 16 * across;
  int g = laneOf() / 4, t = laneOf() % 4;
  ATTN_LOOP for (int unit = threadOf() / 32; unit < units;
                 unit += kThreads / 32) {
    int e0 = unit / across * 16 + g, r0 = unit % across * 8 * N;
    float x[N][4];
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      ATTN_UNROLL for (int i = 0; i < 4; ++i) x[n][i] =
          before(s.row(e0 + i / 2 * 8)[r0 + column(n, i)]);
    }
    if constexpr (kSame<T, float>) {
      ATTN_LOOP for (int key = 0; key < K; ++key) {
        float v0 = v.at(key, e0), v1 = v.at(key, e0 + 8);
        ATTN_UNROLL for (int n = 0; n < N; ++n) {
          ATTN_UNROLL for (int e = 0; e < 2; ++e) {
            float y = f.at(key, r0 + column(n, e));
            x[n][e] += v0 * y;
            x[n][2 + e] += v1 * y;
          }
        }
      }
    } else {
      ATTN_LOOP for (int key = t; key < K; key += 8) {
        u32 a[4];
        ATTN_UNROLL for (int i = 0; i < 4; ++i) a[i] =
            tf32Bits(v.element(key + i / 2 * 4, e0 + i % 2 * 8));
        ATTN_UNROLL for (int n = 0; n < N; ++n)
            mma(x[n], a, tf32Bits(f.element(key, r0 + 8 * n + g)),
                tf32Bits(f.element(key + 4, r0 + 8 * n + g)), Tf32());
      }
    }
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      ATTN_UNROLL for (int i = 0; i < 4; ++i)
          s.row(e0 + i / 2 * 8)[r0 + column(n, i)] = x[n][i];
    }
  }
}
template <int E, int R, int K, class T, class A, class V, class B>
ATTN_FN void absorb(State<E, R> s, Rows<K, R, T, A> f, Rows<K, E, V, B> v) {
  absorb(s, f, v, [](float x) { return x; });
}
