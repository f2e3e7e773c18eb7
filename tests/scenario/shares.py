# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds pathprofctl's TIME against perf's samples and the kernel's CPU times: see shares.sh.

    shares.py NAME PERF-SCRIPT CPU-TIMES PROCESSES.json FUNCTIONS.json

Functions are compared by the place of their first byte: perf's addresses become file offsets by its
own mapping events, and belong to the last function at or below them that pathprofctl names.
"""
import bisect
import collections
import json
import math
import os
import sys

import perf_script

name, script, cpu, processes_file, functions_file = sys.argv[1:]
failed = False
CLOCK_HZ = 97


def verdict(what, good, why):
    global failed
    print(f"ok shares_{name}_{what} ({why})" if good else f"not ok shares_{name}_{what}: {why}")
    failed |= not good


# Some thirty functions are compared in a run, so intervals of 95 % would part by chance now and
# then: both sides are held to 99.9 %.
Z_SHOWN, Z_HELD = 1.96, 3.29


def wilson(share, n, z=Z_HELD):
    if not n:
        return 0, 1
    mid = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return mid - half, mid + half


def widened(share, interval):
    low, high = interval
    factor = Z_HELD / Z_SHOWN
    return share - (share - low) * factor, share + (high - share) * factor


def overlaps(a, b):
    return a[0] <= b[1] and b[0] <= a[1]


def agree(a, a_interval, b, b_interval):
    return abs(a - b) <= 0.03 or overlaps(widened(a, a_interval), b_interval)


# The processes that were recorded, with user ticks: both tools look at user time only.
ticks = {int(p): int(u) for p, u, _ in (line.split() for line in open(cpu))}
pids = {p for p, t in ticks.items() if t >= 50}

functions = json.load(open(functions_file))
ours_starts = collections.defaultdict(list)
ours = collections.Counter()
intervals = {}
kernel = 0
for row in functions:
    if row["time"] is None:
        continue
    file = row["binary"]["name"] if row["binary"] else ""
    if row["function"] == "[kernel]" or file == "[kernel]":
        kernel += row["time"]
        continue
    key = (file.split("/")[-1], int(row["function_start"], 16))
    ours[key] += row["time"]
    intervals[key] = (row["time_low"], row["time_high"])
    ours_starts[key[0]].append(key[1])
for starts in ours_starts.values():
    starts.sort()

theirs = collections.Counter()
by_pid = collections.Counter()
for pid, file, offset, _ in perf_script.samples(script, pids):
    base = file.split("/")[-1]
    starts = ours_starts.get(base, [])
    at = bisect.bisect_right(starts, offset) - 1
    theirs[base, starts[at] if at >= 0 else 0] += 1
    by_pid[pid] += 1
total = sum(theirs.values())
verdict("perf", total > 300, f"{total} samples by perf of {len(pids)} processes")
if not total:
    sys.exit(1)

# Both as shares of the user time of the two programs: what else ran in the tree is left out.
# A process that executed another program is a row for each.
rows = {}
for row in json.load(open(processes_file)):
    if row["pid"] not in pids or row["time"] is None:
        continue
    best = rows.setdefault(row["pid"], {"time": 0, "time_low": 0, "time_high": 0, "most": -1})
    if row["time"] > best["most"]:
        best.update(most=row["time"], comm=row["comm"])
    for key in ("time", "time_low", "time_high"):
        best[key] += row[key]
seen = sum(r["time"] for r in rows.values())
total_ticks = sum(ticks[p] for p in pids)
for pid in sorted(pids):
    row = rows.get(pid)
    if not row:
        verdict(f"process_{pid}", False, "not in the profile")
        continue
    share, truth, perf = row["time"] / seen, ticks[pid] / total_ticks, by_pid[pid] / total
    n = total
    verdict(f"process_{row['comm']}", agree(share, (row["time_low"] / seen, row["time_high"] / seen),
            truth, wilson(truth, n)), f"{share:.1%}, by /proc {truth:.1%}, by perf {perf:.1%}")

whole = sum(ours.values()) or 1
worst = (0, None)
for key in set(ours) | set(theirs):
    a, b = ours[key] / whole, theirs[key] / total
    if max(a, b) < 0.03:
        continue
    low, high = intervals.get(key, (0, 0.01))
    if not agree(a, (low / whole, high / whole), b, wilson(b, total)):
        verdict(f"function_{key[0]}+{key[1]:#x}", False, f"{a:.1%} ({low / whole:.1%} to {high / whole:.1%}), by perf {b:.1%}")
    worst = max(worst, (abs(a - b), f"{key[0]}+{key[1]:#x}"))
overlap = sum(min(ours[k] / whole, theirs[k] / total) for k in set(ours) | set(theirs))
# Two samples of the same program overlap by less than 100 %: each function's shares differ by chance.
ours_cnt = CLOCK_HZ * sum(ticks[p] for p in pids) / os.sysconf("SC_CLK_TCK")
chance = sum(math.sqrt(theirs[k] / total * (1 / ours_cnt + 1 / total) / (2 * math.pi)) for k in theirs)
verdict("functions", overlap >= 0.95 - chance, f"overlap {overlap:.1%}, {chance:.1%} less by chance, farthest {worst[1]} by {100 * worst[0]:.1f} points")
sys.exit(failed)
