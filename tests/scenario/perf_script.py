# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples of perf's clock, out of `perf script --show-mmap-events [--show-task-events] -F
comm,pid,tid,event,ip[,sym]`: addresses become places in files by perf's own mapping events."""
import collections
import re

MAPPING = re.compile(r"PERF_RECORD_MMAP2? (\d+)/\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) .*: \S+ (.*)$")
FORK = re.compile(r"PERF_RECORD_FORK\((\d+):\1\):\((\d+):\d+\)")
SAMPLE = re.compile(r"\s*\S.*?\s+(\d+)/\d+\s.*?cpu-clock\S*\s+([0-9a-f]+)\s*(.*)$")


def place(mappings, ip):
    for begin, end, offset, file in reversed(mappings):
        if begin <= ip < end:
            return file, ip - begin + offset
    return "[unknown]", 0


def samples(script, pids):
    """(pid, file, place in it, symbol) of each sample of these processes, by all mappings of a process."""
    maps, found = collections.defaultdict(list), []
    for line in open(script, errors="replace"):
        m = MAPPING.search(line)
        if m:
            begin, size, offset = (int(m.group(i), 16) for i in (2, 3, 4))
            maps[int(m.group(1))].append((begin, begin + size, offset, m.group(5)))
            continue
        m = FORK.search(line)
        if m:
            maps[int(m.group(1))] += maps[int(m.group(2))]
            continue
        m = SAMPLE.match(line)
        if m and int(m.group(1)) in pids:
            found.append((int(m.group(1)), int(m.group(2), 16), m.group(3).strip()))
    return [(pid, *place(maps[pid], ip), symbol) for pid, ip, symbol in found]
