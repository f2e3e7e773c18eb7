# SPDX-License-Identifier: GPL-2.0-or-later
"""Names and TIME of a real program's functions, held against perf's samples of the same run.

    programs.py NAME PERF-SCRIPT PROCESSES.json FUNCTIONS.json

PERF-SCRIPT is `perf script --no-demangle --show-mmap-events --show-task-events -F
comm,pid,tid,event,ip,sym`. Two things are asked:

names: for 95 % of TIME a function that we name begins where a symbol of this name does, which readelf
lists; one without a name has no symbol there. Of generated code perf has the same names.
time: our shares and perf's of the functions that readelf lists overlap by 90 %, less what two samples
of one program differ by chance on average: single runs differ by more, and so do programs that go
round in step with a clock.
"""
import bisect
import collections
import json
import math
import os
import re
import subprocess
import sys

import perf_script

name, script, processes_file, functions_file = sys.argv[1:]
LEAST_NAMED, LEAST_OVERLAP = 0.95, 0.90
failed = False


def verdict(what, good, why):
    global failed
    print(f"{'ok' if good else 'not ok'} programs_{name}_{what}: {why}")
    failed |= not good


class Symbols:
    """Functions of a file, and of the debug file beside it, by the place of their first byte."""

    def __init__(self, path):
        self.names = collections.defaultdict(set)
        self.ends = collections.Counter()
        self.starts = []
        self.stubs = []  # where calls of other files' functions go through
        if not os.path.exists(path):
            return
        headers = self.read(path, "-lW")
        self.loads = [[int(n, 16) for n in load] for load in
                      re.findall(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+)", headers)]
        for begin, size in re.findall(r" \.plt\S* +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", self.read(path, "-SW")):
            self.stubs.append((int(begin, 16), int(begin, 16) + int(size, 16)))
        build_id = re.search(r"Build ID: ([0-9a-f]+)", self.read(path, "-n"))
        debug = f"/usr/lib/debug/.build-id/{build_id[1][:2]}/{build_id[1][2:]}.debug" if build_id else ""
        for file in [path] + ([debug] if os.path.exists(debug) else []):
            self.add(self.read(file, "-sW"))
        self.starts = sorted(self.names)
        for at, start in enumerate(self.starts):
            if self.ends[start] == start:  # a symbol without a size reaches to the next one
                self.ends[start] = self.starts[at + 1] if at + 1 < len(self.starts) else start

    @staticmethod
    def read(path, what):
        return subprocess.run(["readelf", what, path], capture_output=True, text=True, errors="replace").stdout

    def add(self, table):
        for value, size, symbol in re.findall(
                r"^ *\d+: ([0-9a-f]+) +(\d+|0x[0-9a-f]+) (?:FUNC|IFUNC|NOTYPE) +\S+ +\S+ +\d+ (\S+)", table, re.M):
            for offset, address, bytes_in_file in self.loads:
                if address <= int(value, 16) < address + bytes_in_file:
                    place = int(value, 16) - address + offset
                    self.names[place].add(symbol.split("@")[0])
                    self.ends[place] = max(self.ends[place], place + int(size, 0))

    def start_of(self, place):
        """Of the function that a byte lies in; of all stubs together; or None."""
        if any(begin <= place < end for begin, end in self.stubs):
            return "stubs"
        at = bisect.bisect_right(self.starts, place) - 1
        return self.starts[at] if at >= 0 and place < self.ends[self.starts[at]] else None


symbols = {}


def symbols_of(path):
    if path not in symbols:
        symbols[path] = Symbols(path)
    return symbols[path]


pids = {row["pid"] for row in json.load(open(processes_file))}
def is_right(row, start):
    """Whether this is what a function that begins there is called."""
    said = row["function"] or ""
    if start is None or start == "stubs":
        return not said or said.endswith("@plt")
    known = symbols_of(row["binary"]["name"])
    return int(row["function_start"], 16) == start and said.split("@")[0] in known.names[start]


theirs = collections.Counter()
generated = set()
for _, path, place, symbol in perf_script.samples(script, pids):
    if not path.startswith("/") or path.startswith(("//anon", "/memfd:")):
        theirs["generated", symbol] += 1
        generated.add(symbol)
    else:
        theirs[os.path.basename(path), symbols_of(path).start_of(place)] += 1

ours = collections.Counter()
right = 0
wrong = []
names = {}
for row in json.load(open(functions_file)):
    file = row["binary"]["name"] if row["binary"] else ""
    if not row["time"] or file == "[kernel]" or row["function"] == "[kernel]":
        continue
    if file.startswith(("jit:", "[vdso]")):  # no file: the name alone tells it
        key, good = ("generated", row["function"]), row["function"] in generated
    else:
        start = symbols_of(file).start_of(int(row["function_start"], 16))
        key, good = (os.path.basename(file), start), is_right(row, start)
    ours[key] += row["time"]
    names[key] = row["function"] or "[no function known]"
    right += row["time"] * good
    if not good:
        wrong.append((row["time"], names[key]))

whole, total = sum(ours.values()), sum(theirs.values())
# perf looks at user mode alone, the clock at the kernel as well
ours_cnt = whole * int(os.environ["CLOCK_SAMPLES"])
verdict("perf", total > 300 and ours_cnt > 100, f"{total} samples by perf, {ours_cnt:.0f} of {len(ours)} functions here")
if failed:
    sys.exit(1)
said = ", ".join(f"{n} ({100 * t / whole:.1f} %)" for t, n in sorted(wrong, reverse=True)[:4])
verdict("names", right >= LEAST_NAMED * whole, f"right for {100 * right / whole:.1f} % of TIME" + (f", not {said}" if said else ""))

overlap = sum(min(ours[k] / whole, theirs[k] / total) for k in ours)
chance = sum(math.sqrt(theirs[k] / total * (1 / ours_cnt + 1 / total) / (2 * math.pi)) for k in theirs)
far = sorted(set(ours) | set(theirs), key=lambda k: -abs(ours[k] / whole - theirs[k] / total))[:3]
why = "; ".join(f"{names.get(k, k)} {100 * ours[k] / whole:.1f} %, by perf {100 * theirs[k] / total:.1f}" for k in far)
verdict("time", overlap >= LEAST_OVERLAP - chance, f"overlap {100 * overlap:.1f} %, {100 * chance:.1f} less by chance: {why}")
sys.exit(failed)
