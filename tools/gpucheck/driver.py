"""The driver by ctypes: no package is needed. ATTN_CUDA names another library than libcuda.so.1."""
import ctypes
import gzip
import json
import math
import os

from arrays import strides_of

BYTES = {"float": 4, "int": 4, "i64": 8}  # of what is no row


class Failed(Exception):
    """A call of the driver; the context is gone with most."""


class Gpu:
    def __init__(self, ordinal=0):
        self.cuda, self.ordinal, self.context = ctypes.CDLL(os.environ.get("ATTN_CUDA") or "libcuda.so.1"), ordinal, None
        self.check(self.cuda.cuInit(0))
        self.device, name, version = ctypes.c_int(), ctypes.create_string_buffer(100), ctypes.c_int()
        self.check(self.cuda.cuDeviceGet(ctypes.byref(self.device), ordinal))
        self.open()
        self.cuda.cuDeviceGetName(name, 100, self.device)
        self.cuda.cuDriverGetVersion(ctypes.byref(version))
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.check(self.cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, self.device))
        self.check(self.cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, self.device))
        self.name, self.driver = name.value.decode(), f"{version.value // 1000}.{version.value % 1000 // 10}"
        self.capability = 10 * major.value + minor.value

    def open(self):
        self.context = ctypes.c_void_p()
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), self.device))
        self.check(self.cuda.cuCtxSetCurrent(self.context))

    def reset(self):
        """A new context, after a failure that took the old one."""
        self.cuda.cuDevicePrimaryCtxReset_v2(self.device)
        self.open()

    def check(self, result):
        if result:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(result, ctypes.byref(text))
            raise Failed((text.value or b"unknown error").decode())

    def choose(self, serves):
        """The file for this GPU of those for all: its own, an older one of the same major version,
        or PTX, which the driver compiles; and which of them it is."""
        best = ("", -1)
        for arch in serves:
            known = int("".join(c for c in arch if c.isdigit()) or 0)
            if known // 10 == self.capability // 10 and best[1] < known <= self.capability:
                if not arch.endswith("a") or known == self.capability:
                    best = (arch, known)
        arch = best[0] or "ptx"
        return serves.get(arch), arch

    def allocate(self, data, size=None):
        address = ctypes.c_ulonglong()
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(1, size or len(data)))))
        if data:
            self.check(self.cuda.cuMemcpyHtoD_v2(address, data, ctypes.c_size_t(len(data))))
        return address.value

    def fetch(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.check(self.cuda.cuMemcpyDtoH_v2(data, ctypes.c_ulonglong(address), ctypes.c_size_t(size)))
        return data.raw

    def free(self, addresses):
        for address in addresses:
            self.cuda.cuMemFree_v2(ctypes.c_ulonglong(address))

    def sync(self):
        self.check(self.cuda.cuCtxSynchronize())

    def load(self, directory, file):
        """A module: a cubin, or PTX, with the zero that ends it."""
        with gzip.open(f"{directory}/{file}.gz") as f:
            code = f.read() + b"\0"
        module = ctypes.c_void_p()
        self.check(self.cuda.cuModuleLoadData(ctypes.byref(module), code))
        return module

    def function(self, module, entry, shared):
        function = ctypes.c_void_p()
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, entry.encode()))
        self.check(self.cuda.cuFuncSetAttribute(function, 8, shared))
        return function

    def launch(self, *what):
        self.check(self.prepare(*what)())

    def prepare(self, function, blocks, threads, shared, values):
        """What launches, and returns the driver's answer: in microseconds, since kernels take few."""
        words = [ctypes.c_longlong(v) for v in values]
        pointers = (ctypes.c_void_p * len(words))(*[ctypes.addressof(w) for w in words])
        go, rest = self.cuda.cuLaunchKernel, (blocks, 1, 1, threads, 1, 1, shared, None, pointers, None)
        return lambda values=words: go(function, *rest)  # pointers point to them

    def seconds(self, run, most=0.3):
        """The least time of a run, by the GPU's clock, after two that are not counted."""
        begin, end, took = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        self.check(self.cuda.cuEventCreate(ctypes.byref(begin), 0))
        self.check(self.cuda.cuEventCreate(ctypes.byref(end), 0))
        best, total = math.inf, 0.0
        for n in range(50):
            self.check(self.cuda.cuEventRecord(begin, None))
            run()
            self.check(self.cuda.cuEventRecord(end, None))
            self.check(self.cuda.cuEventSynchronize(end))
            self.check(self.cuda.cuEventElapsedTime(ctypes.byref(took), begin, end))
            if n >= 2:
                best, total = min(best, took.value / 1e3), total + took.value / 1e3
            if n >= 4 and total > most:
                break
        self.cuda.cuEventDestroy_v2(begin)
        self.cuda.cuEventDestroy_v2(end)
        return best


class Kernel:
    """One of attnc's, launched as its launch file says."""

    def __init__(self, gpu, directory, file):
        self.gpu = gpu
        with open(f"{directory}/{file}.json") as f:
            self.about = json.load(f)
        self.module = gpu.load(directory, file)
        self.functions = [gpu.function(self.module, k["entry"], k["shared_bytes"]) for k in self.about["kernels"]]

    def unload(self):
        self.gpu.cuda.cuModuleUnload(self.module)

    def launch(self, arrays):
        for go in self.prepare(arrays):
            self.gpu.check(go())

    def prepare(self, arrays):
        """The launches; `arrays`: (role, name) -> (address, shape, strides)."""
        launches = []
        for kernel, function in zip(self.about["kernels"], self.functions):
            values, extents = [], {}
            for p in kernel["parameters"]:
                address, shape, strides = arrays[(p.get("of_role", p["role"]), p["of"])]
                values.append(address if "axis" not in p else
                              (shape if p["role"] == "extent" else strides)[p["axis"]])
                if p["role"] == "extent":
                    extents[p["name"]] = values[-1]
            blocks = evaluate(kernel["grid"], extents)
            if blocks:
                launches.append(self.gpu.prepare(function, blocks, kernel["block"], kernel["shared_bytes"], values))
        return launches

    def arrays(self, given, extents, element):
        """Device arrays for every argument: `given` by (role, name), the rest made here; and what
        was made. Elements of rows have `element` bytes."""
        result, owned = dict(given), []
        for a in self.about["arguments"]:
            key = (a["role"], a["name"])
            if key in given:
                continue
            if a["role"] in ("key_lengths", "query_lengths", "offset"):
                shape = [0]
            else:
                batch, heads, count = a.get("shape", "B Hq Nq").split(" ", 2)
                shape = [extents[batch], extents[heads], evaluate(count, extents)] + ([a["row"]] if "row" in a else [])
            owned.append(self.gpu.allocate(None, max(1, math.prod(shape)) * BYTES.get(a["type"], element)))
            result[key] = (owned[-1], shape, strides_of(shape))
        return result, owned


def tokens(array, begin, count, element):
    """Those rows of an array (address, shape, strides)."""
    address, shape, strides = array
    return address + begin * strides[2] * element, shape[:2] + [count] + shape[3:], strides


def evaluate(formula, extents):
    """A formula of a launch file."""
    return eval(formula, {"__builtins__": {}, "max": max, "min": min, "ceildiv": lambda a, b: -(-a // b),
                          "floordiv": lambda a, b: a // b}, extents)
