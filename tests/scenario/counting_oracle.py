#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What paths ran, by the definition, and whether that is what a program counted.
Cold paths of a function are to be counted together, and none of those that are warm.

    counting_oracle.py ELF LOG COUNTS     COUNTS: what `pathprof-lab counts --all` prints

The graphs are taken out of the ELF file's section .pathprof. Paths are put together out of the
log of an oracle build (counting_oracle.c): a path ends where a retreating edge of a depth-first
search is taken, at a call that cuts, and where the function is left. Its number is Ball and Larus'
sum of weights. None of the project's code has a part in that.
"""
import collections
import struct
import subprocess
import sys
import tempfile

NODE_BEGINS, CALL_CUTS, FUNCTION_IS_LEFT = range(3)
ARRAY, HASH, TABLE, WARM = range(4)
SILENT = 4
CROSSING_CALL = 1
PATHS_MAX = 1 << 39


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        value, = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        length = self.number("I")
        self.at += length
        return self.data[self.at - length:self.at].decode()


class Function:
    def __init__(self, r, unit, table, names):
        self.unit, self.name = unit, r.text()
        self.is_local = r.number("I")
        self.counter = table + 8 * r.number("Q")
        self.path_cnt = r.number("Q")
        self.counting = r.number("I")
        self.slots = [r.number("Q") for _ in range(r.number("I"))]
        self.told = {r.number("Q"): r.number("Q") for _ in range(r.number("I"))}
        for _ in range(r.number("I")):
            r.text()
        self.node_cnt = r.number("I")
        self.lines = [(r.number("I"), r.number("I"), r.number("I")) for _ in range(self.node_cnt)]
        self.out = [[] for _ in range(self.node_cnt)]
        self.cut, self.behind_cut, self.reduced = set(), set(), 0
        self.silent, self.unheard = set(), set()
        self.overflow, self.overflow_ran = set(), set()
        for _ in range(r.number("I")):
            a, b, cut = r.number("I"), r.number("I"), r.number("I")
            self.out[a].append(b)
            if cut & SILENT:
                self.silent.add((a, b))
                cut &= ~SILENT
            if cut:
                self.cut.add((a, b))
            if cut == 1:
                self.behind_cut.add(b)
            self.reduced += cut == 2
            if cut == 2:
                self.overflow.add((a, b))
        # By node: the function of which an inlined call begins there.
        self.calls = {}
        for _ in range(r.number("I")):
            node, kind, name = r.number("I"), r.number("I"), names[r.number("I")]
            if kind == CROSSING_CALL:
                self.calls[node] = name
        # Clang's own counters, which another test looks at.
        self.profile, self.hash = r.text(), r.number("Q")
        self.counter_cnt = r.number("I")
        self.sites = [r.number("I") for _ in range(3)]
        self.places = [(r.number("I"), r.number("I")) for _ in range(r.number("I"))]
        self.find_retreating()
        self.weigh()

    def identity(self):
        unit = self.unit if self.is_local else None
        return unit, self.name, str(self.out), str(sorted(self.cut)), self.lines[0][1], self.hash

    def find_retreating(self):
        """Edges to a node that the search is still in, from the entry on."""
        state, stack, self.order = {0: "open"}, [(0, iter(self.out[0]))], []
        while stack:
            v, edges = stack[-1]
            w = next(edges, None)
            if w is None:
                state[v] = "done"
                stack.pop()
            elif w not in state:
                state[w] = "open"
                stack.append((w, iter(self.out[w])))
            elif state[w] == "open":
                self.cut.add((v, w))
        self.reached = state.keys()

    def weigh(self):
        """N(v) and W(e), from the end to the front; s leads to each start, the entry first."""
        sys.setrecursionlimit(100000)
        self.n, self.weight = {}, {}
        starts = sorted({0} | {b for a, b in self.cut if a in self.reached})
        for v in starts:
            self.count(v)
        self.start, self.total = {}, 0
        for v in starts:
            self.start[v] = self.total
            self.total += self.n[v]

    def way(self, path):
        """The nodes of a path, by its number."""
        return self.walk(path)[0]

    def walk(self, path):
        """The same, and the edge that ends it; None: the function is left."""
        v = max((w for w in self.start if self.start[w] <= path), key=lambda w: (self.start[w], w))
        rest, nodes = path - self.start[v], [v]
        while self.out[v]:
            w = max((x for x in self.out[v] if self.weight[v, x] <= rest),
                    key=lambda x: self.weight[v, x])
            rest -= self.weight[v, w]
            if (v, w) in self.cut:
                return nodes, (v, w)
            nodes.append(w)
            v = w
        return nodes, None

    def count(self, root):
        todo = [root]
        while todo:
            v = todo[-1]
            ahead = [w for w in self.out[v] if (v, w) not in self.cut and w not in self.n]
            if ahead:
                todo += ahead
                continue
            todo.pop()
            if v in self.n:
                continue
            n = 0
            for w in self.out[v]:
                self.weight[v, w] = n
                n += 1 if (v, w) in self.cut else self.n[w]
            self.n[v] = n if self.out[v] else 1


def functions_of(elf):
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run(["objcopy", "-O", "binary", "--only-section=.pathprof",
                        "--set-section-flags", ".pathprof=alloc", elf, f.name], check=True)
        r = Reader(open(f.name, "rb").read())
    listing = subprocess.run(["readelf", "-SW", elf], check=True, capture_output=True, text=True)
    line, = [x for x in listing.stdout.splitlines() if " pathprof_counters " in x]
    section = int(line.split("]")[1].split()[2], 16)
    found, first = {}, {}
    while r.at < len(r.data):
        assert r.number("I") == 0x55505050 and r.number("I") == 6
        end = r.number("Q")
        end += r.at
        table = r.number("Q") - section
        r.number("Q")
        unit = r.text()
        cnt = r.number("I")
        r.number("I")
        names = [r.text() for _ in range(r.number("I"))]
        for _ in range(r.number("I")):
            r.text()
        for _ in range(cnt):
            f = Function(r, unit, table, names)
            found[f.counter] = f
            # Copies of an inline function, by their graphs and first lines, are one.
            f.unit = first.setdefault(f.identity(), f.unit)
        assert r.at == end
    return found


def paths_of(functions, log):
    """Counts by function and number."""
    counts = collections.Counter()
    open_paths = {}  # by activation: the last node, and the sum so far
    data = open(log, "rb").read()
    for counter, activation, node, what in struct.iter_unpack("<QQII", data):
        f = functions[counter]
        key = counter, activation
        if what == NODE_BEGINS:
            if node == 0 or node in f.behind_cut:
                open_paths[key] = node, f.start[node]
                continue
            last, total = open_paths[key]
            total += f.weight[last, node]
            if (last, node) in f.cut:
                if (last, node) in f.overflow:
                    f.overflow_ran.add((last, node))
                if (last, node) in f.silent:
                    f.unheard.add(total)
                counts[f.unit, f.name, total] += 1
                total = f.start[node]
            elif (last, node) in f.silent:
                total = f.start[node]
            open_paths[key] = node, total
        else:
            last, total = open_paths.pop(key)
            assert last == node
            if what == CALL_CUTS:
                total += f.weight[node, node + 1]
                if (node, node + 1) in f.silent:
                    f.unheard.add(total)
            counts[f.unit, f.name, total] += 1
    return counts


def with_cold_together(functions, want):
    """What is to be counted of functions whose cold paths are not told apart."""
    warm = {(f.unit, f.name): f for f in functions.values() if f.counting == WARM}
    told = collections.Counter()
    for (unit, name, path), n in want.items():
        f = warm.get((unit, name))
        if not f or path + 1 in f.slots:
            told[unit, name, path] += n
        elif (any(f.slots) or f.silent) and path not in f.unheard:
            told[unit, name, "cold"] += n
    return told


def main():
    elf, log, counted = sys.argv[1:]
    functions = functions_of(elf)
    wrong = [f.name for f in functions.values() if f.total != f.path_cnt or f.total > PATHS_MAX]
    ran = paths_of(functions, log)
    want = with_cold_together(functions, ran)
    have = collections.Counter()
    for line in open(counted):
        unit, name, path, count, *by_profile = line.rstrip("\n").split("\t")
        if by_profile:
            continue
        have[unit, name, path if path == "cold" else int(path)] += int(count)
    for key in sorted(want.keys() | have.keys(), key=str):
        if want[key] != have[key]:
            wrong.append("%s path %s: counted %d, ran %d" % (key[1:] + (have[key], want[key])))
    for w in wrong[:10]:
        print("different:", w)
    table = [f for f in functions.values() if f.counting == TABLE]
    in_slots = sum(n for (unit, name, path), n in want.items()
                   for f in table if (f.unit, f.name) == (unit, name) and path + 1 in f.slots)
    of_tables = sum(n for (unit, name, path), n in want.items()
                    for f in table if (f.unit, f.name) == (unit, name))
    cold = sum(n for key, n in want.items() if key[2] == "cold")
    print("%d functions, %d different paths ran %d times, %d functions hashed, %d cut calls, "
          "%d functions with fewer paths by cuts, %d of which run, %d with tables: %d counts there, %d beside them, "
          "%d without cold paths: %d counts, %d cold, %d not counted" %
          (len(functions), len(ran), sum(ran.values()),
           sum(f.counting == HASH for f in functions.values()),
           sum(len(f.behind_cut) for f in functions.values()),
           sum(f.reduced != 0 for f in functions.values()),
           sum(len(f.overflow_ran) for f in functions.values()), len(table), in_slots, of_tables - in_slots,
           sum(f.counting == WARM for f in functions.values()), sum(want.values()) - cold, cold,
           sum(ran.values()) - sum(want.values())))
    return 1 if wrong or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
