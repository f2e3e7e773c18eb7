#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Time in the kernel has the names of its functions: those of a recording are the ones that perf saw in
# the same run of a program that reads random bytes. Shares agree as closely as chance allows; what was
# recorded without the right to know has one row for all of the kernel, and the same sum.
set -u
. "$(dirname "$0")/daemon_common.bash"
set +e
name=kernel_names
for tool in perf dd setpriv; do
	command -v $tool >/dev/null || { echo "skip $name: $tool is not installed"; exit 0; }
done
grep -q '^0*[1-9a-f][0-9a-f]* T _text$' /proc/kallsyms ||
	{ echo "skip $name: the kernel hides its addresses from this user"; exit 0; }
ctl=$(realpath "${BUILD:-build}")/bin/pathprofctl
cd "$tmp"

perf record -q -e cpu-clock -F 997 -o perf.data -- "$ctl" record --no-report -o named.db -- \
	timeout 8 dd if=/dev/urandom of=/dev/null bs=64k >record.log 2>&1
perf script -i perf.data --comm dd -F ip,sym,dso 2>perf.log >perf.txt
"$ctl" --db named.db top --by functions -n 0 --json >functions.json 2>ctl.log
"$ctl" --db named.db binaries -n 0 --json >binaries.json 2>>ctl.log
"$ctl" --db named.db processes -n 0 --json >processes.json 2>>ctl.log
if python3 - <<'P' >judged; then ok "$name ($(cat judged))"; else not_ok $name "$(tail -1 judged) $(tail -1 record.log)"; fi
import json, math, sys

def die(text):
    print(text)
    sys.exit(1)

truth, cnt = {}, 0
for line in open("perf.txt"):
    words = line.split()
    if len(words) < 3:
        continue
    cnt += 1
    if words[-1].startswith("([kernel"):
        truth[words[1]] = truth.get(words[1], 0) + 1
rows = json.load(open("functions.json"))
ours = {r["function"]: r for r in rows if r["binary"]["kind"] == "kernel" and r["function"]}
rest = sum(r["time"] for r in rows if r["binary"]["name"] == "[kernel]" and not r["function"])
kernel = [b for b in json.load(open("binaries.json")) if b["binary"]["kind"] == "kernel"]
if cnt < 100 or not truth:
    die(f"perf took {cnt} samples")
if len(kernel) != 1 or abs(sum(r["time"] for r in ours.values()) - kernel[0]["time"]) > 1e-6:
    die("functions do not add up to the binary")
by_process = sum(p["kernel_time"] for p in json.load(open("processes.json")))
if abs(by_process - kernel[0]["time"] - rest) > 1e-6:
    die(f"{by_process:.1%} in the kernel by process, {kernel[0]['time'] + rest:.1%} by binary")
hot = max(truth, key=truth.get)
share = truth[hot] / cnt
got = ours.get(hot)
if not got:
    die(f"perf's {hot}, {share:.1%}, has no row")
# half the width of the interval is two deviations; perf's own chance comes beside
slack = 2.5 * (got["time_high"] - got["time_low"]) / 2 + 5 * math.sqrt(share * (1 - share) / cnt)
if abs(got["time"] - share) > slack:
    die(f"{hot}: {got['time']:.1%} here, {share:.1%} by perf")
if rest > 0.02 + kernel[0]["time"] / 10:
    die(f"{rest:.1%} of time in nameless functions of the kernel")
print(f"{hot}: {got['time']:.1%} here, {share:.1%} by perf, {len(ours)} functions")
P
if "$ctl" --db named.db db check >check.log 2>&1; then ok ${name}_db; else not_ok ${name}_db "$(tail -1 check.log)"; fi

# The list hidden: what is known is the sum.
if unshare --mount sh -c 'mount --bind /dev/null /proc/kallsyms && exec "$@"' sh "$ctl" record --no-report \
	-o hidden.db -- timeout 3 dd if=/dev/urandom of=/dev/null bs=64k >hidden.log 2>&1
[ -s hidden.db ] && "$ctl" --db hidden.db top --by functions -n 0 --json >hidden.json 2>>hidden.log &&
	python3 -c 'import json
rows = [r for r in json.load(open("hidden.json")) if r["binary"]["name"] == "[kernel]"]
assert len(rows) == 1 and rows[0]["function"] is None and rows[0]["time"] > 0.2, rows' 2>>hidden.log; then
	ok ${name}_hidden
else
	not_ok ${name}_hidden "$(tail -1 hidden.log)"
fi
finish
