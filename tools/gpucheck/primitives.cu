
// Every function of the machine (prelude/Device.h), on one block of two warps;
// primitives.py knows what comes out. out[section][thread][8].

ATTN_FN void put(u32 *out, int section, int n, u32 word) {
  out[(section * 64 + threadOf()) * 8 + n] = word;
}

// a (16 x 16) and b (8 rows of 16, transposed), of 16-bit elements.
template <class T>
ATTN_FN void products16(const float *numbers, unsigned char *shared, u32 *out,
                        int section, T) {
  u32 *rows = reinterpret_cast<u32 *>(shared); // 24 rows, 48 bytes apart
  for (int n = threadOf(); n < 192; n += 64) {
    const float *pair = numbers + n / 8 * 16 + n % 8 * 2;
    rows[n / 8 * 12 + n % 8] = pack(pair[0], pair[1], T());
  }
  barrier();
  int lane = threadOf() % 32, row = lane % 8, matrix = lane / 8;
  u32 a[4], b[4], t[4];
  const u32 *ofA = rows + (row + matrix % 2 * 8) * 12 + matrix / 2 * 4;
  loadMatrices(a, ofA);
  loadMatrices(b, rows + (16 + row) * 12 + matrix % 2 * 4);
  loadTransposed(t, ofA);
  float c[4];
  for (int n = 0; n < 4; ++n)
    c[n] = static_cast<float>(lane);
  mma(c, a, b[0], b[1], T());
  for (int n = 0; n < 4; ++n) {
    put(out, section, n, bitsOf(c[n]));
    put(out, section, 4 + n, a[n]);
    put(out, section + 1, n, t[n]);
  }
  barrier();
}

// a (16 x 8) and b (8 x 8), where elements are multiplied to 10 bits.
ATTN_FN void productsTf32(const float *numbers, u32 *out, int section) {
  int lane = threadOf() % 32, g = lane / 4, t = lane % 4;
  u32 a[4], b[2];
  for (int n = 0; n < 4; ++n)
    a[n] = roundTf32(numbers[(g + n % 2 * 8) * 16 + t + n / 2 * 4]).bits;
  for (int n = 0; n < 2; ++n)
    b[n] = roundTf32(numbers[256 + g * 16 + t + 4 * n]).bits;
  float c[4];
  for (int n = 0; n < 4; ++n)
    c[n] = static_cast<float>(lane);
  mma(c, a, b[0], b[1], Tf32());
  for (int n = 0; n < 4; ++n)
    put(out, section, n, bitsOf(c[n]));
}

ATTN_FN void copies(const float *numbers, unsigned char *shared, u32 *out,
                    int section) {
  int me = threadOf();
  copyAsync16(shared + 16 * me, numbers + 4 * me, me % 3 != 0);
  copyAsync4(shared + 1024 + 4 * me, numbers + me, me % 2 != 0);
  commitCopies();
  waitForCopies<0>();
  barrier();
  const float *far = reinterpret_cast<const float *>(shared);
  int other = me ^ 33; // of the other warp
  for (int n = 0; n < 4; ++n)
    put(out, section, n, bitsOf(far[4 * other + n]));
  put(out, section, 4, bitsOf(far[256 + other]));
  put(out, section, 5, anyThread(me == 37));
  put(out, section, 6, anyThread(me == 64));
  put(out, section, 7, static_cast<u32>(blockOf()));
}

ATTN_KERNEL(64) attn_primitives(const float *numbers, u32 *out) {
  ATTN_SHARED(shared);
  int me = threadOf(), lane = me % 32;
  products16(numbers, shared, out, 0, Bf16());
  products16(numbers, shared, out, 2, F16());
  productsTf32(numbers, out, 4);
  copies(numbers, shared, out, 5);
  float x = numbers[384 + me];
  put(out, 6, 0, pack(x, x / 4, Bf16()));
  put(out, 6, 1, pack(x, x / 4, F16()));
  put(out, 6, 2, roundTf32(x).bits);
  put(out, 6, 3, bitsOf(toFloat(Bf16{static_cast<u16>(bitsOf(x) >> 16)})));
  put(out, 6, 4, bitsOf(toFloat(F16{static_cast<u16>(0x3c00 + 17 * me)})));
  put(out, 6, 5, lowestBit(static_cast<u32>(me + 1) << me % 8));
  put(out, 6, 6, shuffle(me * 10, lane * 7 % 32));
  put(out, 6, 7, shuffleXor(me * 10, 5));
  put(out, 7, 0, bitsOf(pow2(numbers[448 + me])));
  put(out, 7, 1, bitsOf(sinInTurn(numbers[512 + me])));
  put(out, 7, 2, bitsOf(cosInTurn(numbers[512 + me])));
  put(out, 7, 3, bitsOf(infinity()));
}
