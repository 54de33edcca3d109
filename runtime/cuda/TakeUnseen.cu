
// Values that the host did not see: a thread an element checks it, and stores
// it as a kernel takes it.

struct UnseenArray {
  const void *from;
  void *to; ///< row-major; null: it is only checked
  i64 count;
  i64 extents[8], strides[8];
  double bound;
  i64 low, high; ///< of integers
  int rank, fromType, toInteger, relation;
  i64 place;   ///< what is reported, with the element in its low 32 bits
  i64 *report; ///< of the host
};

ATTN_FN double elementOf(const void *p, i64 at, int type) {
  switch (type) { // the order of attn::Type
  case 0:
    return static_cast<const float *>(p)[at];
  case 1:
    return static_cast<const double *>(p)[at];
  case 2:
    return toFloat(F16{static_cast<const u16 *>(p)[at]});
  case 3:
    return toFloat(Bf16{static_cast<const u16 *>(p)[at]});
  case 4:
    return static_cast<const int *>(p)[at];
  case 5:
    return static_cast<double>(static_cast<const i64 *>(p)[at]);
  case 6:
    return static_cast<const signed char *>(p)[at];
  case 7:
    return static_cast<const short *>(p)[at];
  case 8:
    return static_cast<const unsigned char *>(p)[at];
  case 9:
    return static_cast<const u16 *>(p)[at];
  case 10:
    return static_cast<const u32 *>(p)[at];
  default:
    return static_cast<const unsigned char *>(p)[at] != 0;
  }
}

ATTN_FN bool holds(double value, int relation, double bound) {
  switch (relation) {
  case 1:
    return value < bound;
  case 2:
    return value <= bound;
  case 3:
    return value > bound;
  case 4:
    return value >= bound;
  case 5:
    return value == bound;
  case 6:
    return value != bound;
  default:
    return true;
  }
}

ATTN_KERNEL(256) attn_take_unseen(UnseenArray array) {
  i64 n = blockOf() * 256 + threadOf();
  if (n >= array.count)
    return;
  i64 at = 0, rest = n;
  for (int axis = array.rank - 1; axis >= 0; --axis) {
    at += rest % array.extents[axis] * array.strides[axis];
    rest /= array.extents[axis];
  }
  double value = elementOf(array.from, at, array.fromType);
  bool isGood = holds(value, array.relation, array.bound);
  if (array.toInteger) {
    // Kept in its range, whatever it is: indices and lengths come of it.
    double kept = value >= static_cast<double>(array.low) ? value : array.low;
    kept = kept <= static_cast<double>(array.high) ? kept : array.high;
    i64 whole = static_cast<i64>(kept);
    isGood = isGood && static_cast<double>(whole) == value;
    static_cast<i64 *>(array.to)[n] = whole;
  } else {
    float stored = static_cast<float>(value);
    bool isFinite = value - value == 0, fits = stored - stored == 0;
    isGood = isGood && (fits || !isFinite);
    // An integer that a float rounds is another number.
    isGood = isGood && (array.fromType < 4 || stored == value);
    if (array.to)
      static_cast<float *>(array.to)[n] = stored;
  }
  if (!isGood)
    *array.report = array.place << 32 | (n & 0xffffffff);
}
