#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""For import_peers.sh: recordings of several processes out of exact stacks, and counts compared.

    compose [kernel] [repeats] [odd|mended] SCRIPT...   scripts of trace_recording as one for
                            perf_data_write: each program in a process and, from half on, in a child
                            of it; `kernel`: interrupts in many stacks, `repeats`: newest entries
                            given twice, `odd`: others that say nothing, `mended`: what is left of
                            these by the rules
    raw BINARY FILE         a raw profile's ranges and branches, without those in the linker's stubs
    fdata FILE [BINARY]     BOLT's lines, without what lies in no function at either end; of names of
                            one function in BINARY each stands for all
    edges BINARY DB FDATA   the database's edges are the FDATA's branches, what is left falls through
"""
import re
import sqlite3
import subprocess
import sys

KERNEL = 0xFFFFFFFF81000000
PAGE = 4096


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def segments(path):
    """Of each to load: offset, address, bytes, whether it may be executed."""
    for line in output("readelf", "-lW", path).splitlines():
        words = line.split()
        if words and words[0] == "LOAD":
            yield int(words[1], 16), int(words[2], 16), int(words[4], 16), "E" in words[6:-1]


def mapped(words):
    """The emulator's mapping may be the whole image; the kernel's are segments."""
    if not words[-1].startswith("/") or int(words[5], 16):
        yield " ".join(words)
        return
    loaded = list(segments(words[-1]))
    bias = int(words[3], 16) - (loaded[0][1] & -PAGE)
    for offset, address, size, executable in loaded:
        if executable:
            low, high = address & -PAGE, (address + size + PAGE - 1) & -PAGE
            yield " ".join(words[:3] + [hex(bias + low), hex(high - low), hex(offset & -PAGE)] + words[6:])


def ends(entry):
    source, rest = entry.split(">")
    return int(source, 16), int(rest.split(":")[0], 16)


def interrupted(entries, number):
    """An interrupt before a branch ran: there and back; of some hardware only the way back."""
    at = 1 + number % (len(entries) - 1)
    where = ends(entries[at - 1])[0]
    both = [f"{KERNEL + 64:#x}>{where:#x}:P", f"{where:#x}>{KERNEL:#x}:P"]
    return entries[:at] + (both if number % 2 else both[:1]) + entries[at:]


def repeated(entries):
    """Only a forward branch: no code leads from its target back to it without a branch."""
    source, target = ends(entries[0])
    return entries[:1] + entries if target > source else entries


def stacks(entries, number, wanted):
    """In mid-stack no entry, an abort, or one of a path that was given up; the first two part it."""
    at, kind = 2 + number % (len(entries) - 4), number % 3
    if "mended" in wanted:
        return [entries] if kind == 0 else [entries[:at], entries[at:]]
    if "odd" not in wanted:
        return [entries]
    source, target = ends(entries[at])
    entry = [f"{source:#x}>{target:#x}:P:0:0:1", "0x0>0x0:-", f"{source:#x}>{target:#x}:PA"][kind]
    return [entries[:at] + [entry] + entries[at:]]


def compose(arguments):
    wanted = [a for a in arguments if a in ("kernel", "repeats", "odd", "mended")]
    scripts = arguments[len(wanted):]
    head, tasks, samples = [], [], []
    for i, script in enumerate(scripts):
        pid = 4711 + 10 * i
        with open(script) as lines:
            rows = [line.split() for line in lines]
        cnt = sum(row[0] == "sample" for row in rows)
        number = 0
        for row in rows:
            if row[0] in ("file", "event", "begin"):
                head += [" ".join(row)] if i == 0 else []
            elif row[0] == "exec":
                tasks.append((int(row[2]), f"exec {pid} {row[2]} {row[3]}"))
            elif row[0] == "mmap2":
                row[1] = str(pid)
                tasks += [(int(row[2]), line) for line in mapped(row)]
            elif row[0] == "sample":
                number += 1
                time, entries = int(row[3]) + 1000 * i, row[5:]
                if "kernel" in wanted and number % 3 == 0:
                    entries = interrupted(entries, number)
                who = pid + (number > cnt // 2 and number % 2)
                parts = stacks(entries, number, wanted) if number % 5 == 0 else [entries]
                if "repeats" in wanted and number % 7 == 0:
                    parts[0] = repeated(parts[0])
                for stack in parts:
                    samples.append((time, " ".join(["sample", "0", str(who), str(time), row[4], *stack])))
        tasks.append((900000, f"fork {pid + 1} 900000 {pid}"))
    for line in head:
        print(line)
    for _, line in sorted(tasks, key=lambda t: t[0]) + sorted(samples):
        print(line)


def stubs(path):
    """The linker's stubs, and the first page of code, which raw profiles count from."""
    where = []
    for line in output("readelf", "-SW", path).splitlines():
        found = re.match(r" *\[ *\d+\] (\.plt\S*) +\S+ +(\S+) +\S+ +(\S+)", line)
        if found:
            start = int(found[2], 16)
            where.append((start, start + int(found[3], 16)))
    code = [address for _, address, _, executable in segments(path) if executable]
    return where, code[0] & -PAGE


