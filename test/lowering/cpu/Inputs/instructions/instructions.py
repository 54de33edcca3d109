#!/usr/bin/env python3
"""Counts the instructions of the two main kernels and compares them with the record.

    instructions.py pairs|loops|bf16|tiles check|renew ATTNC WORK

pairs   Kernels compiled ahead of time for x86-64-v3 run under callgrind: instructions a visible
        pair of query and key, of one call with everything that it does. (valgrind 3.19 knows no
        AVX-512, hence:)
loops   Kernels compiled for x86-64-v4, their assembly is read: what stands in each hot loop.
        A loop is what lies between a label and a jump back to it; it is an inner one if no other
        lies in it; it is hot if more than half of its instructions are multiply-adds of 16 lanes:
        the two products of a key step, rows of keys and values against vectors of queries.
bf16    The same of bf16 rows for level avx512bf16, where two products of a lane count as one.
tiles   The same of bf16 rows for level amx, where a tile's product counts as one multiply-add and
        a loop is hot from a sixth of them on: the two products, and kappa between them.

The record, record.txt beside this file, holds the figures. More than 10% above one of them is a
regression, and more than 10% below asks for a new record: a record that is not true guards
nothing. ATTNC is the program, WORK a scratch folder.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(HERE, "record.txt")
KERNELS = ["softmax", "softmax_causal", "yat", "yat_causal"]
N, D, TOLERANCE = 512, 64, 0.10


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit("%s\nexit status %d: %s" % (done.stdout, done.returncode, " ".join(command)))


# Of what counts loops: the level, the type, and how many instructions a multiply-add a hot one has at most.
LOOPS = {"loops": ("x86-64-v4", "f32", 2), "bf16": ("avx512bf16", "bf16", 2), "tiles": ("amx", "bf16", 6)}


def compile_kernel(attnc, kernel, level, *options):
    run(attnc, "compile", os.path.join(HERE, "kernels.attn"), "--spec-name", kernel,
        "--march", level, "--D", str(D), "--Dv", str(D), *options)


def count_pairs(attnc, work, kernel):
    """Instructions of one call, by pairs that the mask lets see each other."""
    path = os.path.join(work, kernel)
    compile_kernel(attnc, kernel, "x86-64-v3", "--emit=obj", "-o", path + ".o", "--header", path + ".h")
    run("cc", "-std=c99", "-O1", "-DKERNEL=" + kernel, '-DHEADER="%s.h"' % kernel, "-DN=%d" % N, "-DD=%d" % D,
        "-I", work, os.path.join(HERE, "main.c"), path + ".o", "-o", path)
    run("valgrind", "--tool=callgrind", "--toggle-collect=" + kernel,
        "--callgrind-out-file=" + path + ".callgrind", path)
    with open(path + ".callgrind") as file:
        total = int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M)[1])
    return {"-": [total / (N * (N + 1) / 2 if "causal" in kernel else N * N)]}


def inner_loops(lines):
    """The instructions of each inner loop."""
    place = {line.split(":")[0]: n for n, line in enumerate(lines) if line.startswith(".LBB")}
    jumps = [(place.get(line.split()[-1], n + 1), n) for n, line in enumerate(lines) if re.match(r"j\w+\s", line)]
    loops = sorted({(to, at) for to, at in jumps if to <= at})
    for first, last in loops:
        if not any((a, b) != (first, last) and first <= a and b <= last for a, b in loops):
            yield [line for line in lines[first:last + 1] if not line.startswith(".")]


def classify(instruction):
    operation, _, operands = instruction.partition("\t")
    is_fma = re.match(r"(vfn?m(add|sub)\d+|vdpbf16)ps$", operation) and "%zmm" in operands or operation == "tdpbf16ps"
    memory = "(" in operands and not operation.startswith(("lea", "prefetch", "nop"))
    is_store = memory and operands.endswith(")") and not operation.startswith(("cmp", "test"))
    return bool(is_fma), bool(memory and not is_store), bool(is_store)


def count_loops(attnc, work, kernel, mode):
    """Of each hot loop, in the order of the code: multiply-adds, loads, stores, others."""
    path = os.path.join(work, kernel + ".s")
    level, kind, most = LOOPS[mode]
    compile_kernel(attnc, kernel, level, "--type", kind, "--emit=asm", "-o", path)
    with open(path) as file:
        lines = [line.strip() for line in file]
    counts = []
    for loop in inner_loops(lines):
        kinds = [classify(instruction) for instruction in loop]
        if most * sum(fma for fma, _, _ in kinds) > len(loop):
            counts.append([sum(column) for column in zip(*kinds)] + [sum(not any(kind) for kind in kinds)])
    return {"loop%d" % (n + 1): count for n, count in enumerate(counts)}


def compared(mode, figures):
    """What is compared. An unrolled loop does more, so that its figures are those of a multiply-add."""
    if mode == "pairs":
        return {"instructions a pair": figures[0]}
    fmas, loads, stores, others = figures
    # One that multiplies by memory is a load, too.
    return {"loads a multiply-add": loads / fmas, "stores a multiply-add": stores / fmas,
            "instructions a multiply-add but for loads and stores": (fmas + others) / fmas}


def read_record():
    with open(RECORD) as file:
        rows = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {tuple(row[:3]): [float(value) for value in row[3:]] for row in rows}


def line_of(key, figures):
    return "%-6s %-15s %-6s %s" % (*key, " ".join("%.4g" % figure for figure in figures))


def write_record(record):
    with open(RECORD, "w") as file:
        file.write("# What instructions.py counts. Renewed by\n"
                   "#   for m in pairs loops bf16 tiles; do test/lowering/cpu/Inputs/instructions/instructions.py $m renew "
                   "build/bin/attnc /tmp/counts; done\n"
                   "# loops, bf16, tiles: multiply-adds, loads, stores, others of a hot loop; pairs: instructions a pair\n")
        for key in sorted(record):
            file.write(line_of(key, record[key]) + "\n")


def compare(key, figures, recorded):
    if recorded is None:
        return [" ".join(key) + ": there is no record of it"]
    failures, old = [], compared(key[0], recorded)
    for name, value in compared(key[0], figures).items():
        text = "%s: %.4g %s, %%s the record of %.4g" % (" ".join(key), value, name, old[name])
        if value > old[name] * (1 + TOLERANCE):
            failures.append(text % "more than 10% above")
        if value < old[name] * (1 - TOLERANCE):
            failures.append(text % "more than 10% below" + ": renew it")
    return failures


def main(mode, action, attnc, work):
    os.makedirs(work, exist_ok=True)
    record = read_record() if os.path.exists(RECORD) else {}
    counted = {(mode, kernel, name): figures for kernel in KERNELS
               for name, figures in (count_loops(attnc, work, kernel, mode) if mode in LOOPS else
                                     count_pairs(attnc, work, kernel)).items()}
    for key, figures in counted.items():
        print(line_of(key, figures))
    if action == "renew":
        return write_record({**{key: old for key, old in record.items() if key[0] != mode}, **counted})
    failures = [text for key, figures in counted.items() for text in compare(key, figures, record.get(key))]
    failures += [" ".join(key) + ": recorded, and not found" for key in record
                 if key[0] == mode and key not in counted]
    if failures:
        sys.exit("\n".join(failures) + "\nIf that is as it should be, renew record.txt; its first lines say how.")


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in ("pairs", *LOOPS) or sys.argv[2] not in ("check", "renew"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
