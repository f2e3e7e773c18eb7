#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How much of the truth follows from how often edges ran: what profiles of paths have to beat.

    counting_edges.py ELF COUNTS        COUNTS: of `pathprof-lab counts --all`, of a build that counts all

Edges are those of the same run, added up from its paths. A path ran at most as often as its rarest edge,
its potential flow, and at least what began it less what left it on the way, its definite flow (Ball, Mataga
and Sagiv, Edge Profiling versus Path Profiling, 1998). Accuracy is Wall's weight matching as in
counting_accuracy.py: paths are held for hot by one of these. Coverage is all definite flow. Each by branch
flow (a path's count times its branches) and by unit flow (its count).
"""
import collections
import heapq
import sys

import counting_oracle
from counting_accuracy import HOT, branches_of, read

PATIENCE = 400000


class Edges:
    """How often the edges of a function ran, and its nodes were come to."""

    def __init__(self, f, counts):
        self.f = f
        self.edge, self.start, self.came, self.left = (collections.Counter() for _ in range(4))
        for path, n in counts.items():
            nodes, end = f.walk(path)
            self.start[nodes[0]] += n
            for v in nodes:
                self.came[v] += n
            for a, b in zip(nodes, nodes[1:]):
                self.edge[a, b] += n
            if end:
                self.edge[end] += n
            else:
                self.left[nodes[-1]] += n
        self.ahead = {}
        for v in sorted(f.n, key=f.n.get):
            self.branches_from(v)

    def branches_from(self, v):
        """The most branches from a node to the end of a path."""
        todo = [v]
        while todo:
            v = todo[-1]
            below = [w for w in self.f.out[v] if (v, w) not in self.f.cut]
            missing = [w for w in below if w not in self.ahead]
            if missing:
                todo += missing
                continue
            todo.pop()
            self.ahead[v] = (len(self.f.out[v]) > 1) + max((self.ahead[w] for w in below), default=0)

    def begin(self):
        """Paths that have just begun: flow, node, number so far, branches so far."""
        return [(n, v, self.f.start[v], 0) for v, n in self.start.items()]

    def go_on(self, flow, v, number, branches, definite):
        """The same a node further; node None: it has ended."""
        branches += len(self.f.out[v]) > 1
        if not self.f.out[v]:
            yield flow, None, number, branches
        for w in self.f.out[v]:
            n = self.edge[v, w]
            rest = flow - (self.came[v] - n) if definite else min(flow, n)
            if rest > 0:
                yield rest, None if (v, w) in self.f.cut else w, number + self.f.weight[v, w], branches


def best(functions, definite, by_branch):
    """Paths by what edges say of them, the most first: flow, key. Ends when patience does."""
    def bound(e, flow, v, branches):
        return flow * (branches + (e.ahead[v] if v is not None else 0)) if by_branch else flow

    heap, order = [], 0
    for key, e in functions.items():
        for flow, v, number, branches in e.begin():
            heap.append((-bound(e, flow, v, branches), order, key, flow, v, number, branches))
            order += 1
    heapq.heapify(heap)
    for _ in range(PATIENCE):
        if not heap or not heap[0][0]:
            return
        value, _, key, flow, v, number, branches = heapq.heappop(heap)
        if v is None:
            yield -value, key + (number,)
            continue
        e = functions[key]
        for flow, w, further, cnt in e.go_on(flow, v, number, branches, definite):
            order += 1
            heapq.heappush(heap, (-bound(e, flow, w, cnt), order, key, flow, w, further, cnt))


def accuracy(true, functions, definite, by_branch):
    hot = {key for key, n in true.items() if n >= HOT * sum(true.values())}
    held = set()
    for _, key in best(functions, definite, by_branch):
        held.add(key)
        if len(held) == len(hot):
            break
    return 100 * sum(true[key] for key in hot & held) / sum(true[key] for key in hot)


def main():
    known = {(f.unit, f.name): f for f in counting_oracle.functions_of(sys.argv[1]).values()}
    truth, _ = read(sys.argv[2])
    by_function = collections.defaultdict(dict)
    for (unit, name, path), n in truth.items():
        by_function[unit, name][path] = n
    functions = {key: Edges(known[key], counts) for key, counts in by_function.items()}
    for what, by_branch in ("branch flow", True), ("unit flow", False):
        true = {key: n * (branches_of(known[key[:2]], key[2]) if by_branch else 1) for key, n in truth.items()}
        covered = sum(value for value, _ in best(functions, True, by_branch))
        print("%s: potential accuracy %.1f %%, definite accuracy %.1f %%, coverage %.1f %%" %
              (what, accuracy(true, functions, False, by_branch), accuracy(true, functions, True, by_branch),
               100 * covered / sum(true.values())))


if __name__ == "__main__":
    main()
