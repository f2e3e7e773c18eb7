#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# top --by containers, units and comms: the processes summed up, held against sums over what
# `processes --json` says of each. A container's id has twelve digits in a table.
set -eu
name=ctl_groups
. "$(dirname "$0")/ctl_common.bash"

cd "$dir"
"$known" known.db
id=$(printf 'a%.0s' $(seq 64))
sqlite3 known.db "UPDATE processes SET container = '$id' WHERE container = 'web-1'" 2>/dev/null ||
	sqlite3 known.db "UPDATE containers SET name = '$id' WHERE name = 'web-1'"
run 0 processes --db known.db --json
mv got processes
for by in containers units comms; do
	run 0 top --db known.db --since @0 -n 0 --by $by --json
	mv got $by
	run 0 top --db known.db --since @0 -n 0 --by $by
	mv got $by.table
done
python3 - "$id" <<'END_OF_TEST' || fail "groups are not the sums of their processes"
import json, sys
from collections import defaultdict
processes = json.load(open("processes"))
unit = lambda p: p["container"].endswith(".service")
group = {"containers": lambda p: "" if unit(p) else p["container"],
         "units": lambda p: p["container"] if unit(p) else "", "comms": lambda p: p["comm"]}
assert len(processes) > 1
for by, name in group.items():
    want = defaultdict(lambda: [0, 0, 0.0])
    for p in processes:
        sums = want[name(p)]
        sums[0] += 1
        sums[1] += p["samples"]
        sums[2] += p["time"]
    got = {g["name"]: g for g in json.load(open(by))}
    assert set(got) == set(want), (by, set(got), set(want))
    for key, (cnt, samples, time) in want.items():
        assert got[key]["processes"] == cnt and got[key]["samples"] == samples, (by, key)
        assert abs(got[key]["time"] - time) < 1e-6, (by, key, got[key]["time"], time)
assert sys.argv[1] in {p["container"] for p in processes}
END_OF_TEST
grep -qE " ${id:0:12}\$" containers.table || { cat containers.table; fail "no id of twelve digits"; }
run 0 processes --db known.db
grep -qE " ${id:0:12} " got || { cat got; fail "processes has no id of twelve digits"; }
run 0 paths --db known.db --container "${id:0:12}"
[ -s got ] || fail "a container is not found by these digits"
finish
