/* A fat object, level by level, against objects of one level each: the same
   bits, by one call and by ranges of a call that is run at another level than
   it was prepared at. */
#include "fat.h"
#include "v2.h"
#include "v3.h"
#include "v4.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  B = 2,
  HQ = 4,
  HK = 2,
  N = 200,
  D = FAT_ROW_q,
  E = FAT_ROW_o,
  LEVELS = 3
};

static float q[B * HQ * N * D], k[B * HK * N * D], v[B * HK * N * E];
static float o[B * HQ * N * E], mass[B * HQ * N], wanted_o[B * HQ * N * E],
    wanted_mass[B * HQ * N];

static void fill(float *out, size_t count, uint32_t seed) {
  for (size_t n = 0; n < count; ++n) {
    seed = seed * 1664525u + 1013904223u;
    out[n] = (float)(seed >> 8) / 8388608.0f - 1;
  }
}

#define ARGUMENTS(O, MASS)                                                     \
  {                                                                            \
    .q = {.data = q, .shape = {B, HQ, N, D}},                                  \
    .k = {.data = k, .shape = {B, HK, N, D}},                                  \
    .v = {.data = v, .shape = {B, HK, N, E}},                                  \
    .o = {.data = O, .shape = {B, HQ, N, E}},                                  \
    .mass = {.data = MASS, .shape = {B, HQ, N}},                               \
  }

/* The kernel NAME by one call. */
#define WHOLE(NAME)                                                            \
  static int NAME##_whole(float *to, float *to_mass) {                         \
    NAME##_args args = ARGUMENTS(to, to_mass);                                 \
    int64_t bytes = NAME##_workspace(&args);                                   \
    if (bytes < 0)                                                             \
      return (int)-bytes;                                                      \
    args.workspace = malloc((size_t)bytes + 1);                                \
    args.workspace_size = bytes;                                               \
    int status = NAME(&args);                                                  \
    free(args.workspace);                                                      \
    return status;                                                             \
  }
WHOLE(fat)
WHOLE(v2)
WHOLE(v3)
WHOLE(v4)

/* Prepared now, run at level `other`. */
static int fat_ranges(int other) {
  fat_args args = ARGUMENTS(o, mass);
  fat_call call;
  int64_t bytes = fat_workspace(&args);
  args.workspace = malloc((size_t)bytes + 1);
  args.workspace_size = bytes;
  int status = fat_prepare(&args, &call);
  if (fat_level(other) != other)
    return -1;
  for (int64_t stage = 0; !status && stage < fat_stages(&call); ++stage) {
    int64_t items = fat_items(&call, stage);
    for (int64_t begin = 0; !status && begin < items; begin += 3)
      status =
          fat_range(&call, stage, begin, begin + 3 < items ? begin + 3 : items);
  }
  free(args.workspace);
  return status;
}

static int same(void) {
  int equal =
      !memcmp(o, wanted_o, sizeof o) && !memcmp(mass, wanted_mass, sizeof mass);
  memset(o, 0x55, sizeof o);
  memset(mass, 0x55, sizeof mass);
  return equal;
}

int main(void) {
  static const char *const names[LEVELS + 1] = {"none", "x86-64-v4",
                                                "x86-64-v3", "x86-64-v2"};
  int (*const single[LEVELS + 1])(float *, float *) = {NULL, v4_whole, v3_whole,
                                                       v2_whole};
  fill(q, sizeof q / 4, 1);
  fill(k, sizeof k / 4, 2);
  fill(v, sizeof v / 4, 3);

  int picked = fat_level(0), bad = 0;
  if (picked == -ATTN_MACHINE) {
    fat_args args = ARGUMENTS(o, mass);
    fat_call call;
    printf("picked none: %s\n", fat_error(picked));
    return fat(&args) != ATTN_MACHINE ||
           fat_prepare(&args, &call) != ATTN_MACHINE ||
           fat_workspace(&args) != -ATTN_MACHINE ||
           fat_level(FAT_LEVEL_x86_64_v2) != -ATTN_MACHINE;
  }
  printf("picked %s\n", names[picked]);
  /* As another reader of CPUID has it. */
  __builtin_cpu_init();
  int has3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi2");
  int has4 = has3 && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw");
  bad |= picked != (has4   ? FAT_LEVEL_x86_64_v4
                    : has3 ? FAT_LEVEL_x86_64_v3
                           : FAT_LEVEL_x86_64_v2);

  for (int level = 1; level <= LEVELS; ++level) {
    if (level < picked) {
      bad |= fat_level(level) != -ATTN_MACHINE || fat_level(0) != picked;
      printf("%s: not of this machine\n", names[level]);
      continue;
    }
    int status = single[level](wanted_o, wanted_mass);
    bad |= fat_level(level) != level || fat_level(0) != level;
    status |= fat_whole(o, mass);
    int whole = same();
    status |= fat_ranges(FAT_LEVEL_x86_64_v2);
    int ranges = same();
    printf("%s: %s\n", names[level],
           status            ? "an error"
           : whole && ranges ? "the same bits"
                             : "OTHER BITS");
    bad |= status || !whole || !ranges;
  }
  bad |=
      fat_level(LEVELS + 1) != -ATTN_MACHINE || fat_level(-1) != -ATTN_MACHINE;

  /* What no level prepared is refused. */
  fat_call nothing;
  memset(&nothing, 0, sizeof nothing);
  bad |= fat_stages(&nothing) != -ATTN_RANGE ||
         fat_range(&nothing, 0, 0, 0) != ATTN_RANGE ||
         fat_range(NULL, 0, 0, 0) == ATTN_OK;
  return bad;
}
