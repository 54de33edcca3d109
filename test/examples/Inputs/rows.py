"""Writes each file named as an .npy array of 300 rows of 64 normal numbers, without numpy."""
import random
import struct
import sys

random.seed(1)
for path in sys.argv[1:]:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (300, 64), }".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<19200f", *(random.gauss(0, 1) for _ in range(19200))))
