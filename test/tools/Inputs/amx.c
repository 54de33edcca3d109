/* Calls a kernel of level amx where AMX is, and where it is not; with
 * OTHER_LEVELS one that has code for other machines, too. */
#include "softmax.h"

#include <stdio.h>
#include <string.h>

static uint16_t q[3 * 100 * 64], v[3 * 100 * 64], o[3 * 100 * 64];
static float lse[3 * 100];

static int hasAmx(void) {
  char line[8192];
  FILE *file = fopen("/proc/cpuinfo", "r");
  int found = 0;
  while (file && !found && fgets(line, sizeof line, file))
    found = strncmp(line, "flags", 5) == 0 && strstr(line, " amx_bf16");
  if (file)
    fclose(file);
  return found;
}

int main(void) {
  softmax_args args;
  int n, status;
  memset(&args, 0, sizeof args);
  for (n = 0; n < 3 * 100 * 64; ++n) {
    q[n] = (uint16_t)(0x3f80 + n * 7 % 50);                /* 1 to 1.4 */
    v[n] = (uint16_t)(n / 64 % 100 % 2 ? 0x3f80 : 0x4040); /* 1 and 3 */
  }
  args.q.data = args.k.data = q;
  args.v.data = v;
  args.o.data = o;
  args.lse.data = lse;
  for (n = 0; n < 4; ++n) {
    static const int64_t shape[] = {1, 3, 100, 64};
    static const int64_t strides[] = {3 * 100 * 64, 100 * 64, 64, 1};
    args.q.shape[n] = args.k.shape[n] = args.v.shape[n] = args.o.shape[n] =
        shape[n];
    args.q.strides[n] = args.k.strides[n] = args.v.strides[n] =
        args.o.strides[n] = strides[n];
  }
  for (n = 0; n < 3; ++n) {
    static const int64_t strides[] = {300, 100, 1};
    args.lse.shape[n] = args.o.shape[n];
    args.lse.strides[n] = strides[n];
  }
  status = softmax(&args);
#ifdef OTHER_LEVELS
  printf("level %d of %d, ", softmax_level(0), hasAmx());
#else
  if (!hasAmx()) {
    printf("%d: %s\n", status == ATTN_MACHINE, softmax_error(status));
    return status != ATTN_MACHINE || o[0] != 0;
  }
#endif
  printf("%d: %s\n", status == ATTN_OK, softmax_error(status));
  for (n = 0; n < 3 * 100 * 64; ++n) /* means of 1 and 3 */
    if (o[n] <= 0x3f80 || o[n] >= 0x4040) {
      printf("o[%d] is %x\n", n, o[n]);
      return 1;
    }
  return status != ATTN_OK;
}
