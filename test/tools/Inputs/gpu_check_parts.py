"""Parts of tools/gpu-check, against values worked out by hand."""
import math
import struct
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import arrays
import driver
import peers  # that it needs no PyTorch to be imported
import primitives
import products

# 1 + 2^-8 lies half way between 1 and its neighbour, and 1 is even; 1 + 3 2^-8 goes up.
assert [arrays.bf16_bits(x) for x in (1.0, 1 + 2**-8, 1 + 3 * 2**-8, -2.0)] == [0x3F80, 0x3F80, 0x3F82, 0xC000]
assert arrays.f16_bits(1 + 2**-11) == 0x3C00 and arrays.f16_bits(-0.5) == 0xB800
# Half way to the even one, which is below and above.
assert primitives.tf32_bits(1 + 2**-11) == arrays.bits_of(1)
assert primitives.tf32_bits(1 + 3 * 2**-11) == arrays.bits_of(1 + 2**-9)
for kind, step in (("f32", 2**-23), ("bf16", 2**-7), ("f16", 2**-10)):
    values = [0.0, -1.0, 1 + step, 3.5]
    assert list(arrays.widen(kind, arrays.pack(kind, values))) == values, kind
    assert len(arrays.pack(kind, values)) == 4 * arrays.BYTES[kind]

pool = arrays.Pool()
assert pool.digest() == arrays.Pool().digest() != arrays.Pool(2).digest()
f32 = arrays.widen("f32", pool.bytes["f32"])
assert abs(sum(f32) / len(f32)) < 0.01 and abs(math.sqrt(sum(x * x for x in f32) / len(f32)) - 0.7) < 0.01
size = arrays.Pool.SIZE
assert pool.piece("f32", 3, 2) == struct.pack("<2f", f32[3], f32[4])
assert pool.piece("f32", size - 1, 2) == struct.pack("<2f", f32[-1], f32[0])
assert pool.piece("bf16", 5, 2 * size + 1)[-2:] == pool.piece("bf16", 5, 1)
assert arrays.strides_of([2, 3, 5]) == [15, 5, 1]

# Its own code, else older code of the same major version, else PTX. What ends in a runs there alone.
gpu = driver.Gpu.__new__(driver.Gpu)
serves = {"sm_80": "a", "sm_86": "a", "sm_89": "b", "sm_90a": "c", "ptx": "d"}
for capability, wanted in {80: "a", 86: "a", 87: "a", 89: "b", 90: "c", 91: "d", 100: "d", 120: "d", 75: "d"}.items():
    gpu.capability = capability
    assert gpu.choose(serves)[0] == wanted, capability
assert gpu.choose({"sm_80": "a"})[0] is None
assert driver.evaluate("B * Hq * ceildiv(Nq, 64)", {"B": 2, "Hq": 3, "Nq": 65}) == 12

# A thread's sums: warp 1, lane 5 has rows 16 + 1 and 8 below, and of every 8 columns 2 and 3.
assert [products.place(37, n) for n in (0, 1, 2, 4, 6, 31)] == \
    [(17, 2), (17, 3), (25, 2), (17, 10), (25, 10), (25, 59)]
# In units of 16 bytes: 5760 are 360, 128 are 8, and 1024 are 64.
assert products.described(5760, 128, 1024) == [360 + 8 * 65536, 64]
# 51 mod 17, 70 mod 13, 90 mod 11.
assert (products.left(17, 0), products.right(10, 0), products.value(0, 10)) == (-8, -1, -3)

# A difference of one bit in one thread is found, and named.
for program, section, named in ((primitives.PROGRAM, 2, "mma f16"), (products.PROGRAMS[1], 5, "publish f16")):
    words = [0] * (program.size // 4)
    for (name, at, word), (values, allowed) in program.expected().items():
        for thread, value in enumerate(values):
            words[(at * program.threads + thread) * program.words + word] = \
                value if allowed is None else arrays.bits_of(value)
    pack = struct.Struct("<%dI" % len(words))
    assert not any(program.faults(pack.pack(*words)).values())
    words[(section * program.threads + 17) * program.words] ^= 1 << 13
    faults = program.faults(pack.pack(*words))
    assert [name for name, fault in faults.items() if fault] == [named] and "thread 17, word 0" in faults[named]
print("parts as expected")
