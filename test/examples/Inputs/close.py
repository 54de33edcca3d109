"""Fails if two PPM or PGM pictures differ in form, or anywhere by more than one level of 255."""
import sys


def parts(path):
    data = open(path, "rb").read()
    header = b"".join(data.split(b"\n", 3)[:3])
    return header, data[len(header) + 3 :]


(header, first), (other, second) = map(parts, sys.argv[1:3])
if header != other or len(first) != len(second):
    sys.exit(f"{sys.argv[1:3]}: of different form")
worst = max(abs(a - b) for a, b in zip(first, second))
if worst > 1:
    sys.exit(f"{sys.argv[1:3]}: {worst} levels apart")
