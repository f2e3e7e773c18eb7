#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How far apart the numbers of interesting paths lie: of each function of an ELF file that has a table,
its name, and how many numbers there are from the first to the last of its paths, over how many paths
these are. 1 is the least.

    counting_spans.py ELF
"""
import sys

import counting_oracle

for f in counting_oracle.functions_of(sys.argv[1]).values():
    if f.counting == counting_oracle.TABLE:
        taken = [slot for slot, path in enumerate(f.slots) if path]
        print(f.name, "%.4f" % ((taken[-1] + 1) / len(taken)))
