"""What primitives.cu is given, and what must come out of it."""
import math
import struct

from arrays import bf16_bits, bits_of, f16_bits, from_bits, pack as pack_array

THREADS = 64


class Program:
    """A kernel of one block that tries functions of the machine: out[section][thread][word]."""

    def __init__(self, name, entry, sections, threads, words, shared, given, expected, arch=None):
        self.name, self.entry, self.threads, self.words, self.shared = name, entry, threads, words, shared
        self.size, self.arch = 4 * sections * threads * words, arch  # arch: the only one that has them
        self.given, self.expected = given, expected  # bytes; (name, section, word) -> values, allowed

    def faults(self, out):
        """{name: the first difference} of what the kernel wrote. Values are one a thread; allowed is
        the difference that may be, None: they are bits."""
        found, table = {}, struct.unpack("<%dI" % (self.size // 4), out)
        for (name, section, word), (values, allowed) in self.expected().items():
            found.setdefault(name, "")
            for thread, wanted in enumerate(values):
                got = table[(section * self.threads + thread) * self.words + word]
                if allowed is None:
                    good, text = got == wanted, f"{got:#x}, not {wanted:#x}"
                else:
                    limit = allowed * wanted if allowed > 0 else -allowed
                    good = abs(from_bits(got) - wanted) <= limit
                    text = f"{from_bits(got)!r}, not {wanted!r}"
                if not good and not found[name]:
                    found[name] = f"thread {thread}, word {word}: {text}"
        return found


def matrix_a(i, k):
    return float((3 * i + 5 * k) % 17 - 8)


def matrix_b(n, k):
    return float((7 * n + 2 * k) % 13 - 6)


def inputs():
    """512 + 64 numbers: a, b by columns, and one each a thread for the rest."""
    numbers = [matrix_a(n // 16, n % 16) for n in range(256)]
    numbers += [matrix_b(n // 16, n % 16) for n in range(128)]
    # Between two neighbours in every type, exactly half way in some.
    numbers += [(-1) ** n * (1 + n / 64 + (n % 4) * 2.0 ** -(8 + n % 5)) for n in range(64)]
    numbers += [-130.0 + 2.375 * n for n in range(64)]
    numbers += [math.pi * (n - 31.5) / 32 for n in range(64)]
    return [from_bits(bits_of(x)) for x in numbers]


def product(lane, depth):
    """c of a lane of mma: rows g and g + 8, columns 2 t and 2 t + 1."""
    g, t = lane // 4, lane % 4
    return [lane + sum(matrix_a(g + n // 2 * 8, k) * matrix_b(2 * t + n % 2, k) for k in range(depth))
            for n in range(4)]


def words(bits, lane, transposed):
    """A word a matrix of 8 x 8: those of a, rows 0 - 7 and 8 - 15, then the columns from 8 on."""
    g, t = lane // 4, lane % 4
    result = []
    for matrix in range(4):
        row, column = matrix % 2 * 8, matrix // 2 * 8
        pair = [(2 * t, g), (2 * t + 1, g)] if transposed else [(g, 2 * t), (g, 2 * t + 1)]
        low, high = (bits(matrix_a(row + r, column + c)) for r, c in pair)
        result.append(low | high << 16)
    return result


def tf32_bits(x):
    """To 10 bits after the point; of what is half way, to the even one."""
    bits = bits_of(x)
    return bits + 0xFFF + (bits >> 13 & 1) & 0xFFFFE000


def expected():
    numbers, result = inputs(), {}

    def add(name, section, first, values, allowed=None):
        for n in range(len(values[0])):
            result[name, section, first + n] = [v[n] for v in values], allowed

    lanes = [thread % 32 for thread in range(THREADS)]
    for section, kind, bits in ((0, "bf16", bf16_bits), (2, "f16", f16_bits)):
        add("mma " + kind, section, 0, [[bits_of(x) for x in product(lane, 16)] for lane in lanes])
        add("loadMatrices", section, 4, [words(bits, lane, False) for lane in lanes])
        add("loadTransposed", section + 1, 0, [words(bits, lane, True) for lane in lanes])
    add("mma tf32", 4, 0, [[bits_of(x) for x in product(lane, 8)] for lane in lanes])

    def copied(thread):
        other = thread ^ 33
        four = numbers[4 * other: 4 * other + 4] if other % 3 else [0.0] * 4
        return [bits_of(x) for x in four + [numbers[other] if other % 2 else 0.0]]
    add("copyAsync16, copyAsync4", 5, 0, [copied(thread) for thread in range(THREADS)])
    add("anyThread", 5, 5, [[1, 0]] * THREADS)
    add("blockOf", 5, 7, [[0]] * THREADS)

    x = numbers[384:448]
    add("pack bf16", 6, 0, [[bf16_bits(v) | bf16_bits(v / 4) << 16] for v in x])
    add("pack f16", 6, 1, [[f16_bits(v) | f16_bits(v / 4) << 16] for v in x])
    add("roundTf32", 6, 2, [[tf32_bits(v)] for v in x])
    add("toFloat bf16", 6, 3, [[bits_of(v) & 0xFFFF0000] for v in x])
    add("toFloat f16", 6, 4, [[bits_of(struct.unpack("<e", struct.pack("<H", 0x3C00 + 17 * n))[0])]
                              for n in range(THREADS)])
    shifted = [n + 1 << n % 8 for n in range(THREADS)]
    add("lowestBit", 6, 5, [[(n & -n).bit_length() - 1] for n in shifted])
    add("shuffle", 6, 6, [[10 * (n - n % 32 + n % 32 * 7 % 32)] for n in range(THREADS)])
    add("shuffleXor", 6, 7, [[10 * (n ^ 5)] for n in range(THREADS)])

    # Of pow2 relative, 4 units in the last place; of the others absolute.
    powers = [2.0 ** v if v >= -126 else 0.0 for v in numbers[448:512]]
    add("pow2", 7, 0, [[v] for v in powers], 2.0 ** -21)
    add("sinInTurn", 7, 1, [[math.sin(v)] for v in numbers[512:576]], -(2.0 ** -20))
    add("cosInTurn", 7, 2, [[math.cos(v)] for v in numbers[512:576]], -(2.0 ** -20))
    add("infinity", 7, 3, [[0x7F800000]] * THREADS)
    return result


PROGRAM = Program("primitives", "attn_primitives", sections=8, threads=THREADS, words=8, shared=2048,
                  given=lambda: pack_array("f32", inputs()), expected=expected)
