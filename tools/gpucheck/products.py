"""What products.cu is given, and what must come out of it: PTX ISA, "Register Fragments for
wgmma.mma_async.m64nNk16" and "Matrix Descriptor Format", in words of their own."""
from arrays import bits_of, pack as pack_array
from primitives import Program

ARCH, TILES = "sm_90a", "128,64"  # of the file that is compiled for its functions: two groups
SPEC = "attention products(q, k, v) { kappa = exp(dot(q, k)) }"


def left(i, k):
    return (3 * i + 5 * k) % 17 - 8


def right(n, k):
    return (7 * n + 2 * k) % 13 - 6


def value(k, n):
    return (4 * k + 9 * n) % 11 - 5


def given(kind):
    """128 rows of the left factor, 64 whose rows are summed over, 64 of values; 64 numbers each."""
    rows = [left(i, k) for i in range(128) for k in range(64)]
    rows += [right(n, k) for n in range(64) for k in range(64)]
    rows += [value(k, n) for k in range(64) for n in range(64)]
    return pack_array(kind, [float(x) for x in rows])


def place(thread, n):
    """Row and column of a thread's n-th sum: a warp has 16 rows, a thread two, of 8 columns two."""
    warp, lane = divmod(thread, 32)
    group, i, pair = lane // 4, n // 2 % 2, lane % 4
    return 16 * warp + group + 8 * i, n // 4 * 8 + 2 * pair + n % 2


def sums(factor, depth):
    """A word a sum, of every thread: what it began with, and the products."""
    rows = [[left(i, k) for k in depth] for i in range(128)]
    columns = [[factor(n, k) for k in depth] for n in range(64)]
    result = []
    for thread in range(256):
        places = [place(thread, n) for n in range(32)]
        result.append([bits_of(32.0 * thread + n + sum(x * y for x, y in zip(rows[i], columns[c])))
                       for n, (i, c) in enumerate(places)])
    return result


def described(start, summed, other):
    """Both halves, all in units of 16 bytes: start in bits 0 - 13, the distance along the axis
    summed over in 16 - 29, along the other one in 32 - 45."""
    return [start // 16 + (summed // 16 << 16), other // 16]


def expected(kind):
    result = {}

    def add(name, section, words):
        for n in range(len(words[0])):
            result[f"{name} {kind}", section, n] = [w[n] for w in words], None
    by_rows = lambda n, k: value(k, n)
    add("contract", 0, sums(right, range(64)))
    add("contractRounded", 1, sums(by_rows, range(64)))
    # 128 rows from the 64th on, cores one after the other; 64 rows whose columns are not summed.
    add("descriptors", 2, [described(9216, 3200, 384) + described(64 * 16, 128 * 16, 128) +
                           described(24576, 128, 64 * 16)] * 256)
    add("wgmma, both shared", 3, sums(right, range(16)))
    add("wgmma, registers", 4, sums(by_rows, range(16)))
    add("publish", 5, sums(right, range(16, 32)))
    return result


PROGRAMS = [Program("products." + kind, "attn_products", sections=6, threads=256, words=32, shared=32768,
                    given=lambda kind=kind: given(kind), expected=lambda kind=kind: expected(kind), arch=ARCH)
            for kind in ("bf16", "f16")]
