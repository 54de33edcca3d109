# How lit runs the tests: see README.md here.
import ctypes
import os
import platform
import shutil
import subprocess

import lit.formats

config.name = "attnc"
# bash, not lit's own shell: pipes, loops and redirections as in a terminal.
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir", ".attn", ".test"]
# Files that a test reads but that are none themselves.
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

config.environment["PATH"] = os.pathsep.join(
    [config.attn_tools, config.llvm_tools, config.environment["PATH"]]
)
# A test neither reads nor fills the user's cache of compiled kernels, and compiles anew; those
# of the cache say so themselves.
config.environment["ATTN_CACHE"] = "off"
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
config.environment["HOME"] = config.test_exec_root
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# Longer names first: lit replaces textually.
config.substitutions.append(("%attn-opt", os.path.join(config.attn_tools, "attn-opt")))
config.substitutions.append(("%attnc", os.path.join(config.attn_tools, "attnc")))
config.substitutions.append(("%bin", config.attn_tools))
config.substitutions.append(("%examples", os.path.join(config.attn_source, "examples")))
config.substitutions.append(("%root", config.attn_source))

# What a test may ask for with REQUIRES.
config.available_features.add("target=" + platform.machine())
if config.attn_sanitize:
    config.available_features.add("sanitize")
for tool in ("valgrind", "objdump", "gcc", "pkg-config"):
    if shutil.which(tool):
        config.available_features.add(tool)
if shutil.which("aarch64-linux-gnu-gcc"):
    config.available_features.add("aarch64-gcc")
for name in ("qemu-aarch64", "qemu-x86_64"):  # one or the other package of Debian
    program = shutil.which(name) or shutil.which(name + "-static")
    if program:
        config.available_features.add(name)
        config.substitutions.append(("%" + name, program))
if subprocess.run(["python3", "-c", "import numpy"], capture_output=True).returncode == 0:
    config.available_features.add("numpy")
def has_library(name):
    try:
        ctypes.CDLL(name)
        return True
    except OSError:
        return False


# attnc looks in more places; a machine with the toolkit alone has it here.
nvrtc = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"]
if any(has_library(n) or has_library("/usr/local/cuda/lib64/" + n) for n in nvrtc):
    config.available_features.add("nvrtc")
if not has_library("libcuda.so.1"):
    config.available_features.add("no-gpu")
if os.path.exists("/proc/cpuinfo"):
    with open("/proc/cpuinfo") as cpuinfo:
        flags = next((l for l in cpuinfo if l.startswith("flags")), "").split()
    for flag in ("avx2", "fma", "avx512f", "amx_tile"):
        if flag in flags:
            config.available_features.add(flag)
