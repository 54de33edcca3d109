"""Checks that each example starts with two lines of comment, then one spec named like its file."""
import os
import re
import sys

failed = 0
names = [name for name in sorted(os.listdir(sys.argv[1])) if name.endswith(".attn")]
for name in names:
    with open(os.path.join(sys.argv[1], name), encoding="utf-8") as file:
        lines = file.read().split("\n")
    specs = [line for line in lines if line.startswith("attention ")]
    spec = re.match(r"attention (\w+)\(", lines[2])
    comment = " ".join(lines[:2])
    if not (lines[0].startswith("# ") and lines[1].startswith("# ") and spec):
        failed, _ = 1, print(f"{name}: two lines of comment and a spec expected")
    elif spec.group(1) + ".attn" != name or len(specs) != 1:
        failed, _ = 1, print(f"{name}: one spec of that name expected")
    elif not re.search(r"\b(19|20)\d\d\b", comment):
        failed, _ = 1, print(f"{name}: the comment names no source with its year")
print(len(names), "examples")
sys.exit(failed or not names)
