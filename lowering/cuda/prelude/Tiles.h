//===- Tiles.h - tiles over a block of threads -----------------*- CUDA -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp owns 16 queries. In a tile of pairs a thread holds, of every 8
// columns, columns 2t and 2t + 1 of rows g and g + 8, where g = lane / 4 and
// t = lane % 4: what the matrix unit accumulates. The same for f32, so that
// only the contractions know which unit computes them.
//
//===----------------------------------------------------------------------===//

/// Floats that lie together in memory.
struct alignas(16) Four {
  float x, y, z, w;
};
struct alignas(8) Two {
  float x, y;
};

/// (q, k) or (q, e): x[n][0..1] in row g, x[n][2..3] in row g + 8.
template <int N> struct Pairs { float x[N][4]; };
/// (q): one value for row g, one for row g + 8.
template <class T> struct PerQuery { T x[2]; };
/// (k): the values of this thread's columns.
template <int N, class T> struct PerKey { T x[N][2]; };
/// (k): all values, in shared memory.
struct SharedPerKey {
  const float *data;
};
/// (q), (k): origin + index.
struct QueryPositions {
  int origin;
};
struct KeyPositions {
  int origin;
};
/// Pairs that are computed where they are needed.
template <class F> struct Lazy { F at; };

ATTN_FN int laneOf() { return threadOf() % 32; }
ATTN_FN int queryRow(int half) {
  return threadOf() / 32 * 16 + laneOf() / 4 + 8 * half;
}
ATTN_FN int column(int n, int e) { return 8 * n + 2 * (laneOf() % 4) + e % 2; }

template <class A, class B> constexpr bool kSame = false;
template <class A> constexpr bool kSame<A, A> = true;

ATTN_FN float toFloat(float x) { return x; }
template <class T> ATTN_FN T fromFloat(float x) {
  if constexpr (kSame<T, float>)
    return x;
  else if constexpr (kSame<T, Tf32>)
    return roundTf32(x);
  else
    return T{static_cast<u16>(pack(x, 0, T()))};
}

//===- rows in shared memory ----------------------------------------------===//

/// How R rows of P elements, whole chunks of 16 bytes, lie there: one after the
/// other, at odd multiples of 16 bytes, so that eight of them begin in
/// different banks.
struct Apart {
  template <int R, int P, int Chunk>
  ATTN_METHOD static int place(int r, int c) {
    return r * (P + Chunk) + c;
  }
  /// The i-th chunk that a block copies.
  template <int P, int Chunk> ATTN_METHOD static int rowOf(int i) {
    return i / (P / Chunk);
  }
  template <int P, int Chunk> ATTN_METHOD static int columnOf(int i) {
    return i % (P / Chunk) * Chunk;
  }
  /// What threads have written is there for all that read it.
  ATTN_METHOD static void publish() { barrier(); }
};

/// R rows of C elements; columns past C are zero.
template <int R, int C, class T, class L = Apart> struct Rows {
  using Element = T;
  static constexpr int kRows = R, kColumns = C, kChunk = 16 / sizeof(T);
  static constexpr int kPadded = (C + 15) / 16 * 16, kStride = kPadded + kChunk;
  T *data;
  ATTN_METHOD T *place(int r, int c) const {
    return data + L::template place<R, kPadded, kChunk>(r, c);
  }
  ATTN_METHOD T *row(int r) const {
    static_assert(kSame<L, Apart>, "rows that lie together");
    return data + r * kStride;
  }
  ATTN_METHOD T element(int r, int c) const { return *place(r, c); }
  ATTN_METHOD float at(int r, int c) const { return toFloat(*place(r, c)); }
  ATTN_METHOD void put(int r, int c, float x) const {
    *place(r, c) = fromFloat<T>(x);
  }
  /// f(c) in every column of a row.
  template <class F> ATTN_METHOD void fill(int r, F f) const {
    ATTN_LOOP for (int c = 0; c < C; ++c) put(r, c, f(c));
    for (int c = C; c < kPadded; ++c)
      put(r, c, 0);
  }
};
/// Rows at an offset of the block's shared memory.
template <class R> ATTN_FN R rowsAt(unsigned char *shared, int offset) {
  R rows;
  rows.data = reinterpret_cast<decltype(rows.data)>(shared + offset);
  return rows;
}

/// Begins to copy rows [first, first + R) of memory; those at or past `limit`
/// are zero. Ends with a commit: they are there after a wait and a barrier.
template <int R, int C, class T, class L, class S>
ATTN_FN void stage(Rows<R, C, T, L> to, const S *from, i64 stride, i64 first,
                   i64 limit) {
  using Layout = Rows<R, C, T, L>;
  constexpr int chunk = Layout::kChunk, padded = Layout::kPadded;
  constexpr bool same = kSame<S, T>;
  bool aligned = same && C % chunk == 0 &&
                 (reinterpret_cast<u64>(from) | stride * sizeof(S)) % 16 == 0;
  if (aligned) {
    ATTN_UNROLL for (int i = threadOf(); i < R * (padded / chunk);
                     i += kThreads) {
      int r = L::template rowOf<padded, chunk>(i),
          c = L::template columnOf<padded, chunk>(i);
      bool inside = first + r < limit && c < C;
      copyAsync16(to.place(r, c),
                  from + (inside ? (first + r) * stride + c : 0), inside);
    }
  } else {
    ATTN_LOOP for (int i = threadOf(); i < R * padded; i += kThreads) {
      int r = i / padded, c = i % padded;
      bool inside = first + r < limit && c < C;
      const S *source = from + (inside ? (first + r) * stride + c : 0);
      if (same && sizeof(T) == 4)
        copyAsync4(to.place(r, c), source, inside);
      else
        to.put(r, c, inside ? toFloat(*source) : 0.f);
    }
  }
  commitCopies();
}

