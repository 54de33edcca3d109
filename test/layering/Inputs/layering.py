"""Checks the includes of a source tree against the arrows of the architecture:

    dialect <- lowering/analysis <- lowering/schedule
    dialect <- lowering/loops <- lowering/cpu, lowering/cuda
    all of these <- lowering's pipelines <- runtime <- tools

examples see public headers and standard headers only; public headers see standard headers
and each other only.
"""
import os
import re
import sys

# What each part may include of the project, besides itself. lowering's own files directly
# in that folder (the pass list, the target table) are common ground for its parts.
COMMON = {"lowering"}
LOWERING = {"lowering/analysis", "lowering/schedule", "lowering/loops", "lowering/cpu", "lowering/cuda"}
ALLOWED = {
    "dialect": set(),
    "lowering/analysis": {"dialect"} | COMMON,
    "lowering/schedule": {"dialect", "lowering/analysis"} | COMMON,
    "lowering/loops": {"dialect"} | COMMON,
    "lowering/cpu": {"dialect", "lowering/loops"} | COMMON,
    "lowering/cuda": {"dialect", "lowering/loops"} | COMMON,
    "lowering": {"dialect"} | LOWERING,
    "runtime": {"dialect", "lowering", "public"} | LOWERING,
    "tools": {"dialect", "lowering", "runtime", "public"} | LOWERING,
    "examples": {"public"},
}
INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
# The tree of a spec is installed beside attn.h.
PUBLIC = re.compile(r"runtime/include/attn/|dialect/spec/Spec\.h$")


def part_of(path):
    """The part that a file of the project, or an included header, belongs to."""
    if path.startswith("attn/") or PUBLIC.match(path):
        return "public"
    pieces = path.split("/")
    if pieces[0] == "lowering" and "/".join(pieces[:2]) in LOWERING:
        return "/".join(pieces[:2])
    return pieces[0] if pieces[0] in ALLOWED else None


def errors_of(path, lines):
    part = part_of(path)
    folder = os.path.dirname(path)
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        header = match.group(1)
        target = part_of(header)
        if header in ("attn/Spec.h", "dialect/spec/Spec.h"):
            continue  # two names of one public header
        if part == "public":
            # Standard headers have neither a folder nor an extension.
            if target != "public" and ("/" in header or header.endswith(".h")):
                yield f"{path}:{number}: a public header may not include {header}"
        elif part == "examples":
            local = os.path.exists(os.path.join(ROOT, folder, header))
            if target != "public" and not local and not header.startswith("stb/") and ("/" in header):
                yield f"{path}:{number}: examples may not include {header}"
        elif target and target != part and target not in ALLOWED[part]:
            yield f"{path}:{number}: {part} may not include {header}"


ROOT = sys.argv[1]
errors, files = [], 0
for top in ("dialect", "lowering", "runtime", "tools", "examples"):
    for folder, _, names in os.walk(os.path.join(ROOT, top)):
        for name in names:
            if name.endswith((".h", ".cpp", ".c", ".td", ".inc")):
                full = os.path.join(folder, name)
                with open(full, encoding="utf-8") as file:
                    errors += errors_of(os.path.relpath(full, ROOT), file)
                files += 1
print("\n".join(errors), file=sys.stderr)
if not files:
    sys.exit(f"no source file under {ROOT}")
sys.exit(1 if errors else 0)
