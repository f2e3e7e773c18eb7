# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads pprof's profiles by the wire format alone, for tests/scenario/export_tools.sh. Usage:

    export_pprof.py check FILE BINARY BUILD_ID    the rules of profile.proto; prints what is broken
    export_pprof.py sums FILE                     `FUNCTION VALUE`, the first value, of the innermost
    export_pprof.py source FILE                   as llvm-symbolizer prints `ADDRESS` and its frames
    export_pprof.py cover BINARY                  makes AutoFDO's text: every function ran once

Nothing but Python's standard library.
"""
import gzip
import re
import subprocess
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """A message's fields as {number: [value]}; values are numbers or bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
            assert len(value) == size, "a field is cut off"
        else:
            raise AssertionError(f"wire type {key & 7} is none of the format's")
        found.setdefault(key >> 3, []).append(value)
    return found


def numbers(values):
    """Of a repeated number, packed or not."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(number)
    return out


class Profile:
    def __init__(self, path):
        raw = open(path, "rb").read()
        assert raw[:3] == b"\x1f\x8b\x08", "is not gzip"
        top = fields(gzip.decompress(raw))
        self.top = top
        self.strings = [s.decode() for s in top[6]]
        self.samples = [fields(s) for s in top.get(2, [])]
        self.mappings = [fields(m) for m in top.get(3, [])]
        self.locations = [fields(m) for m in top.get(4, [])]
        self.functions = {one(fields(f), 1): fields(f) for f in top.get(5, [])}

    def frames(self, location):
        """(function, file, line), the innermost first."""
        for line in location.get(4, []):
            line = fields(line)
            function = self.functions[one(line, 1)]
            yield (
                self.strings[one(function, 2)],
                self.strings[one(function, 4)],
                one(line, 2),
            )


def one(message, number):
    values = message.get(number, [0])
    assert len(values) == 1, f"field {number} stands there {len(values)} times"
    return values[0]


def check(path, binary, build_id):
    p = Profile(path)
    assert p.strings[0] == "", "string 0 is not empty"
    assert len(set(p.strings)) == len(p.strings), "a string stands twice in the table"
    for kind, items in (("mapping", p.mappings), ("location", p.locations)):
        ids = [one(i, 1) for i in items]
        assert 0 not in ids and len(set(ids)) == len(ids), f"ids of {kind}s"
    assert 0 not in p.functions and len(p.functions) == len(p.top[5]), "ids of functions"
    mappings = {one(m, 1): m for m in p.mappings}
    locations = {one(m, 1): m for m in p.locations}
    types = [fields(t) for t in p.top[1]]
    names = [p.strings[one(t, 1)] for t in types]
    # CPU time stands first where a clock ran.
    assert names[-3:] == ["instructions", "branches", "mispredicted"] and names[:-3] in ([], ["cpu"]), names
    units = [p.strings[one(t, 2)] for t in types]
    assert units == ["nanoseconds"] * (len(names) - 3) + ["count"] * 3, units
    assert p.strings[p.top[14][0]] == names[0]
    assert p.top[9][0] > 1600000000 * 10**9 and 0 < p.top[10][0] < 600 * 10**9, "times"
    for m in p.mappings:
        assert p.strings[one(m, 6)] == build_id and p.strings[one(m, 5)] == binary
        assert one(m, 2) < one(m, 3)
    for caller in p.locations:
        if not one(caller, 2):
            assert not one(caller, 3) and len(list(p.frames(caller))) == 1, "a caller with an address"
    placed = [place for place in p.locations if one(place, 2)]
    for place in placed:
        m = mappings[one(place, 2)]
        assert one(m, 2) <= one(place, 3) < one(m, 3), "an address outside of its mapping"
        assert list(p.frames(place)), "a location without a line"
    addresses = [one(place, 3) for place in placed]
    assert addresses == sorted(set(addresses)), "addresses are not in order, or twice there"
    for s in p.samples:
        assert all(i in locations for i in numbers(s[1])) and len(numbers(s[2])) == len(types)
    for f in p.functions.values():
        assert p.strings[one(f, 2)], "a function without a name"


def sums(path):
    p = Profile(path)
    locations = {one(m, 1): m for m in p.locations}
    total = {}
    for s in p.samples:
        # the innermost location is where it ran, those behind it called
        name = next(p.frames(locations[numbers(s[1])[0]]))[0]
        total[name] = total.get(name, 0) + numbers(s[2])[0]
    for name, value in total.items():
        if value:
            print(name, value)


def source(path):
    p = Profile(path)
    for place in p.locations:
        if not one(place, 2):
            continue
        print(f"0x{one(place, 3):x}")
        for name, file, line in p.frames(place):
            print(name)
            print(f"{file or '??'}:{line}")
        print()


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def cover(binary):
    offset = None
    for line in output("readelf", "-lW", binary).splitlines():
        m = re.match(r" +LOAD +(\S+) (\S+) .* R E ", line)
        if m:
            offset = int(m[1], 16) - int(m[2], 16)
    ranges = []
    for line in output("nm", "-S", binary).splitlines():
        m = re.match(r"(\S+) (\S+) [tTwW] ", line)
        if m and int(m[2], 16):
            start = int(m[1], 16) + offset
            ranges.append(f"{start:x}-{start + int(m[2], 16) - 1:x}:1")
    print(len(ranges), *ranges, 0, 0, sep="\n")


if __name__ == "__main__":
    try:
        {"check": check, "sums": sums, "source": source, "cover": cover}[sys.argv[1]](*sys.argv[2:])
    except AssertionError as broken:
        sys.exit(f"{sys.argv[2]}: {broken}")
