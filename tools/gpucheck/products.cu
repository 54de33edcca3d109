
// The products of four warps (prelude/Wgmma.h, prelude/Cores.h), on one block
// of two such groups; products.py knows what comes out, and where the matrices
// stand in `rows`. out[section][thread][32]. In front of this stands a file
// that attnc emitted, up to its kernels, and which type Element is.

ATTN_FN void put(u32 *out, int section, int n, u32 word) {
  out[(section * kThreads + threadOf()) * 32 + n] = word;
}
ATTN_FN void put(u32 *out, int section, const float (&c)[8][4]) {
  for (int n = 0; n < 32; ++n)
    put(out, section, n, bitsOf(c[n / 4][n % 4]));
}
// What sums begin with tells threads and words apart.
ATTN_FN Pairs<8> start() {
  Pairs<8> acc;
  ATTN_UNROLL for (int n = 0; n < 32; ++n) acc.x[n / 4][n % 4] =
      static_cast<float>(threadOf() * 32 + n);
  return acc;
}

// Rows that lie at other places than a kernel's: cores of eight rows of 16
// bytes, from one to the next along columns `right` bytes, along rows `down`.
ATTN_FN void lay(unsigned char *to, int right, int down, const Element *from,
                 int rows, int columns) {
  for (int n = threadOf(); n < rows * columns; n += kThreads) {
    int r = n / columns, c = n % columns;
    *reinterpret_cast<Element *>(to + r / 8 * down + c / 8 * right +
                                 r % 8 * 16 + c % 8 * 2) = from[r * 64 + c];
  }
}

ATTN_KERNEL(kThreads) attn_products(const Element *rows, u32 *out) {
  ATTN_SHARED(shared);
  const Element *left = rows, *right = rows + 128 * 64,
                *values = rows + 192 * 64;
  const int lane = threadOf() % 32, g = lane / 4, t = lane % 4,
            row = threadOf() / 32 * 16 + g;

  // As kernels do it: rows copied to cores, then both products.
  const auto q = rowsAt<Rows<128, 64, Element, Cores>>(shared, 0);
  const auto k = rowsAt<Rows<64, 64, Element, Cores>>(shared, 16384);
  const auto v = rowsAt<Rows<64, 64, Element, Cores>>(shared, 24576);
  stage(q, left, 64, 0, 128);
  stage(k, right, 64, 0, 64);
  stage(v, values, 64, 0, 64);
  arrive<0, Cores>();
  put(out, 0, contract(q, k, start()).x);
  Pairs<8> p;
  for (int n = 0; n < 32; ++n)
    p.x[n / 4][n % 4] =
        toFloat(left[(row + n % 4 / 2 * 8) * 64 + n / 4 * 8 + 2 * t + n % 2]);
  put(out, 1, contractRounded(p, v, start()).x);

  const u64 zero = descriptor(shared, 0, 0);
  const u64 described[3] = {descriptor(shared + 9216, 3200, 384) - zero,
                            byColumns(q, 64) - zero, byRows(v) - zero};
  for (int n = 0; n < 6; ++n)
    put(out, 2, n, static_cast<u32>(described[n / 2] >> n % 2 * 32));

  // One product each, both in flight at once, of cores that lie apart.
  barrier();
  lay(shared, 4224, 256, left, 128, 16);
  lay(shared + 9216, 3200, 384, right, 64, 16);
  lay(shared + 16384, 640, 256, values, 16, 64);
  Cores::publish();
  const u64 a = descriptor(shared + threadOf() / 128 * 2048, 4224, 256),
            b = descriptor(shared + 9216, 3200, 384),
            c = descriptor(shared + 16384, 256, 640);
  u32 registers[4];
  for (int n = 0; n < 4; ++n) {
    const Element *two = left + (row + n % 2 * 8) * 64 + n / 2 * 8 + 2 * t;
    registers[n] = two[0].bits | static_cast<u32>(two[1].bits) << 16;
    settle(registers[n]);
  }
  Pairs<8> first = start(), second = start();
  settle(first);
  settle(second);
  beginProducts();
  wgmma(first.x, a, b, Element());
  commitProducts();
  wgmma(second.x, registers, c, Element());
  commitProducts();
  waitForProducts<1>();
  settle(first);
  put(out, 3, first.x);
  waitForProducts<0>();
  settle(second);
  put(out, 4, second.x);

  // Other rows in the same place.
  barrier();
  lay(shared, 4224, 256, left + 16, 128, 16);
  lay(shared + 9216, 3200, 384, right + 16, 64, 16);
  Cores::publish();
  Pairs<8> again = start();
  settle(again);
  beginProducts();
  wgmma(again.x, a, b, Element());
  finishProducts(again);
  put(out, 5, again.x);
}
