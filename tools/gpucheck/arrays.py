"""Types, arrays and the numbers that both sides make from a seed: plain Python."""
import array
import hashlib
import random
import struct

BYTES = {"f32": 4, "bf16": 2, "f16": 2}


def bits_of(x):
    """The bits of x as f32."""
    return struct.unpack("<I", struct.pack("<f", x))[0]


def from_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]


def bf16_bits(x):
    """The bits of x as bf16, to nearest even."""
    bits = bits_of(x)
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def f16_bits(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def pack(kind, values):
    """The bytes of an array of that type."""
    if kind == "f32":
        return array.array("f", values).tobytes()
    if kind == "f16":
        return struct.pack("<%de" % len(values), *values)
    bits = array.array("I", array.array("f", values).tobytes())
    return array.array("H", [b + 0x7FFF + (b >> 16 & 1) >> 16 for b in bits]).tobytes()


def widen(kind, data):
    """The numbers in the bytes of an array."""
    if kind == "f32":
        return array.array("f", data)
    if kind == "f16":
        return struct.unpack("<%de" % (len(data) // 2), data)
    return array.array("f", array.array("I", [h << 16 for h in array.array("H", data)]).tobytes())


class Pool:
    """Numbers like normal ones of deviation 0.7, the same on every machine: sums of uniform
    ones, by additions and one product alone. Arrays are pieces of it."""
    SIZE = 262139  # prime: pieces that begin at multiples of a row length differ

    def __init__(self, seed=1):
        uniform = random.Random(seed).random
        exact = [(uniform() + uniform() + uniform() + uniform() - 2) * 1.2125 for _ in range(self.SIZE)]
        self.bytes = {kind: pack(kind, exact) for kind in BYTES}

    def digest(self):
        return hashlib.sha256(b"".join(self.bytes[kind] for kind in sorted(self.bytes))).hexdigest()

    def piece(self, kind, at, count):
        """The bytes of `count` numbers from the one at `at` on, and around."""
        size, whole = BYTES[kind], self.bytes[kind]
        data = whole[at % self.SIZE * size:]
        data += whole * ((count * size - len(data)) // len(whole) + 1) if len(data) < count * size else b""
        return data[:count * size]


def write_npy(path, shape, values, kind="f"):
    descr = {"f": "<f4", "q": "<i8"}[kind]
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, tuple(shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        f.write(array.array(kind, values).tobytes())


def read_npy(path):
    with open(path, "rb") as f:
        data = f.read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return array.array("d" if b"<f8" in data[:start] else "f", data[start:])


def strides_of(shape):
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides
