"""Writes and prints .npy files without NumPy.

    npy.py make FILE SHAPE [DESCR [VALUES]]   VALUES: a number for all, a comma list, or "ramp"
    npy.py show FILE                          type, shape, elements
"""
import ast
import struct
import sys

CODES = {"<f4": "f", "<f8": "d", "<f2": "e", "<i4": "i", "<i8": "q", "|i1": "b", "<i2": "h", "|u1": "B", "<u2": "H",
         "<u4": "I", "|b1": "B"}


def make(path, shape, descr="<f4", values="ramp"):
    extents = [int(e) for e in shape.split(",") if e]
    count = 1
    for extent in extents:
        count *= extent
    if values == "ramp":
        numbers = [n / 8 for n in range(count)]
    else:
        given = [float(v) for v in values.split(",")]
        numbers = given * count if len(given) == 1 else given
    if CODES[descr] in "iqbhBHI":
        numbers = [int(n) for n in numbers]
    tail = "," if len(extents) == 1 else ""
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }" % (
        descr, ", ".join(map(str, extents)), tail)
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<%d%s" % (count, CODES[descr]), *numbers))


def show(path):
    with open(path, "rb") as file:
        text = file.read()
    assert text[:8] == b"\x93NUMPY\x01\x00"
    (length,) = struct.unpack("<H", text[8:10])
    header = ast.literal_eval(text[10:10 + length].decode())
    code = CODES[header["descr"]]
    elements = text[10 + length:]
    numbers = struct.unpack("<%d%s" % (len(elements) // struct.calcsize(code), code), elements)
    print(header["descr"], header["shape"], " ".join("%.6g" % n for n in numbers))


{"make": make, "show": show}[sys.argv[1]](*sys.argv[2:])
