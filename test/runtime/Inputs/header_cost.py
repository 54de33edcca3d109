"""header_cost.py FACTOR BASE FILE COMMAND...: the processor time of COMMAND FILE must stay
under FACTOR times that of COMMAND BASE. Both are run in turns, up to twenty times, and the
least of each counts: the machine's other users can only add to them."""
import resource
import subprocess
import sys
import time

factor, base, file, command = float(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]


def seconds(source):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command + [source], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


least = {base: float("inf"), file: float("inf")}
for _ in range(20):
    for source in least:
        least[source] = min(least[source], seconds(source))
    print(f"{least[file]:.2f} s, the standard headers alone {least[base]:.2f} s")
    if least[file] < factor * least[base]:
        sys.exit(0)
    time.sleep(0.5)  # for a calmer moment
sys.exit(f"{file}: {least[file] / least[base]:.2f} times {base}; at most {factor:g} are allowed")
