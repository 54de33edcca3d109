"""Fails if the PSNR in the line of figures rises by less than so many dB."""
import re
import sys

line = open(sys.argv[2], encoding="utf-8").read()
before, after = map(float, re.search(r"PSNR ([\d.]+) dB before, ([\d.]+) dB after", line).groups())
if after - before < float(sys.argv[1]):
    sys.exit(f"{line}: a gain of {after - before:.2f} dB, less than {sys.argv[1]}")
