#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether functions were called as often where paths follow calls as where they do not.

    counting_calls.py ELF COUNTS FOLLOWING-ELF FOLLOWING-COUNTS     COUNTS: of `pathprof-lab counts --all`

A path that begins where its function does is a call of that. Where calls are followed, one that
comes to where an inlined call begins is a call of that function as well.
"""
import collections
import sys

import counting_oracle


def calls(elf, counted):
    """By unit and function: all, and those that were inlined."""
    known = {(f.unit, f.name): f for f in counting_oracle.functions_of(elf).values()}
    entered, inlined = collections.Counter(), collections.Counter()
    for line in open(counted):
        unit, name, path, count = line.rstrip("\n").split("\t")
        f = known[unit, name]
        if int(path) < f.n[0]:
            entered[unit, name] += int(count)
        for node in f.way(int(path)) if f.calls else []:
            if node in f.calls:
                inlined[unit, f.calls[node]] += int(count)
    return entered + inlined, inlined


def main():
    want, none = calls(*sys.argv[1:3])
    have, inlined = calls(*sys.argv[3:5])
    wrong = [k for k in sorted(want.keys() | have.keys()) if want[k] != have[k]]
    for k in wrong[:10]:
        print("different: %s was called %d times, where calls are followed %d" %
              (k[1], want[k], have[k]))
    print("%d functions were called %d times, %d of these were followed" %
          (len(have), sum(have.values()), sum(inlined.values())))
    return 1 if wrong or none or not inlined else 0


if __name__ == "__main__":
    sys.exit(main())
