#!/usr/bin/env python3
"""Runs kernels that are compiled for AArch64, in an emulator of its instructions, and compares
them with the reference.

    cross.py ATTNC CC RUN WORK

CC compiles and links C for AArch64, RUN runs such a program.
"""
import math
import os
import random
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SPECS = os.path.join(HERE, "kernels.attn")
B, HQ, HK, D = 2, 4, 2, 64
CODES = {"f32": ("<f4", "f"), "f16": ("<f2", "e"), "bf16": ("<V2", "H")}
# kernel, type, queries, keys, options, key lengths, a factor of the values
CASES = [
    ("softmax", "f32", 133, 133, [], [133, 133], 1),
    ("yat", "f32", 133, 133, [], [133, 133], 1),
    ("elu1", "f32", 133, 133, ["--schedule=linear"], [133, 133], 1),
    ("elu1", "f32", 70, 70, ["--schedule=quadratic"], [70, 70], 1),
    ("ragged", "f32", 90, 201, [], [201, 66], 1),
    ("softmax", "bf16", 90, 100, [], [100, 61], 1),
    ("yat", "bf16", 70, 70, [], [70, 70], 1),
    ("softmax", "f16", 90, 100, [], [100, 61], 1),
    ("elu1", "f16", 70, 70, ["--schedule=linear"], [70, 70], 1),
    # Denormal numbers count as 0 (S4).
    ("softmax", "f32", 40, 40, [], [40, 40], 1e-39),
]


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit("%s\nexit status %d: %s" % (done.stdout, done.returncode, " ".join(command)))


def pack(numbers, kind):
    if kind == "bf16":  # the upper halves of floats
        words = struct.unpack("<%dI" % len(numbers), struct.pack("<%df" % len(numbers), *numbers))
        return struct.pack("<%dH" % len(words), *(word >> 16 for word in words))
    return struct.pack("<%d%s" % (len(numbers), CODES[kind][1]), *numbers)


def unpack(raw, kind):
    if kind == "bf16":
        words = struct.unpack("<%dH" % (len(raw) // 2), raw)
        raw, kind = struct.pack("<%dI" % len(words), *(word << 16 for word in words)), "f32"
    code = CODES[kind][1]
    return struct.unpack("<%d%s" % (len(raw) // struct.calcsize(code), code), raw)


def write_npy(path, shape, descr, raw):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, tuple(shape))
    header = header.ljust(-(len(header) + 11) % 64 + len(header)) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + raw)


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 10 + struct.unpack("<H", data[8:10])[0]
    assert b"'<f4'" in data[:at] or b"'<f2'" in data[:at] or b"V2'" in data[:at], data[:at]
    kind = "f32" if b"'<f4'" in data[:at] else "f16" if b"'<f2'" in data[:at] else "bf16"
    return unpack(data[at:], kind)


def errors(got, expected):
    """The largest difference over the largest value, and the relative difference in L2."""
    assert len(got) == len(expected), (len(got), len(expected))
    if not all(map(math.isfinite, got)):
        return math.inf, math.inf
    differences = [abs(a - b) for a, b in zip(got, expected)]
    largest = max(map(abs, expected)) or 1
    square = sum(b * b for b in expected) or 1
    return max(differences) / largest, math.sqrt(sum(d * d for d in differences) / square)


def run_case(attnc, cc, runner, work, case):
    kernel, kind, nq, nk, options, lengths, factor = case
    rng = random.Random(1)
    shapes = {"q": (B, HQ, nq, D), "k": (B, HK, nk, D), "v": (B, HK, nk, D)}
    raws = {}
    for name, shape in shapes.items():
        scale = factor if name == "v" else 1
        raws[name] = pack([scale * rng.uniform(-1.5, 1.5) for _ in range(math.prod(shape))], kind)
        write_npy(os.path.join(work, name + ".npy"), shape, CODES[kind][0], raws[name])
    write_npy(os.path.join(work, "lengths.npy"), (B,), "<i8", struct.pack("<%dq" % B, *lengths))
    with open(os.path.join(work, "in.raw"), "wb") as file:
        file.write(b"".join(raws.values()))

    run(attnc, "run", SPECS, "--spec-name", kernel, "--target=reference", "--in", "q=q.npy", "--in", "k=k.npy",
        "--in", "v=v.npy", "--in", "key_lengths=lengths.npy", "--out", "o=o.npy", "--out", "mass=mass.npy", cwd=work)
    run(attnc, "compile", SPECS, "--spec-name", kernel, "--march=aarch64", "--type", kind, "--D", str(D), "--Dv",
        str(D), "--emit=obj", "-o", "kernel.o", "--header", "kernel.h", *options, cwd=work)
    run(cc, "-std=gnu99", "-O1", "-Wall", "-Wextra", "-Werror", "-static", "-I.", "-DKERNEL=" + kernel,
        "-DELEMENT=" + ("float" if kind == "f32" else "uint16_t"), "-DB=%d" % B, "-DHQ=%d" % HQ, "-DHK=%d" % HK,
        "-DNQ=%d" % nq, "-DNK=%d" % nk, "-DD=%d" % D, "-DKEY_LENGTHS=" + ",".join(map(str, lengths)),
        os.path.join(HERE, "main.c"), "kernel.o", "-o", "program", cwd=work)
    run(runner, "./program", cwd=work)

    with open(os.path.join(work, "out.raw"), "rb") as file:
        raw = file.read()
    size = B * HQ * nq * D * (4 if kind == "f32" else 2)
    worst, square = errors(unpack(raw[:size], kind), read_npy(os.path.join(work, "o.npy")))
    expected = read_npy(os.path.join(work, "mass.npy"))
    masses = unpack(raw[size:], "f32")
    mass = max(abs(a - b) / max(abs(b), 2**-126) for a, b in zip(masses, expected)) \
        if all(map(math.isfinite, masses)) else math.inf
    # The bounds of the design; mass has no cancellation in these kernels.
    error, bound = {"f32": (worst, 1e-5), "bf16": (square, 4e-3), "f16": (square, 1e-3)}[kind]
    passed = error <= bound and mass <= 1e-5
    if factor != 1:
        passed = passed and not any(unpack(raw[:size], kind))
    print("%-4s %-8s %-4s %3d x %3d %-22s o %.1e  mass %.1e"
          % ("ok" if passed else "BAD", kernel, kind, nq, nk, " ".join(options), error, mass))
    return passed


def main(attnc, cc, runner, work):
    os.makedirs(work, exist_ok=True)
    if not all([run_case(attnc, cc, runner, work, case) for case in CASES]):
        sys.exit(1)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
