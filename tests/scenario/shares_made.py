#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs made up by chance, and TIME of their functions held against perf's samples.

    shares_made.py make SEED            a C program, on standard output
    shares_made.py judge TOP SAMPLES SCRIPT
                                        TOP: of `pathprofctl top --by functions --json`, out of so many
                                        samples; SCRIPT: of `perf script -F ip,sym,dso` of the same seconds

Functions differ in what they do, how long a call takes, and how often they are called: divisions,
memory, arithmetic, square roots, branches by chance, strings, system calls, calls of each other.
"""
import json
import math
import random
import re
import sys

KINDS = {
    "div": "for (int i = 0; i < {n}; i++) x = x / ({a} + (x & 3)) + 12345678901ull;",
    "mem": "for (int i = 0; i < {n}; i++) {{ x = x * 6364136223846793005ull + 1; x += mem[(x >> 20) % sizeof mem]++; }}",
    "alu": "for (int i = 0; i < {n}; i++) x = (x ^ (x << 13)) + (x >> 7);",
    "root": "double d = x & 1023; for (int i = 0; i < {n}; i++) d = __builtin_sqrt(d + i); x += (uint64_t)d;",
    "branch": "for (int i = 0; i < {n}; i++) {{ x = x * 6364136223846793005ull + 1; if (x >> 63) x += 3; "
              "else if (x >> 62 & 1) x ^= 5; else if ((x >> 40) % 7 == 0) x -= 9; }}",
    "string": "for (int i = 0; i < {n} / 20 + 1; i++) {{ memset(mem + (x & 1023), (int)x, {b}); x += mem[5]; }}",
    "system": "for (int i = 0; i < {n} / 100 + 1; i++) x += (uint64_t)getppid();",
    "deep": "if (x & {c}) x = f{f}(x >> 1) + 1; for (int i = 0; i < {n} / 5 + 1; i++) x += (uint64_t)i * x;",
}


def make(seed):
    r = random.Random(seed)
    count = r.randint(2, 14)
    print("#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n#include <unistd.h>")
    print("static volatile uint64_t sink;\nstatic uint8_t mem[1 << %d];" % r.randint(12, 24))
    for i in range(count):
        kind = r.choice([k for k in sorted(KINDS) if i or k != "deep"])
        body = KINDS[kind].format(n=int(10 ** r.uniform(0, 4)), a=r.randint(2, 9), b=r.randint(1, 2000),
                                  c=r.choice([1, 3, 7]), f=r.randrange(i) if i else 0)
        print("__attribute__((noinline)) static uint64_t f%d(uint64_t x)\n{\n\t%s\n\tsink += x;\n\treturn x;\n}" % (i, body))
    print("int main(int argc, char **argv)\n{\n\ttime_t end = time(NULL) + atoi(argv[argc - 1]);\n\tuint64_t x = %d;\n\n"
          "\twhile (time(NULL) < end)\n\t\tfor (int k = 0; k < %d; k++) {" % (r.randint(1, 1000), r.randint(1, 30)))
    for i in range(count):
        print("\t\t\tx = (x >> %d) %% %d == 0 ? x + f%d(x) : x * 7 + 1;" % (r.randint(0, 20), r.choice([1, 1, 1, 2, 4, 16]), i))
    print("\t\t}\n\treturn sink == 1;\n}")


def judge(top, our_cnt, script):
    """Of the time in user code. Exit status 2: too few samples to say."""
    rows = [row for row in json.load(open(top)) if row["binary"]["kind"] != "kernel"]
    user = sum(row["time"] or 0 for row in rows)
    ours = {row["function"]: [(row[key] or 0) / user for key in ("time", "time_low", "time_high")]
            for row in rows if re.fullmatch(r"f\d+|main", row["function"] or "")} if user else {}
    perfs, all_cnt = {}, 0
    for line in open(script):
        found = re.match(r"\s*[0-9a-f]+ (\S+) \((.*)\)", line)
        if not found or "kernel" in found[2]:
            continue
        all_cnt += 1
        perfs[found[1]] = perfs.get(found[1], 0) + 1
    print("%d and %d samples" % (our_cnt, all_cnt))
    # some programs spend nearly all of their time in the kernel
    user_cnt = our_cnt * user
    if our_cnt < 150 or user_cnt < 50 or all_cnt < 500:
        return 2
    names = set(ours) | {name for name in perfs if re.fullmatch(r"f\d+|main", name)}
    outside, far = [], []
    for name in sorted(names):
        share = perfs.get(name, 0) / all_cnt
        value, low, high = ours.get(name, (0, 0, 0))
        # of both together, with one sample more inside and one more outside
        both = (perfs.get(name, 0) + value * user_cnt + 1) / (all_cnt + user_cnt + 2)
        deviation, own = (math.sqrt(both * (1 - both) / cnt) for cnt in (all_cnt, user_cnt))
        said = "%s %.3f, perf's %.3f" % (name, value, share)
        if not low - 2 * deviation <= share <= high + 2 * deviation:
            outside.append(said)
        if abs(share - value) > 0.01 + 5 * math.hypot(own, deviation):
            far.append(said)
    print("%d functions, %d outside: %s" % (len(names), len(outside), "; ".join(far or outside) or "none"))
    return 1 if far else 0


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(int(sys.argv[2]))
    else:
        sys.exit(judge(sys.argv[2], int(sys.argv[3]), sys.argv[4]))
