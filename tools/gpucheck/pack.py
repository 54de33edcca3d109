"""Fills a folder for a machine with a GPU: runs where attnc is built, with NVRTC, without a GPU."""
import concurrent.futures
import ctypes
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import primitives
import products
from arrays import Pool, pack as pack_array, read_npy, widen, write_npy

LIMIT = 60 << 20
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90a")
PTX = "sm_86"  # what other GPUs compile: the architecture with the least shared memory
# Nq, Nk, D of the cases; the last is split by keys, and linear where that is less work. f16 takes
# the code of bf16 but for a type: its rows are of the first length alone.
SHAPES = [(65, 65, 64), (33, 100, 128), (5, 1100, 64)]
HEADS = (4, 2)
# Examples whose calls go on from a state, too: a sequence in calls of so many tokens. Those of at
# most FEW tokens have a program of their own, as in the runtime (kFewTokens).
RECURRENT, PIECES, FEW = ("elu1", "retnet"), (70, 17, 8, 1, 1, 1, 1, 1), 16
GOES_ON, A_STEP = ["--schedule=recurrent"], ["--schedule=recurrent", f"--tiles={FEW},{FEW}"]
# Parameters of the examples; what is not here gets 0.5. cosformer's M is beyond all positions,
# where no weight is negative; rows lie about 8 to 11 apart: a narrower kernel would see one key.
NUMBERS = {"h": 8, "sigma": 6, "W": 12, "M": 2400, "leave_out": 0, "n": 9, "w": 40, "g": 0.9}
def spec_of(head, body):
    return f"attention {head} {{ {body} }}"


SOFTMAX, YAT, LINEAR = "softmax(q, k, v)", "yat(q, k, v; b >= 0, eps > 0)", "linear(q, k, v)"
EXP, NEAR = "kappa = exp(dot(q, k) / sqrt(dim))", "kappa = (dot(q, k) + b)^2 / (sqdist(q, k) + eps)"
ELU = "phi(x) = elu(x) + 1; kappa = dot(phi(q), phi(k))"
CAUSAL = "; mask = causal"
# What is timed, in bf16, at each row length. Without a shape: at the lengths that are asked for.
TIMED = {
    "softmax": {"spec": spec_of(SOFTMAX, EXP)},
    "softmax causal": {"spec": spec_of(SOFTMAX, EXP + CAUSAL)},
    "yat": {"spec": spec_of(YAT, NEAR)},
    "yat causal": {"spec": spec_of(YAT, NEAR + CAUSAL)},
    "linear": {"spec": spec_of(LINEAR, ELU)},
    "linear causal": {"spec": spec_of(LINEAR, ELU + CAUSAL)},
    # A query a head, eight heads to those of a key: split by keys, which are more than a cache holds.
    "softmax decode": {"spec": spec_of(SOFTMAX, EXP), "lengths": (128,),
                       "shape": {"B": 1, "Hq": 64, "Hk": 8, "Nq": 1, "Nk": 65536}},
    # A token for each of 1024 states.
    "linear step": {"spec": spec_of(LINEAR, ELU + CAUSAL), "options": A_STEP, "lengths": (64,),
                    "shape": {"B": 64, "Hq": 16, "Hk": 16, "Nq": 1, "Nk": 1}},
}


class Failed(Exception):
    pass


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failed(" ".join(command) + "\n" + done.stderr.strip())
    return done.stdout


# --- machine code ----------------------------------------------------------------------------

def compile_one(attnc, spec, kind, d, options, stem, directory, architectures):
    """Sources, and a cubin for each that is another one; which file serves which architecture."""
    serves, bodies = {}, {}
    common = [attnc, "compile", spec, "--target=cuda", "--type=" + kind, f"--D={d}", f"--Dv={d}"] + options

    def emit(arch, what, folder):
        path = f"{folder}/{what}"
        call(common + ["--arch=" + arch, "--emit=" + what, "-o", path])
        with open(path, "rb") as f:
            data = f.read()
        with open(f"{folder}/{what}.launch.json") as f:
            return data, json.load(f)

    def keep(name, data, launch):
        with gzip.GzipFile(f"{directory}/{name}.gz", "wb", mtime=0) as f:
            f.write(data)
        if launch:
            with open(f"{directory}/{name}.json", "w") as f:
                json.dump(launch, f, separators=(",", ":"))

    for arch in architectures:
        with tempfile.TemporaryDirectory() as folder:
            source, _ = emit(arch, "cuda", folder)
            body = source.split(b"\n", 1)[1]  # the first line has the architecture
            # Machine code runs on later GPUs of the same major version.
            same = (arch[3], body)
            if same not in bodies:
                bodies[same] = f"{stem}.{arch}.cubin"
                keep(bodies[same], *emit(arch, "cubin", folder))
                if body not in bodies:
                    keep(f"{stem}.{arch}.cu", source, None)
                    bodies[body] = True
            serves[arch] = bodies[same]
    with tempfile.TemporaryDirectory() as folder:
        serves["ptx"] = f"{stem}.ptx"
        keep(serves["ptx"], *emit(PTX, "ptx", folder))
    return serves


