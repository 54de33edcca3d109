/* One call of KERNEL for N queries and keys, of pseudo-random rows. */
#include HEADER
#include <stdio.h>

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)

static float q[N][D], k[N][D], v[N][D], o[N][D], mass[N];

static void fill(float *out, unsigned seed) {
  for (int n = 0; n < N * D; ++n) {
    seed = seed * 1664525u + 1013904223u;
    out[n] = (float)(seed >> 8) / 8388608.0f - 1;
  }
}

int main(void) {
  fill(q[0], 1);
  fill(k[0], 2);
  fill(v[0], 3);
  NAME(KERNEL, _args)
  args = {
      .q = {.data = q[0], .shape = {1, 1, N, D}},
      .k = {.data = k[0], .shape = {1, 1, N, D}},
      .v = {.data = v[0], .shape = {1, 1, N, D}},
      .o = {.data = o[0], .shape = {1, 1, N, D}},
      .mass = {.data = mass, .shape = {1, 1, N}},
  };
  int status = KERNEL(&args);
  if (status)
    fprintf(stderr, "%s\n", NAME(KERNEL, _error)(status));
  return status != 0 || !(mass[0] > 0);
}
