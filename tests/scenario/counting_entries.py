#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether each function was entered as often as clang's own counters say.

    counting_entries.py ELF COUNTS SHOWN [LOST]     COUNTS: of `pathprof-lab counts --all`
                                                    SHOWN: of `llvm-profdata show --all-functions`

Paths that begin at a function's entry have the lowest numbers. A function that longjmp() left from
below has lost a path: up to LOST functions may have fewer than clang says, and none may have more.
"""
import collections
import re
import sys

import counting_oracle


def clangs(shown):
    counts, name = collections.Counter(), None
    for line in open(shown):
        if re.match(r"  \S.*:$", line):
            name = re.split("[;:]", line.strip()[:-1])[-1]
        elif line.startswith("    Function count: "):
            counts[name] += int(line.split(":")[1])
    return counts


def main():
    elf, counted, shown = sys.argv[1:4]
    lost_max = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    entries, known = collections.Counter(), {}
    for f in counting_oracle.functions_of(elf).values():
        known[f.unit, f.name] = f.n[0]
        entries[f.name] += 0
    for line in open(counted):
        unit, name, path, count = line.rstrip("\n").split("\t")
        if int(path) < known[unit, name]:
            entries[name] += int(count)
    want = clangs(shown)
    both = entries.keys() & want.keys()
    fewer = sorted(n for n in both if entries[n] < want[n])
    more = sorted(n for n in both if entries[n] > want[n])
    for n in more + (fewer if len(fewer) > lost_max else []):
        print("different: %s: counted %d, clang says %d" % (n, entries[n], want[n]))
    ran = [n for n in both if want[n]]
    print("%d functions, %d that ran %d times, %d with fewer" %
          (len(both), len(ran), sum(want[n] for n in ran), len(fewer)))
    return 1 if more or len(fewer) > lost_max or len(ran) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