class Nvrtc:
    """For what is no attention kernel; attnc looks in the same places."""

    def __init__(self):
        given = os.environ.get("ATTN_NVRTC", "")
        names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"]
        places = [given] + [f"{given}/{n}" for n in names] if given else \
            names + [f"{folder}/{n}" for folder in ["/usr/local/cuda/lib64"] +
                     sorted(glob.glob("/usr/local/cuda-*/lib64"), reverse=True) for n in names]
        for place in places:
            try:
                self.library = ctypes.CDLL(place)
                return
            except OSError:
                pass
        raise Failed("NVRTC is not here: looked for " + ", ".join(places))

    def compile(self, source, name, arch):
        """A cubin, or for compute_80 and the like PTX."""
        n, program = self.library, ctypes.c_void_p()
        is_ptx = arch.startswith("compute")

        def check(result):
            if result:
                size = ctypes.c_size_t()
                n.nvrtcGetProgramLogSize(program, ctypes.byref(size))
                log = ctypes.create_string_buffer(size.value)
                n.nvrtcGetProgramLog(program, log)
                raise Failed(f"NVRTC refuses {name} for {arch}: {log.value.decode()}")
        check(n.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None))
        options = [f"--gpu-architecture={arch}", "--std=c++17", "--ftz=true", "--diag-suppress=177"]
        check(n.nvrtcCompileProgram(program, len(options),
                                    (ctypes.c_char_p * len(options))(*[o.encode() for o in options])))
        size = ctypes.c_size_t()
        check((n.nvrtcGetPTXSize if is_ptx else n.nvrtcGetCUBINSize)(program, ctypes.byref(size)))
        code = ctypes.create_string_buffer(size.value)
        check((n.nvrtcGetPTX if is_ptx else n.nvrtcGetCUBIN)(program, code))
        n.nvrtcDestroyProgram(ctypes.byref(program))
        return code.raw


def compile_programs(root, attnc, directory, architectures):
    """What tries the functions of the machine: each file's name by architecture, by program."""
    nvrtc, codes = Nvrtc(), {}

    def keep(name, data):
        with gzip.GzipFile(f"{directory}/{name}.gz", "wb", mtime=0) as f:
            f.write(data)

    def add(program, source, serves):
        keep(program.name + ".cu", source.encode())
        for arch in serves:
            file = f"{program.name}.{arch}"
            keep(file, nvrtc.compile(source, program.name, "compute_" + PTX[3:] if arch == "ptx" else arch))
            codes.setdefault(program.name, {})[arch] = file

    def read(path):
        with open(root + path) as f:
            return f.read()
    add(primitives.PROGRAM, "#ifdef ATTN_HOST_PRELUDE\n#include ATTN_HOST_PRELUDE\n#else\n" +
        read("/lowering/cuda/prelude/Device.h") + "#endif\n" + read("/tools/gpucheck/primitives.cu"),
        list(architectures) + ["ptx"])
    if products.ARCH not in architectures:
        return codes
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/products.attn", "w") as f:
            f.write(products.SPEC)
        for program in products.PROGRAMS:
            kind = program.name.split(".")[1]
            emitted = call([attnc, "compile", folder + "/products.attn", "--target=cuda", "--arch=" + products.ARCH,
                            "--type=" + kind, "--tiles=" + products.TILES])
            add(program, emitted[:emitted.index("//===- the kernels")] +
                f"using Element = {kind.title()};\n" + read("/tools/gpucheck/products.cu"), [products.ARCH])
    return codes


