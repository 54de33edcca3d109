//===- RowMaps.h - functions of rows and numbers ---------------*- CUDA -*-===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//===- scalars ------------------------------------------------------------===//

/// x^N, by multiplication.
template <int N> ATTN_FN float power(float x) {
  if constexpr (N < 0) {
    return 1 / power<-N>(x);
  } else if constexpr (N == 0) {
    return 1;
  } else {
    float half = power<N / 2>(x);
    return N % 2 ? half * half * x : half * half;
  }
}
ATTN_FN float square(float x) { return x * x; }
template <class T> ATTN_FN T magnitude(T x) { return x < 0 ? -x : x; }
/// Quotients rounded down and up, also of negative numbers.
template <class T> ATTN_FN T floorDivide(T x, T y) {
  T q = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}
template <class T> ATTN_FN T ceilDivide(T x, T y) {
  T q = x / y;
  return x % y != 0 && (x < 0) == (y < 0) ? q + 1 : q;
}

//===- row maps -----------------------------------------------------------===//
// A row is a function of the column; a thread computes a row.

template <int N, class F> ATTN_FN float sumOver(F term) {
  float sum = 0;
  ATTN_LOOP for (int c = 0; c < N; ++c) sum += term(c);
  return sum;
}
template <int N, class X, class Y> ATTN_FN float dotOf(X x, Y y) {
  return sumOver<N>([&](int c) { return x(c) * y(c); });
}
template <int N, class X, class Y> ATTN_FN float sqdistOf(X x, Y y) {
  return sumOver<N>([&](int c) { return (x(c) - y(c)) * (x(c) - y(c)); });
}
/// x / |x| through x / max|x|: neither tiny nor huge rows leave the range.
template <int N, class X> ATTN_FN auto unit(X x) {
  float largest = 0;
  ATTN_LOOP for (int c = 0; c < N; ++c) largest = fmaxf(largest, fabsf(x(c)));
  float safe = largest == 0 ? 1 : largest;
  float norm = sqrtf(sumOver<N>([&](int c) { return square(x(c) / safe); }));
  norm = largest == 0 ? 1 : norm;
  return [=](int c) { return x(c) / safe / norm; };
}
/// Angles are reduced in double: position * frequency loses whole turns.
template <int N, bool Interleaved, class X>
ATTN_FN auto rope(X x, double position, const double *frequencies) {
  return [=](int c) {
    int t = Interleaved ? c / 2 : c % (N / 2);
    bool second = Interleaved ? c % 2 : c >= N / 2;
    int first = Interleaved ? c - c % 2 : t, other = Interleaved ? 1 : N / 2;
    double turn = 6.283185307179586476925;
    double angle = position * frequencies[t];
    float reduced = float(angle - floor(angle / turn + 0.5) * turn);
    float a = x(first), b = x(first + other);
    float sine = sinInTurn(reduced), cosine = cosInTurn(reduced);
    return second ? a * sine + b * cosine : a * cosine - b * sine;
  };
}
/// Row times matrix, whose elements lie `down` and `across` apart.
template <int N, class X>
ATTN_FN auto project(X x, const float *matrix, i64 down, i64 across) {
  return [=](int c) {
    return sumOver<N>(
        [&](int r) { return x(r) * matrix[r * down + c * across]; });
  };
}
/// The symmetric power of degree P: multisets of channels in order, weighted by
/// the root of their multinomial coefficients.
template <int P, int N, class X, class R>
ATTN_FN int powerRow(X x, R to, int row, int channel = 0, int previous = 0,
                     float run = 0, float coefficient = 1, float product = 1,
                     int taken = 0) {
  if constexpr (P == 0) {
    to.put(row, channel, product * sqrtf(coefficient));
    return channel + 1;
  } else {
    for (int i = previous; i < N; ++i) {
      float length = taken && i == previous ? run + 1 : 1;
      channel = powerRow<P - 1, N>(x, to, row, channel, i, length,
                                   coefficient * (taken + 1) / length,
                                   product * x(i), taken + 1);
    }
    return channel;
  }
}
/// Values that a thread a row has left in shared memory.
ATTN_FN PerQuery<float> perQuery(const float *values) {
  return {{values[queryRow(0)], values[queryRow(1)]}};
}
