#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of the truth a practical profile has.

    counting_accuracy.py ELF EXACT ESTIMATE [PROFILE]

ELF counted ESTIMATE, EXACT is of a build that counts every path (both as `pathprof-lab counts --all`
prints them). PROFILE is the file of paths that ELF was built with: what it told of paths that are not
counted is brought to this run by how the paths that are counted compare.

Branch flow is a path's count times its branches. Accuracy is Wall's weight matching: of the paths with
0.125 % of all flow or more, the flow of those that are among as many of the estimate's hottest. Coverage
is the flow that the estimate has right, path by path.
"""
import collections
import sys

import counting_oracle

HOT = 0.00125


def branches_of(function, number):
    """Nodes with more than one way out that a path runs over."""
    v = max((v for v in function.start if function.start[v] <= number), key=function.start.get)
    number -= function.start[v]
    cnt = 0
    while function.out[v]:
        cnt += len(function.out[v]) > 1
        weight, w = max((function.weight[v, w], w) for w in function.out[v]
                        if function.weight[v, w] <= number)
        if (v, w) in function.cut:
            break
        number -= weight
        v = w
    return cnt


def read(name):
    """Counts, and what the profile told."""
    counted, told = collections.Counter(), collections.Counter()
    for line in open(name):
        unit, function, path, count, *by_profile = line.rstrip("\n").split("\t")
        if path != "cold":
            (told if by_profile else counted)[unit, function, int(path)] += int(count)
    return counted, told


def scale_of(counted, profile):
    """This run's counts to the profile's, of paths that are in both."""
    by_path = collections.Counter()
    for line in open(profile):
        words = line.rstrip("\n").split("\t")
        if len(words) == 5:
            by_path[words[0], int(words[3])] += int(words[4])
    here = there = 0
    for (_, function, path), count in counted.items():
        if (function, path) in by_path:
            here += count
            there += by_path[function, path]
    return here / there if here and there else 1


def main():
    elf, exact, estimate = sys.argv[1:4]
    functions = {(f.unit, f.name): f for f in counting_oracle.functions_of(elf).values()}
    truth, _ = read(exact)
    guess, told = read(estimate)
    scale = scale_of(guess, sys.argv[4]) if told and len(sys.argv) > 4 else 1
    for key, count in told.items():
        guess[key] += round(count * scale)
    weight = {key: branches_of(functions[key[:2]], key[2]) for key in truth.keys() | guess.keys()}
    flow = {key: count * weight[key] for key, count in truth.items()}
    guessed = {key: count * weight[key] for key, count in guess.items()}
    total = sum(flow.values())
    hot = {key for key, n in flow.items() if n >= HOT * total}
    hottest = sorted(guessed, key=lambda key: (-guessed[key], key))[:len(hot)]
    accuracy = sum(flow[key] for key in hot.intersection(hottest)) / sum(flow[key] for key in hot)
    coverage = sum(min(guessed.get(key, 0), n) for key, n in flow.items()) / total
    print("accuracy %.1f %%, coverage %.1f %%, %d hot paths, %d told by the profile" %
          (100 * accuracy, 100 * coverage, len(hot), len(told)))


if __name__ == "__main__":
    main()
