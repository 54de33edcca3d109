/* Calls KERNEL on the arrays of in.raw and writes its results to out.raw. The
   floating-point mode of this program is another than the kernel's, which must
   set its own and give this one back. */
#include "kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)

static ELEMENT q[B * HQ * NQ * D], k[B * HK * NK * D], v[B * HK * NK * D],
    o[B * HQ * NQ * D];
static float mass[B * HQ * NQ];
static const int64_t key_lengths[B] = {KEY_LENGTHS};

static uint64_t get_mode(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}

static void set_mode(uint64_t mode) {
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}

static void check(int status) {
  if (status) {
    fprintf(stderr, "%s\n", NAME(KERNEL, _error)(status));
    exit(1);
  }
}

int main(void) {
  FILE *in = fopen("in.raw", "rb"), *out = fopen("out.raw", "wb");
  if (!in || !out || fread(q, sizeof q, 1, in) != 1 ||
      fread(k, sizeof k, 1, in) != 1 || fread(v, sizeof v, 1, in) != 1)
    return 2;
  NAME(KERNEL, _args)
  args = {
      .q = {.data = q, .shape = {B, HQ, NQ, D}},
      .k = {.data = k, .shape = {B, HK, NK, D}},
      .v = {.data = v, .shape = {B, HK, NK, D}},
      .o = {.data = o, .shape = {B, HQ, NQ, D}},
      .mass = {.data = mass, .shape = {B, HQ, NQ}},
      .key_lengths = {.data = key_lengths, .shape = {B}},
  };
  int64_t bytes = NAME(KERNEL, _workspace)(&args);
  check(bytes < 0 ? (int)bytes : 0);
  args.workspace = malloc((size_t)bytes + 1);
  args.workspace_size = bytes;

  const uint64_t upwards = UINT64_C(1) << 22; /* RMode: to plus infinity */
  set_mode(upwards);
  int status = KERNEL(&args);
  uint64_t after = get_mode();
  set_mode(0);
  check(status);
  fwrite(o, sizeof o, 1, out);
  fwrite(mass, sizeof mass, 1, out);
  if (fclose(out) || after != upwards) {
    fprintf(stderr, "the mode was not restored\n");
    return 1;
  }

  /* Rounding to nearest gives the same bits. */
  static ELEMENT again[B * HQ * NQ * D];
  args.o.data = again;
  check(KERNEL(&args));
  if (memcmp(o, again, sizeof o)) {
    fprintf(stderr, "the caller's rounding is seen\n");
    return 1;
  }
  return 0;
}
