#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds what a program counted by itself against the paths of its machine code in the same run.

    counting_machine.py ELF COUNTS PROFILE [FUNCTION...]

COUNTS is what `pathprof-lab counts --all` prints of a build with --pathprof-late, PROFILE what
`pathprof-trace --paths` wrote of that run. A function is entered as often by both, and where its paths
correspond they ran equally often. They do where code generation kept the branches: as many as the
graph has nodes with two ways out, none by a table, and nothing put in but additions. Loops are laid out
in another order at times, so that a path ends at another edge: the counts of one whose runs are others
are not compared. FUNCTIONs are those that the process is in when it ends, so their last path is not in
PROFILE. Calls at the end of functions must not have become jumps (-fno-optimize-sibling-calls).
"""
import collections
import re
import sqlite3
import subprocess
import sys

import counting_oracle

LONGEST = 32


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def places_of(elf):
    """By name: where in the file a function is. Those with a namesake are left out."""
    segments = [[int(x, 16) for x in (w[1], w[2], w[4])] for w in map(str.split, lines_of("readelf", "-lW", elf))
                if w and w[0] == "LOAD"]
    found = collections.defaultdict(list)
    for w in map(str.split, lines_of("nm", "-S", elf)):
        if len(w) == 4 and w[2] in "tTwW":
            address, size = int(w[0], 16), int(w[1], 16)
            found[w[3]] += [(address - v + at, size) for at, v, n in segments if v <= address < v + n]
    return {name: places[0] for name, places in found.items() if len(places) == 1}


def branches_of(elf):
    """By name: conditional branches of its machine code; None: there is more than these."""
    cnt, name = collections.Counter(), None
    for line in lines_of("objdump", "-d", "--no-show-raw-insn", elf):
        head = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        words = line.split(None, 2)
        if head:
            name = head.group(1)
        elif len(words) > 1 and words[1][0] == "j" and words[1] != "jmp":
            cnt[name] += 1
        elif len(words) > 2 and (words[1].startswith("rep") or (words[1] == "jmp" and "*" in words[2])
                                 or words[1] == "notrack"):
            cnt[name] += 1 << 20
    return cnt


def ran(profile, elf):
    """Where each path begins in the file, how long it is, and how often it ran."""
    db = sqlite3.connect(profile)
    return db.execute("SELECT p.start, p.length, sum(c.samples) FROM path_counts c JOIN paths p ON p.id = c.path"
                      " JOIN binaries b ON b.id = p.binary WHERE b.name LIKE ? GROUP BY p.id",
                      ["%/" + elf.rsplit("/", 1)[-1]]).fetchall()


def main():
    elf, counts, profile = sys.argv[1:4]
    places, branches, rows = places_of(elf), branches_of(elf), ran(profile, elf)
    counted = collections.defaultdict(dict)
    for line in open(counts):
        unit, name, path, count = line.rstrip("\n").split("\t")[:4]
        counted[unit, name][int(path)] = int(count)
    wrong, entered, calls, kept, paths, runs, elsewhere = [], 0, 0, 0, 0, 0, 0
    for f in counting_oracle.functions_of(elf).values():
        own = counted[f.unit, f.name]
        if f.name not in places or not own or f.name in sys.argv[4:]:
            continue
        start, size = places[f.name]
        machine = [row for row in rows if start <= row[0] < start + size and row[2]]
        entries = sum(n for path, n in own.items() if path < f.n[0])
        begun = sum(n for at, _, n in machine if at == start)
        entered, calls = entered + 1, calls + entries
        if entries != begun:
            wrong.append("%s is entered %d times, as it counts, and its machine code %d times" %
                         (f.name, entries, begun))
        if (f.counting != counting_oracle.ARRAY or any(length >= LONGEST for _, length, _ in machine) or
                branches[f.name] != sum(len(set(out)) > 1 for out in f.out)):
            continue
        if sum(own.values()) != sum(n for _, _, n in machine):
            elsewhere += 1
            continue
        kept, paths, runs = kept + 1, paths + len(own), runs + sum(own.values())
        if sorted(own.values()) != sorted(n for _, _, n in machine):
            wrong.append("%s has paths that ran %s times, and in machine code %s" %
                         (f.name, sorted(own.values()), sorted(n for _, _, n in machine)))
    for w in wrong[:10]:
        print("different:", w)
    print("%d functions entered %d times; of %d the %d paths ran %d times, as those of their machine code; "
          "of %d they end elsewhere" % (entered, calls, kept, paths, runs, elsewhere))
    return 1 if wrong or not kept else 0


sys.exit(main())
