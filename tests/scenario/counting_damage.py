#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Damages a file in one place, or cuts it off, and has it read: the reader must say so in a line or
take it, and never end by a signal.

    counting_damage.py READS FROM LENGTH FILE COMMAND...     READS damaged files; the place to
                                                             damage lies in LENGTH bytes from FROM
"""
import random
import signal
import subprocess
import sys


def main():
    reads, begin, length, file = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    whole = open(file, "rb").read()
    rng = random.Random(reads)
    refused = 0
    for i in range(reads):
        data = bytearray(whole)
        at = begin + rng.randrange(min(length, len(whole) - begin))
        if i % 8 == 7:
            del data[at:]
        else:
            data[at:at + 8] = rng.choice([bytes([rng.randrange(256)]), b"\xff" * 8, b"\0" * 8,
                                          bytes([0x7f]) + b"\xff" * 3])
        open(file, "wb").write(data)
        run = subprocess.run(sys.argv[5:], capture_output=True, text=True, errors="replace")
        if run.returncode not in (0, 1) or (run.returncode and run.stderr.count("\n") != 1):
            print("byte %d: status %d (%s): %s" % (at, run.returncode,
                  signal.Signals(-run.returncode).name if run.returncode < 0 else "", run.stderr[:200]))
            return 1
        refused += run.returncode
    open(file, "wb").write(whole)
    print("%d of %d refused" % (refused, reads))
    return 0 if refused else 1


if __name__ == "__main__":
    sys.exit(main())