/// The copies are there, all but the last `pending` commits, for all threads.
template <int Pending, class L = Apart> ATTN_FN void arrive() {
  waitForCopies<Pending>();
  L::publish();
}

/// Writes rows of shared memory; those at or past `limit` are not.
template <int R, int C, class T, class L, class S>
ATTN_FN void storeRows(Rows<R, C, T, L> from, S *to, i64 stride, i64 first,
                       i64 limit) {
  for (int i = threadOf(); i < R * C; i += kThreads) {
    int r = i / C, c = i % C;
    if (first + r < limit)
      to[(first + r) * stride + c] = fromFloat<S>(from.at(r, c));
  }
}

ATTN_FN float *floatsAt(unsigned char *shared, int offset) {
  return reinterpret_cast<float *>(shared + offset);
}

//===- element by element -------------------------------------------------===//

template <int N> ATTN_FN float get(const Pairs<N> &x, int n, int e) {
  return x.x[n][e];
}
template <class T> ATTN_FN T get(const PerQuery<T> &x, int, int e) {
  return x.x[e / 2];
}
template <int N, class T> ATTN_FN T get(const PerKey<N, T> &x, int n, int e) {
  return x.x[n][e % 2];
}
ATTN_FN float get(const SharedPerKey &x, int n, int e) {
  return x.data[column(n, e)];
}
ATTN_FN int get(const QueryPositions &x, int, int e) {
  return x.origin + queryRow(e / 2);
}
ATTN_FN int get(const KeyPositions &x, int n, int e) {
  return x.origin + column(n, e);
}
template <class F> ATTN_FN auto get(const Lazy<F> &x, int n, int e) {
  return x.at(n, e);
}

template <class R> struct Over;
template <int N> struct Over<Pairs<N>> {
  template <class F, class... In>
  ATTN_METHOD static Pairs<N> map(F f, const In &...in) {
    Pairs<N> out;
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      ATTN_UNROLL for (int e = 0; e < 4; ++e) out.x[n][e] = f(get(in, n, e)...);
    }
    return out;
  }
};
template <class T> struct Over<PerQuery<T>> {
  template <class F, class... In>
  ATTN_METHOD static PerQuery<T> map(F f, const In &...in) {
    return {{f(get(in, 0, 0)...), f(get(in, 0, 2)...)}};
  }
};
template <int N, class T> struct Over<PerKey<N, T>> {
  template <class F, class... In>
  ATTN_METHOD static PerKey<N, T> map(F f, const In &...in) {
    PerKey<N, T> out;
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      ATTN_UNROLL for (int e = 0; e < 2; ++e) out.x[n][e] = f(get(in, n, e)...);
    }
    return out;
  }
};
/// f at every point of an R; inputs broadcast over the axes they lack.
template <class R, class F, class... In> ATTN_FN R map(F f, const In &...in) {
  return Over<R>::map(f, in...);
}
template <class R, class T> ATTN_FN R splat(T x) {
  return Over<R>::map([=]() { return x; });
}
/// The same, evaluated where it is read.
template <class F, class... In> ATTN_FN auto lazy(F f, const In &...in) {
  auto at = [=](int n, int e) { return f(get(in, n, e)...); };
  return Lazy<decltype(at)>{at};
}
/// x where keep, else fill; x itself on tiles that are no edge.
template <int N, class Keep>
ATTN_FN Pairs<N> mask(Pairs<N> x, bool edge, const Keep &keep, float fill) {
  if (edge) {
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      ATTN_UNROLL for (int e = 0; e < 4; ++e) if (!get(keep, n, e)) x.x[n][e] =
          fill;
    }
  }
  return x;
}

//===- reductions ---------------------------------------------------------===//

template <class T> ATTN_FN T least(T a, T b) { return a < b ? a : b; }
template <class T> ATTN_FN T most(T a, T b) { return a > b ? a : b; }
/// As least and most, and NaN if one is.
ATTN_FN float minimum(float a, float b) { return a < b || a != a ? a : b; }
ATTN_FN float maximum(float a, float b) { return a > b || a != a ? a : b; }
ATTN_FN float plus(float a, float b) { return a + b; }

