#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds a profile of pathprof-trace --paths against the paths that pathprof-lab cuts out of the trace
of another run of the same program.

    trace_paths.py PROFILE PATHS PIECES

PATHS and PIECES are what `pathprof-lab paths` printed, without --map and with --map wpp. Addresses
and file offsets agree in their place in a page: counts are compared by that, length and outcomes.
Prints what differs, and `paths N runs N pieces N segments N`.
"""
import collections
import sqlite3
import sys


def cut(name):
    counts = collections.Counter()
    for line in open(name):
        start, length, outcomes = line.split()[:3]
        counts[int(start, 16) % 4096, int(length), int(outcomes, 16)] += 1
    return counts


def counted(db, table, column):
    rows = db.execute(f"SELECT p.start % 4096, p.length, p.outcomes, sum(c.{column}) FROM {table} c"
                      " JOIN paths p ON p.id = c.path GROUP BY 1, 2, 3")
    return {tuple(row[:3]): row[3] for row in rows if row[3]}


def differ(name, want, have):
    keys = [key for key in set(want) | set(have) if want.get(key, 0) != have.get(key, 0)]
    for key in keys[:5]:
        print(name, "%03x %d %x" % key, "trace", want.get(key, 0), "profile", have.get(key, 0))
    return len(keys)


def joints(db):
    """Segments end in a piece as often as that piece follows a call or a return, or fewer times:
    as often as segments begin with it, but for the last of each stack."""
    return db.execute("SELECT count(*) FROM (SELECT s.window, s.second, sum(s.count) AS n"
                      " FROM segment_counts s GROUP BY 1, 2) s JOIN piece_counts c ON"
                      " c.window = s.window AND c.path = s.second WHERE s.n > c.count").fetchone()[0]


def main():
    db = sqlite3.connect(sys.argv[1])
    paths, pieces = cut(sys.argv[2]), cut(sys.argv[3])
    wrong = differ("path", paths, counted(db, "path_counts", "samples"))
    wrong += differ("piece", pieces, counted(db, "piece_counts", "count"))
    wrong += joints(db)
    segments = db.execute("SELECT coalesce(sum(count), 0) FROM segment_counts").fetchone()[0]
    print("paths", len(paths), "runs", sum(paths.values()), "pieces", sum(pieces.values()),
          "segments", segments)
    return 1 if wrong or not segments else 0


sys.exit(main())