# --- cases -----------------------------------------------------------------------------------

def parameters(spec):
    """{name: axes} of a spec, from its head."""
    with open(spec) as f:
        text = re.sub("#.*", "", f.read())
    head = re.search(r"attention\s+\w+\s*\(([^)]*)\)", text).group(1)
    found = {}
    for one in re.split(r",(?![^\[]*\])", head.partition(";")[2]):
        if one.strip():
            name, axes = re.match(r"\s*(\w+)\s*(?:\[([^\]]*)\])?", one).groups()
            found[name] = [a.strip() for a in axes.split(",")] if axes else []
    return found


def extent(axis, case):
    known = {"head": case["Hq"], "kv_head": case["Hk"], "batch": 1, "nq": case["Nq"], "nk": case["Nk"]}
    low, colon, high = axis.partition(":")
    return int(high) - int(low) + 1 if colon else known.get(axis, case["D"])  # else a size variable


def make_case(attnc, spec, kind, nq, nk, d, at, pool, pieces=None):
    """Inputs as parts of the pool, and what float64 makes of them, at some rows; in pieces: which
    code computes how many tokens."""
    name = os.path.basename(spec)[:-5]
    described = json.loads(call([attnc, "compile", spec, "--target=cuda", "--emit=launch", f"--D={d}", f"--Dv={d}"]))
    roles = [(a["role"], a["name"], a["row"]) for a in described["arguments"] if a["role"] in ("query", "key", "value")]
    rows = {n: row for _, n, row in roles}
    of_query = {n for role, n, _ in roles if role == "query"}
    shared = len(roles) > len(rows) and any(n in of_query for role, n, _ in roles if role != "query")
    axes = parameters(spec)
    both = {"head", "kv_head"} <= {a for axis in axes.values() for a in axis}
    case = {"stem": f"{name}.{kind}.{d}", "name": name, "kind": kind, "D": d, "Nq": nk if shared else nq, "Nk": nk,
            "Hq": HEADS[0] if both or not shared else HEADS[1], "Hk": HEADS[1], "inputs": {}, "parameters": {}}
    step = 0
    for n, row in rows.items():
        heads = 1 if shared and both else case["Hq"] if n in of_query else case["Hk"]
        shape = [1, heads, case["Nq"] if n in of_query else nk, row]
        case["inputs"][n] = {"shape": shape, "at": at + step}
        step += shape[1] * shape[2] * row
    for n, axis in axes.items():
        if name == "plm" and n == "doc":  # documents of 24
            case["parameters"][n] = {"shape": [1, nk], "each": 24}
        elif any(a not in ("head", "kv_head", "batch") for a in axis):
            shape = [extent(a, case) for a in axis]
            case["parameters"][n] = {"shape": shape, "at": at + step, "scale": 1 / d ** 0.5}
            step += 4099
        else:
            case["parameters"][n] = NUMBERS.get(n, 0.5)
    with tempfile.TemporaryDirectory() as folder:
        command = [attnc, "run", spec, "--target=reference", "--out", f"o={folder}/o.npy"]
        for n, one in case["inputs"].items():
            size = one["shape"][1] * one["shape"][2] * one["shape"][3]
            write_npy(f"{folder}/{n}.npy", one["shape"], widen(kind, pool.piece(kind, one["at"], size)))
            command += ["--in", f"{n}={folder}/{n}.npy"]
        for n, one in case["parameters"].items():
            if isinstance(one, dict):
                write_npy(f"{folder}/{n}.npy", one["shape"], parameter_values(one, pool), "q" if "each" in one else "f")
                one = f"{folder}/{n}.npy"
            command += ["--in", f"{n}={one}"]
        call(command)
        o = read_npy(folder + "/o.npy")
    count = case["Nq"]
    case["row"] = len(o) // case["Hq"] // count
    case["rows"] = sorted({0, 1, 2, 3, count // 3, count // 2, 2 * count // 3, count - 3, count - 2, count - 1} &
                          set(range(count)))
    if pieces:
        ends = [sum(n for _, n in pieces[:i + 1]) for i in range(len(pieces))]
        case.update(stem=f"{name}.recurrent.{kind}.{d}", pieces=pieces)
        case["rows"] = sorted({0, 1, count // 3, *ends[:-1], *(end - 1 for end in ends)})
    expected = [x for h in range(case["Hq"]) for r in case["rows"]
                for x in o[(h * count + r) * case["row"]:(h * count + r + 1) * case["row"]]]
    return case, pack_array("f32", expected)


def parameter_values(one, pool):
    count = 1
    for n in one["shape"]:
        count *= n
    if "each" in one:
        return [n // one["each"] for n in range(count)]
    return [x * one["scale"] for x in widen("f32", pool.piece("f32", one["at"], count))]


# --- the folder ------------------------------------------------------------------------------

def pack(directory, attnc, only, architectures):
    begin = time.time()
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    attnc = attnc or root + "/build/bin/attnc"
    known = sorted(os.path.basename(f)[:-5] for f in glob.glob(root + "/examples/*.attn"))
    timed = {"time." + name.replace(" ", "_"): name for name in TIMED}
    wanted = known + list(timed) if only is None else only.split(",")
    for name in wanted:
        if name not in known and name not in timed:
            raise Failed(f"there is no {name}; there are {', '.join(known + list(timed))}")
    names = [name for name in wanted if name in known]
    if os.path.exists(directory) and os.listdir(directory) and not os.path.exists(directory + "/gpucheck"):
        raise Failed(f"{directory} is not empty, and no such folder: name another one")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory + "/gpucheck")
    pool = Pool()
    plan = {"pool": pool.digest(), "cases": [], "timed": []}
    plan["codes"] = compile_programs(root, attnc, directory, architectures)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor, \
            tempfile.TemporaryDirectory() as specs:
        codes, cases = {}, []
        for n, name in enumerate(names):
            spec = f"{root}/examples/{name}.attn"
            for kind in ("f32", "bf16", "f16"):
                for s, (nq, nk, d) in enumerate(SHAPES):
                    if kind == "f16" and d != SHAPES[0][2]:
                        continue
                    cases.append(executor.submit(make_case, attnc, spec, kind, nq, nk, d, 7919 * n + 104729 * s, pool))
                    codes.setdefault(f"{name}.{kind}.{d}", (spec, kind, d, []))
                for d in () if name not in RECURRENT else (64,) if kind == "f16" else (64, 128):
                    stem, few = f"{name}.recurrent.{kind}.{d}", f"{name}.step.{kind}.{d}"
                    codes[stem], codes[few] = (spec, kind, d, GOES_ON), (spec, kind, d, A_STEP)
                    pieces, count = [(few if n <= FEW else stem, n) for n in PIECES], sum(PIECES)
                    cases.append(executor.submit(make_case, attnc, spec, kind, count, count, d, 7919 * n + 50021, pool,
                                                 pieces))
        for short in (name for name in wanted if name in timed):
            spec = f"{specs}/{short}.attn"
            with open(spec, "w") as f:
                f.write(TIMED[timed[short]]["spec"])
            one = TIMED[timed[short]]
            for d in one.get("lengths", (64, 128)):
                codes[f"{short}.{d}"] = (spec, "bf16", d, one.get("options", []))
                plan["timed"].append({"stem": f"{short}.{d}", "name": timed[short], "D": d, "shape": one.get("shape")})
        made = {stem: executor.submit(compile_one, attnc, *of, stem, directory, architectures)
                for stem, of in codes.items()}
        with open(directory + "/expected.bin", "wb") as f:
            for case, data in (future.result() for future in cases):
                case["expected"] = [f.tell(), len(data)]
                f.write(data)
                plan["cases"].append(case)
        for stem, future in made.items():
            plan["codes"][stem] = future.result()
            print(stem, flush=True)
    with open(directory + "/plan.json", "w") as f:
        json.dump(plan, f, separators=(",", ":"))
    shutil.copy(root + "/tools/gpu-check", directory + "/gpu-check")
    for source in glob.glob(root + "/tools/gpucheck/*"):
        if os.path.isfile(source):
            shutil.copy(source, directory + "/gpucheck")
    size = sum(os.path.getsize(os.path.join(folder, f)) for folder, _, files in os.walk(directory) for f in files)
    print(f"{directory}: {len(plan['cases'])} cases and {len(plan['timed'])} timed kernels, "
          f"{size / 2**20:.1f} MiB, {time.time() - begin:.0f} s")
    if size > LIMIT:
        raise Failed(f"{directory} has more than {LIMIT >> 20} MiB")
