# SPDX-License-Identifier: GPL-2.0-or-later
"""The convergent value profiler of Calder, Feller and Eustace (1997), written from the paper.

An implementation of its own, for tests/scenario/lab_converge.sh to hold pathprof-lab against. Usage:

    lab_converge.py draw KIND SEED FILE                     writes a stream of lines SITE VALUE
    lab_converge.py profile FILE OUT ERR [NAME=NUMBER...]   what pathprof-lab converge should print

The names are those of the options; heuristic is 1 or 2. Tables are lists that are sorted anew at every
execution, shares are fractions; nothing but Python's standard library.
"""
import random
import sys
from fractions import Fraction

MASK = 2**64 - 1


class Table:
    """The TNV table: N pairs, least frequently used goes, the lower half is cleared."""

    def __init__(self, size, clear):
        self.size, self.clear = size, clear
        self.pairs, self.profiled, self.since = [], 0, 0

    def add(self, value):
        self.profiled += 1
        self.since += 1
        for pair in self.pairs:
            if pair[0] == value:
                pair[1] += 1
                break
        else:
            if len(self.pairs) == self.size:
                self.pairs.pop()
            self.pairs.append([value, 1])
        self.pairs.sort(key=lambda pair: -pair[1])
        half = self.size // 2
        middle = self.pairs[half - 1][1] if len(self.pairs) >= half else 0
        if self.since >= max(self.clear, 2 * middle):
            self.since = 0
            del self.pairs[half:]

    def invariance(self, cnt):
        return Fraction(sum(count for _, count in self.pairs[:cnt]), self.profiled)


class Generator:
    """xorshift64*, as libprofile/core/pp_random.h says."""

    def __init__(self, seed):
        self.state = seed or 1

    def draw(self):
        x = self.state
        x ^= x >> 12
        x ^= x << 25 & MASK
        x ^= x >> 27
        self.state = x
        return x * 0x2545F4914F6CDD1D & MASK


class Site:
    def __init__(self, rules, number):
        self.rules = rules
        self.table = Table(rules["entries"], rules["clear"])
        self.full = Table(rules["entries"], rules["clear"])
        mixed = (rules["seed"] ^ number) * 0x9E3779B97F4A7C15 & MASK
        self.generator = Generator(mixed ^ mixed >> 29)
        self.executed = self.same = self.wait = self.interval = 0
        self.last = self.previous = None

    def execute(self, value):
        self.executed += 1
        self.same += value == self.last
        self.last = value
        self.full.add(value)
        if self.wait:
            self.wait -= 1
            return
        self.table.add(value)
        self.interval += 1
        if self.interval == self.rules["interval"]:
            self.interval = 0
            self.test()

    def test(self):
        now = self.table.invariance(self.rules["entries"] // 2) * 10**6 // 1
        before, self.previous = self.previous, now
        if before is None or self.goes_on(now - before):
            return
        back_off = Fraction(self.rules["back-off"], 100)
        if self.rules["random"]:
            back_off = Fraction((self.generator.draw() >> 32) * 2 * self.rules["back-off"] * 10**4 // 2**32,
                                10**6)
        self.wait = self.executed * back_off // 1

    def goes_on(self, change):
        if self.rules["heuristic"] == 1:
            return change > 0
        return change > self.rules["increase"] * 10**4 or change < -self.rules["decrease"] * 10**4


def profile(file, out, err, *words):
    rules = {"entries": 10, "clear": 2000, "interval": 2000, "heuristic": 1, "increase": 2, "decrease": 4,
             "back-off": 100, "random": 0, "seed": 1}
    for word in words:
        name, number = word.split("=")
        assert name in rules
        rules[name] = int(number)
    sites = {}
    for line in open(file, encoding="ascii"):
        site, value = (int(column, 16) for column in line.split())
        if site not in sites:
            sites[site] = Site(rules, len(sites))
        sites[site].execute(value)
    with open(out, "w", encoding="ascii") as lines:
        for key, s in sorted(sites.items(), key=lambda item: (-item[1].executed, item[0])):
            shares = [Fraction(s.same, s.executed)] + [table.invariance(cnt)
                     for table in (s.table, s.full) for cnt in (1, rules["entries"])]
            lines.write("0x%x %d %d %s" % (key, s.executed, s.table.profiled,
                                           " ".join("%.6f" % share for share in shares)))
            lines.write("".join(" 0x%x:%d" % tuple(pair) for pair in s.table.pairs) + "\n")
    with open(err, "w", encoding="ascii") as lines:
        cost(lines, list(sites.values()), rules["entries"])


def cost(lines, sites, entries):
    executed = sum(s.executed for s in sites)
    lines.write("# sites %d executions %d profiled %d\n" % (len(sites), executed,
                                                            sum(s.table.profiled for s in sites)))
    diffs = [sum(abs(s.table.invariance(cnt) - s.full.invariance(cnt)) * s.executed for s in sites) / executed
             for cnt in (1, entries)]
    finds = []
    for cnt in (1, entries):
        tops = [(count, value in [pair[0] for pair in s.table.pairs]) for s in sites
                if s.full.invariance(1) > Fraction(3, 10) for value, count in s.full.pairs[:cnt]]
        sought = sum(count for count, _ in tops)
        finds.append("%.6f" % Fraction(sum(c for c, found in tops if found), sought) if sought else "nan")
    lines.write("# diff-1 %.6f diff-n %.6f find-1 %s find-n %s\n" % (*diffs, *finds))


# ---------------------------------------------------------------- streams

def zipf(rng):
    return int(rng.paretovariate(1.1))


STREAMS = {  # a value from its place in the stream of a site
    "constant": lambda rng, i: 7,
    "alternating": lambda rng, i: i % 2,
    "phase": lambda rng, i: 1 if i < 6000 else 2,  # changes while the site is in a back-off
    "phases": lambda rng, i: i // 700 % 23,
    "unique": lambda rng, i: i,
    "zipf": lambda rng, i: zipf(rng),
    "uniform": lambda rng, i: rng.randrange(30),
    "falling": lambda rng, i: 7 if rng.random() < 0.99 - i / 40000 else i,
    "rising": lambda rng, i: 7 if rng.random() < i / 30000 else i,
    "large": lambda rng, i: MASK - rng.randrange(4) * (i % 3),
}


def draw(kind, seed, file):
    """KIND: a name of STREAMS, one site of 30,000; or mixed: sites of all kinds, in turn by chance."""
    rng = random.Random(int(seed))
    with open(file, "w", encoding="ascii") as out:
        if kind != "mixed":
            for i in range(30000):
                out.write("401000 %x\n" % STREAMS[kind](rng, i))
            return
        done = dict.fromkeys(range(40), 0)
        kinds = [rng.choice(list(STREAMS)) for _ in done]
        for _ in range(60000):
            site = min(zipf(rng) - 1, rng.randrange(40))
            out.write("%x %x\n" % (MASK - site, STREAMS[kinds[site]](rng, done[site])))
            done[site] += 1


if __name__ == "__main__":
    {"draw": draw, "profile": profile}[sys.argv[1]](*sys.argv[2:])
