#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether two of LLVM's text profiles have the same functions with the same counters.

    counting_llvm_profile.py OURS CLANGS [SHARE]    both of `llvm-profdata show --text`; SHARE: so many
                                                    of a hundred functions have equal counters (100)

Functions are told apart by name and hash, and all have to be in both. Counts of values, which ours
does not have, are left out.
"""
import sys


def read(path):
    lines = [line.rstrip("\n") for line in open(path)]
    found = {}
    for i, line in enumerate(lines):
        if line == "# Func Hash:":
            cnt = int(lines[i + 3])
            found[lines[i - 1], lines[i + 1]] = [int(x) for x in lines[i + 5:i + 5 + cnt]]
    return found


def main():
    ours, clangs = read(sys.argv[1]), read(sys.argv[2])
    share = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    apart = sorted(ours.keys() ^ clangs.keys())
    lengths = [f for f in ours if f not in apart and len(ours[f]) != len(clangs[f])]
    other = sorted(f for f in ours if f not in apart and ours[f] != clangs[f])
    if apart or lengths:
        print("not in both, or with another number of counters:", (apart + lengths)[:5])
        return 1
    if not ours or not any(map(any, ours.values())):
        print("nothing was counted")
        return 1
    if 100 * len(other) > (100 - share) * len(ours):
        for f in other[:3]:
            print(f[0], [(i, a, b) for i, (a, b) in enumerate(zip(ours[f], clangs[f])) if a != b][:5])
        return 1
    print("%d functions, %d counters" % (len(ours), sum(map(len, ours.values()))) +
          (", %d functions differ" % len(other) if other else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
