#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Others profile too: what `perf record` writes while the daemon tracks every process is what it writes
# without. An event of ours that asks the kernel for build-ids would put their flag on perf's records,
# for about one program in three.
set -eu
. "$(dirname "$0")/daemon_common.bash"
command -v perf >/dev/null || { echo "not ok perf_beside: perf is missing"; exit 1; }
cd "$tmp"

# Mappings of 12 runs, and how many of them have the flag (misc bit 14).
flagged() {
	local i
	for i in $(seq 12); do
		perf record -q -B -e cpu-clock:u -F 397 -o "p$i.data" -- /bin/true >perf.log 2>&1 || {
			echo "perf failed: $(tail -1 perf.log)"
			return
		}
	done
	python3 - <<'P'
import glob, struct

maps = flagged = 0
for name in glob.glob("p*.data"):
    data = open(name, "rb").read()
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, misc, size = struct.unpack_from("<IHH", data, at)
        maps += kind == 10
        flagged += kind == 10 and bool(misc & 0x4000)
        at += size
print(f"{flagged} of {maps}" if maps >= 24 else f"only {maps} mappings")
P
}

start --db "$db" --overhead 1 || { not_ok perf_beside "the daemon did not start"; finish; }
got=$(flagged)
if [[ $got == "0 of "* ]]; then ok "perf_beside ($got)"; else not_ok perf_beside "$got mappings are flagged"; fi
if perf script -i p1.data -F comm,ip >/dev/null 2>perf.log; then
	ok perf_beside_script
else
	not_ok perf_beside_script "$(tail -1 perf.log)"
fi
finish
