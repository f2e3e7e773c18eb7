# SPDX-License-Identifier: GPL-2.0-or-later
"""Who called whom, by `top --by callers --json` and by perf's stacks of the same program.

    callers_perf.py CALLERS.json PERF-SCRIPT SAMPLES

PERF-SCRIPT is `perf script -F comm,ip,dso`. A function is known by where its unwind entry begins,
which readelf lists, so that no names matter. Pairs of function and caller are compared as
distributions of time: their overlap, beside the overlap that chance alone leaves, of as many samples
as our clock had, drawn from perf's. Exit status 1: less than LEAST of it.
"""
import bisect, collections, json, os, random, re, subprocess, sys

LEAST = 0.85
callers, stacks, drawn = sys.argv[1], sys.argv[2], int(sys.argv[3])


class File:
    """The beginnings of functions, as offsets in the file."""

    def __init__(self, path):
        headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
        frames = subprocess.run(["readelf", "-wF", path], capture_output=True, text=True).stdout
        load = re.search(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) .* R E ", headers)
        shift = int(load[2], 16) - int(load[1], 16)
        found = re.findall(r"FDE .*?pc=([0-9a-f]+)\.\.([0-9a-f]+)", frames)
        self.entries = sorted({(int(a, 16) - shift, int(b, 16) - shift) for a, b in found})
        self.starts = [a for a, _ in self.entries]

    def begin(self, offset):
        at = bisect.bisect_right(self.starts, offset) - 1
        return self.starts[at] if at >= 0 and offset < self.entries[at][1] else None


files = {}


def function(path, offset):
    if path not in files:
        files[path] = File(path) if os.path.exists(path) else None
    file = files[path]
    return (os.path.basename(path), file.begin(offset) if file else None)


def pairs_of_perf():
    counts = collections.Counter()
    for stack in open(stacks).read().split("\n\n"):
        frames = [(int(ip, 16), path) for ip, path in re.findall(r"^\s*([0-9a-f]+) \((/.*)\)$", stack, re.M)]
        # A caller's address is the one behind its call.
        keys = [function(path, ip - (i > 0)) for i, (ip, path) in enumerate(frames[:2])]
        if len(keys) == 2:
            counts[tuple(keys)] += 1
    return counts


def pairs_of_ours():
    counts, unknown = collections.Counter(), 0
    for row in json.load(open(callers)):
        if row["caller_start"]:
            one = function(row["binary"]["name"], int(row["function_start"], 16))
            other = function(row["caller_binary"]["name"], int(row["caller_start"], 16))
            counts[one, other] += row["time"] or 0
        elif row["function_start"]:
            unknown += row["time"] or 0
    return counts, unknown


def overlap(a, b):
    whole_a, whole_b = sum(a.values()), sum(b.values())
    return sum(min(a[k] / whole_a, b[k] / whole_b) for k in a if k in b)


def text(key):
    return "%s+%#x" % (key[0], key[1] or 0)


perf, (ours, unknown) = pairs_of_perf(), pairs_of_ours()
random.seed(1)
keys, weights = zip(*perf.items())
chance = sum(overlap(perf, collections.Counter(random.choices(keys, weights, k=drawn))) for _ in range(100)) / 100
have = overlap(ours, perf)
for pair, n in perf.most_common(8):
    print("  perf %4.1f %%, here %4.1f %%: %s called by %s" % (
        100 * n / sum(perf.values()), 100 * ours[pair] / sum(ours.values()), text(pair[0]), text(pair[1])))
print("overlap %.3f, by chance %.3f, no caller known for %.1f %% of time" % (have, chance, 100 * unknown))
sys.exit(have < LEAST * chance)