def raw(binary, path):
    """What is nowhere: 0 or 1 as an address; the stubs, which llvm-profgen takes for no code."""
    where, base = stubs(binary)
    nowhere = {}

    def place(text):
        at = (int(text, 16) + base) & (2**64 - 1)
        return None if at < 2 or any(a <= at < b for a, b in where) else int(text, 16)

    with open(path) as lines:
        for line in lines:
            found = re.match(r"(\w+)(->?)(\w+):(\d+)$", line)
            if not found:
                continue
            source, target = place(found[1]), place(found[3])
            if target is None or (source is None and found[2] == "-"):
                continue
            key = (source, found[2], target)
            nowhere[key] = nowhere.get(key, 0) + int(found[4])
    for (source, arrow, target), count in sorted(nowhere.items(), key=str):
        print(f"{'nowhere' if source is None else hex(source)}{arrow}{target:#x}:{count}")


def names_of_one(binary):
    """llvm-bolt finds a function by any of its names; which one is written is a matter of taste."""
    addresses, together = {}, {}
    for line in output("nm", binary).splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwWi":
            addresses.setdefault(words[2], set()).add(words[0])
    for name, at in addresses.items():
        if len(at) == 1:
            together.setdefault(at.pop(), []).append(name)
    return {name + number: min(names) for names in together.values() for name in names for number in ("", "/1")}


def fdata(path, binary=None):
    """BOLT makes up functions for sections without any; here they are unknown."""
    sums = {}
    one = names_of_one(binary) if binary else {}
    with open(path) as lines:
        for line in lines:
            line = re.sub(r"1 __BOLT_PSEUDO_\S+ \w+", "0 [unknown] 0", line)
            words = line.split()
            for i in (1, 4):
                words[i] = one.get(words[i], words[i])
            key = " ".join(words[:6])
            if key == "0 [unknown] 0 0 [unknown] 0":
                continue
            wrong, count = sums.get(key, (0, 0))
            sums[key] = wrong + int(words[6]), count + int(words[7])
    for key in sorted(sums):
        print(key, *sums[key])


def symbols(binary):
    found = {}
    for line in output("nm", binary).splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tTwW":
            found.setdefault(words[2], int(words[0], 16))
    return found


def returns(binary):
    listing = output("objdump", "-d", "--no-show-raw-insn", binary)
    return {int(m[1], 16) for m in re.finditer(r"^ *(\w+):\t(?:repz |bnd |notrack )*ret", listing, re.M)}


def edges(binary, db, path):
    """Only of functions with a symbol of their own: stubs have none."""
    build_id = re.search(r"Build ID: (\w+)", output("readelf", "-n", binary))[1]
    names = symbols(binary)
    have = {}
    loaded = list(segments(binary))

    def address(at):
        return next(a + at - o for o, a, size, _ in loaded if o <= at < o + size)

    rows = sqlite3.connect(db).execute(
        """select from_offset, to_offset, sum(count), sum(mispredicted)
           from edges e join edge_counts c on c.edge = e.id join binaries a on a.id = from_binary
           join binaries b on b.id = to_binary
           where lower(hex(a.build_id)) = ?1 and lower(hex(b.build_id)) = ?1 group by e.id""", (build_id,))
    ret = returns(binary)
    for source, target, count, wrong in rows:
        key = address(source), address(target)
        if key[0] not in ret:
            have[key] = wrong, count
    want, left = {}, 0
    with open(path) as lines:
        for line in lines:
            words = line.split()
            ends_of = [names.get(words[i].split("/")[0]) for i in (1, 4)]
            if None in ends_of:
                continue
            key = tuple(at + int(words[i], 16) for at, i in zip(ends_of, (2, 5)))
            want[key] = int(words[6]), int(words[7])
    text = {at for name, at in names.items()}
    for key, counts in want.items():
        if key in have:
            if have.pop(key) != counts:
                sys.exit(f"{key[0]:#x} -> {key[1]:#x}: not {counts}")
        elif not 0 < key[1] - key[0] <= 15 or counts[0]:
            sys.exit(f"{key[0]:#x} -> {key[1]:#x}: {counts} are in no edge")
        else:
            left += 1
    where, _ = stubs(binary)
    for key, counts in have.items():
        if not any(a <= at < b for at in key for a, b in where) and min(key) >= min(text):
            sys.exit(f"{key[0]:#x} -> {key[1]:#x}: {counts} are an edge only here")
    print(len(want) - left, "branches,", left, "falls through")


if __name__ == "__main__":
    verb = {"compose": lambda *a: compose(list(a)), "raw": raw, "fdata": fdata, "edges": edges}
    verb[sys.argv[1]](*sys.argv[2:])
