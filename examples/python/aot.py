"""Attention from Python, by ctypes on NumPy arrays, with a kernel that attnc compiled:

    attnc compile examples/yat.attn --emit=shared --D 64 --Dv 32 -o libyat.so
    python3 examples/python/aot.py ./libyat.so
"""
import ctypes
import sys
import numpy as np


class Array(ctypes.Structure):  # attn_in_f32 and its like in the header
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.c_int64 * 4), ("strides", ctypes.c_int64 * 4)]

    def __init__(self, array, dtype=np.float32):
        assert array.dtype == dtype
        self.array = array  # is kept as long as it is pointed to
        steps = [s // array.itemsize for s in array.strides]
        super().__init__(array.ctypes.data, tuple(array.shape), tuple(steps))


class YatArgs(ctypes.Structure):  # yat_args, in the order of the header
    _fields_ = [(name, Array) for name in (
        "q", "k", "v", "b_raw", "eps_raw", "o", "mass", "key_lengths", "query_lengths", "offset")]
    _fields_ += [("workspace", ctypes.c_void_p), ("workspace_size", ctypes.c_int64)]


library = ctypes.CDLL(sys.argv[1])
library.yat_error.restype = ctypes.c_char_p


def yat(q, k, v, b_raw, eps_raw):
    o = np.empty(q.shape[:3] + v.shape[3:], np.float32)
    mass = np.empty(q.shape[:3], np.float32)
    args = YatArgs(*map(Array, (q, k, v, b_raw, eps_raw, o, mass)))
    status = library.yat(ctypes.byref(args))
    if status:
        raise ValueError(library.yat_error(status).decode())
    return o, mass


random = np.random.default_rng(0)
q = random.standard_normal((2, 200, 4, 64), np.float32).transpose(0, 2, 1, 3)  # any strides
k = random.standard_normal((2, 2, 200, 64), np.float32)
v = random.standard_normal((2, 2, 200, 32), np.float32)
b_raw, eps_raw = (random.standard_normal(4, np.float32) for _ in range(2))
o, mass = yat(q, k, v, b_raw, eps_raw)

# The definition, in float64. Two query heads share a key head.
x, y, z = q.astype(float), k.astype(float).repeat(2, axis=1), v.astype(float).repeat(2, axis=1)
b, eps = (np.log1p(np.exp(p.astype(float)))[:, None, None] for p in (b_raw, eps_raw))
square = ((x[:, :, :, None] - y[:, :, None]) ** 2).sum(-1)
kappa = np.tril((x @ y.swapaxes(2, 3) + b) ** 2 / (square + eps))
total = kappa.sum(-1)
error = max(np.abs(o - kappa @ z / total[..., None]).max(), np.abs(mass / total - 1).max())
print(f"largest error {error:.1e}")
sys.exit(not error < 1e-5)
