/*===- aot.c - an ahead-of-time kernel in a C program ---------------------===//
//
// Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes Yat attention with a kernel that attnc compiled: once by one call,
// once on threads of this program, and compares both with plain loops in
// double. Nothing of attnc is needed when it runs.
//
//===----------------------------------------------------------------------===*/

#include "yat.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, HQ = 4, HK = 2, N = 300, D = YAT_ROW_q, E = YAT_ROW_o };

static float q[B][HQ][N][D], k[B][HK][N][D], v[B][HK][N][E];
static float o[B][HQ][N][E], mass[B][HQ][N], again[B][HQ][N][E];
static const float b_raw[HQ] = {-1, 0, 0.5f, 1}, eps_raw[HQ] = {-3, -1, 0, 1};

/* Numbers between -1 and 1, the same everywhere. */
static void fill(float *out, size_t count, uint32_t seed) {
  for (size_t n = 0; n < count; ++n) {
    seed = seed * 1664525u + 1013904223u;
    out[n] = (float)(seed >> 8) / 8388608.0f - 1;
  }
}

/* The largest difference from the definition, computed in double. */
static double worst_error(void) {
  double worst = 0;
  for (int bh = 0; bh < B * HQ; ++bh) {
    int batch = bh / HQ, head = bh % HQ, kv = head / (HQ / HK);
    double b = log1p(exp(b_raw[head])), eps = log1p(exp(eps_raw[head]));
    for (int i = 0; i < N; ++i) {
      double sum[E] = {0}, total = 0;
      for (int j = 0; j <= i; ++j) { /* causal */
        double dot = 0, distance = 0;
        for (int d = 0; d < D; ++d) {
          double x = q[batch][head][i][d], y = k[batch][kv][j][d];
          dot += x * y;
          distance += (x - y) * (x - y);
        }
        double kappa = (dot + b) * (dot + b) / (distance + eps);
        total += kappa;
        for (int e = 0; e < E; ++e)
          sum[e] += kappa * v[batch][kv][j][e];
      }
      for (int e = 0; e < E; ++e)
        worst = fmax(worst, fabs(o[batch][head][i][e] - sum[e] / total));
      worst = fmax(worst, fabs(mass[batch][head][i] / total - 1));
    }
  }
  return worst;
}

static void check(int status) {
  if (status) {
    fprintf(stderr, "%s\n", yat_error(status));
    exit(1);
  }
}

/* A thread's share of a stage. */
struct share {
  yat_call *call;
  int64_t stage, begin, end;
  int status;
};

static void *work(void *argument) {
  struct share *s = argument;
  s->status = yat_range(s->call, s->stage, s->begin, s->end);
  return NULL;
}

static void run_on_threads(const yat_args *args) {
  enum { THREADS = 3 };
  yat_call call;
  check(yat_prepare(args, &call));
  for (int64_t stage = 0; stage < yat_stages(&call); ++stage) {
    int64_t items = yat_items(&call, stage);
    pthread_t threads[THREADS];
    struct share shares[THREADS];
    for (int t = 0; t < THREADS; ++t) {
      shares[t] = (struct share){&call, stage, items * t / THREADS,
                                 items * (t + 1) / THREADS, 0};
      if (pthread_create(&threads[t], NULL, work, &shares[t]))
        abort();
    }
    for (int t = 0; t < THREADS; ++t) { /* all of them, then the next stage */
      pthread_join(threads[t], NULL);
      check(shares[t].status);
    }
  }
}

int main(void) {
  fill(&q[0][0][0][0], sizeof q / 4, 1);
  fill(&k[0][0][0][0], sizeof k / 4, 2);
  fill(&v[0][0][0][0], sizeof v / 4, 3);
  yat_args args = {
      .q = {.data = &q[0][0][0][0], .shape = {B, HQ, N, D}},
      .k = {.data = &k[0][0][0][0], .shape = {B, HK, N, D}},
      .v = {.data = &v[0][0][0][0], .shape = {B, HK, N, E}},
      .b_raw = {.data = b_raw, .shape = {HQ}},
      .eps_raw = {.data = eps_raw, .shape = {HQ}},
      .o = {.data = &o[0][0][0][0], .shape = {B, HQ, N, E}},
      .mass = {.data = &mass[0][0][0], .shape = {B, HQ, N}},
  };
  check(yat(&args));
  double worst = worst_error();
  printf("one call: largest error %.1e\n", worst);

  args.o.data = &again[0][0][0][0];
  run_on_threads(&args);
  int same = memcmp(o, again, sizeof o) == 0;
  printf("on threads: %s\n", same ? "the same bits" : "other bits");
  return worst < 1e-5 && same ? 0 : 1;
}
