#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of the truth a practical profile has.

    counting_accuracy.py ELF EXACT ESTIMATE [PROFILE]

ELF counted ESTIMATE, EXACT is of a build that counts every path (both as `pathprof-lab counts --all`
prints them). PROFILE is the file of paths that ELF was built with: what it told of paths that are not
counted is brought to this run by how the paths that are counted compare: those of the same function,
else of the same source file, else of the program.

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
    """Counts, those of a function's cold paths as path "cold", and what the profile told."""
    counted, told = collections.Counter(), collections.Counter()
    for line in open(name):
        unit, function, path, count, *by_profile = line.rstrip("\n").split("\t")
        key = unit, function, path if path == "cold" else int(path)
        (told if by_profile else counted)[key] += int(count)
    return counted, told


def levels_of(key):
    """A path's function, its source file, and the program: the first of which paths are counted."""
    return key[:2], key[:1], ()


def scales_of(functions, counted, profile):
    """By level: this run's counts, and the profile's of paths that are counted, cold or not."""
    here, there = collections.Counter(), collections.Counter()
    by_name = collections.defaultdict(list)
    for f in functions.values():
        if f.counting == counting_oracle.WARM and (any(f.slots) or f.silent):
            by_name[f.name].append(f)
    for key, count in counted.items():
        if functions[key[:2]].counting != counting_oracle.WARM:
            continue
        for level in levels_of(key):
            here[level] += count
    for line in open(profile):
        words = line.rstrip("\n").split("\t")
        # Functions of one name in several source files are not told apart.
        for f in by_name[words[0]] if len(words) == 5 else ():
            if f.walk(int(words[3]))[1] not in f.silent:
                for level in levels_of((f.unit, f.name)):
                    there[level] += int(words[4])
    return {level: here[level] / there[level] for level in there}


def main():
    elf, exact, estimate = sys.argv[1:4]
    functions = {(f.unit, f.name): f for f in counting_oracle.functions_of(elf).values()}
    truth, _ = read(exact)
    guess, told = read(estimate)
    scales = scales_of(functions, guess, sys.argv[4]) if told and len(sys.argv) > 4 else {}
    guess = collections.Counter({key: n for key, n in guess.items() if key[2] != "cold"})
    for key, count in told.items():
        guess[key] += round(count * next((scales[x] for x in levels_of(key) if x in scales), 1))
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