/// Folds N groups of columns into init, over the four threads of a row.
template <int N, class X, class T, class F>
ATTN_FN PerQuery<T> reduce(const X &x, PerQuery<T> init, F f) {
  ATTN_UNROLL for (int half = 0; half < 2; ++half) {
    T sum = get(x, 0, 2 * half);
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      ATTN_UNROLL for (int e = 0; e < 2; ++e) if (n + e > 0) sum =
          f(sum, get(x, n, 2 * half + e));
    }
    sum = f(sum, shuffleXor(sum, 1));
    sum = f(sum, shuffleXor(sum, 2));
    init.x[half] = f(init.x[half], sum);
  }
  return init;
}
template <int N, class X, class T>
ATTN_FN PerQuery<T> reduceAdd(const X &x, PerQuery<T> init) {
  return reduce<N>(x, init, [](T a, T b) { return a + b; });
}
template <int N, class X, class T>
ATTN_FN PerQuery<T> reduceMax(const X &x, PerQuery<T> init) {
  return reduce<N>(x, init, [](T a, T b) { return most(a, b); });
}
template <int N, class X, class T>
ATTN_FN PerQuery<T> reduceMin(const X &x, PerQuery<T> init) {
  return reduce<N>(x, init, [](T a, T b) { return least(a, b); });
}

//===- memory -------------------------------------------------------------===//

/// Elements of memory at this thread's keys; 0 at or past `limit`.
template <int N, class R, class T>
ATTN_FN PerKey<N, R> loadKeys(const T *from, i64 stride, i64 first, i64 limit) {
  PerKey<N, R> out;
  ATTN_UNROLL for (int n = 0; n < N; ++n) {
    ATTN_UNROLL for (int e = 0; e < 2; ++e) {
      i64 at = first + column(n, e);
      out.x[n][e] = at < limit ? R(from[at * stride]) : R(0);
    }
  }
  return out;
}
/// One element a query of this thread; 0 at or past `limit`.
ATTN_FN PerQuery<float> loadQueries(const float *from, i64 stride, i64 first,
                                    i64 limit) {
  PerQuery<float> out;
  ATTN_UNROLL for (int half = 0; half < 2; ++half) {
    i64 at = first + queryRow(half);
    out.x[half] = at < limit ? from[at * stride] : 0.f;
  }
  return out;
}
/// Columns [0, E) of this thread's queries; 0 in rows at or past `limit`.
template <int N, int E>
ATTN_FN Pairs<N> loadPairs(const float *from, i64 stride, i64 first,
                           i64 limit) {
  Pairs<N> out;
  ATTN_UNROLL for (int n = 0; n < N; ++n) {
    ATTN_UNROLL for (int e = 0; e < 4; ++e) {
      i64 row = first + queryRow(e / 2);
      int c = column(n, e);
      out.x[n][e] = row < limit && c < E ? from[row * stride + c] : 0.f;
    }
  }
  return out;
}
template <class S, class T> ATTN_FN void put(S *to, T x) { *to = S(x); }
ATTN_FN void put(Bf16 *to, float x) { *to = fromFloat<Bf16>(x); }
ATTN_FN void put(F16 *to, float x) { *to = fromFloat<F16>(x); }
ATTN_FN void putTwo(float *to, float x, float y) {
  *reinterpret_cast<Two *>(to) = Two{x, y};
}
template <class S> ATTN_FN void putTwo(S *to, float x, float y) {
  *reinterpret_cast<u32 *>(to) = pack(x, y, S());
}

/// Writes columns [0, E) of this warp's rows; rows at or past `limit` are not.
template <int E, int N, class S>
ATTN_FN void store(const Pairs<N> &x, S *to, i64 stride, i64 first, i64 limit) {
  bool even =
      E % 2 == 0 &&
      (reinterpret_cast<u64>(to) | stride * sizeof(S)) % (2 * sizeof(S)) == 0;
  ATTN_UNROLL for (int half = 0; half < 2; ++half) {
    i64 row = first + queryRow(half);
    if (row >= limit)
      continue;
    S *at = to + row * stride;
    ATTN_UNROLL for (int n = 0; n < N; ++n) {
      int c = column(n, 0);
      if (even && c < E) {
        putTwo(at + c, x.x[n][2 * half], x.x[n][2 * half + 1]);
      } else {
        if (c < E)
          put(at + c, x.x[n][2 * half]);
        if (c + 1 < E)
          put(at + c + 1, x.x[n][2 * half + 1]);
      }
    }
  }
}
/// The same from column `left` on; columns at or past `right` are not written.
template <int N, class S>
ATTN_FN void storeCorner(const Pairs<N> &x, S *to, i64 stride, i64 first,
                         i64 limit, i64 left, i64 right, i64 step) {
  ATTN_UNROLL for (int n = 0; n < N; ++n) {
    ATTN_UNROLL for (int e = 0; e < 4; ++e) {
      i64 row = first + queryRow(e / 2), c = left + column(n, e);
      if (row < limit && c < right)
        put(to + row * stride + c * step, x.x[n][e]);
    }
  }
}
/// One element a query.
template <class T, class S>
ATTN_FN void store(const PerQuery<T> &x, S *to, i64 stride, i64 first,
                   i64 limit) {
  ATTN_UNROLL for (int half = 0; half < 2; ++half) {
    i64 row = first + queryRow(half);
    if (row < limit && laneOf() % 4 == 0)
      put(to + row * stride, x.x[half]);
  }
}
