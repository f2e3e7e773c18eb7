#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Callers in programs that Debian built and stripped: the same pairs of function and caller have the
# same shares of time here and in the stacks of perf record --call-graph dwarf.
set -u
. "$(dirname "$0")/../own_processes.bash"
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${BUILD:-build}")
ctl=$build/bin/pathprofctl
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
unset DEBUGINFOD_URLS
failed=0
for tool in perf readelf python3 lua5.4; do
	command -v $tool >/dev/null || { echo "skip callers_perf: no $tool"; exit 0; }
done

cat >work.py <<'END'
import json, random, re, sys, time
random.seed(1)
end = time.process_time() + float(sys.argv[1])
words = ["%x" % random.getrandbits(60) for _ in range(3000)]
while time.process_time() < end:
    text = json.dumps({w: [i, {"a": w}] for i, w in enumerate(words)})
    json.loads(text)
    sorted(words, key=lambda w: w[::-1])
    re.sub("[a-f]+", lambda m: m.group().upper(), text[:50000])
    lengths = {}
    for w in words:
        lengths[w[:2]] = lengths.get(w[:2], 0) + len(w)
END
cat >work.lua <<'END'
local finish = os.clock() + tonumber(arg[1])
while os.clock() < finish do
	local t, s = {}, {}
	for i = 1, 5000 do t[i] = (i * 7919) % 10007 end
	table.sort(t, function(a, b) return a < b end)
	for i = 1, 2000 do s[#s + 1] = string.format("%d:%s", t[i], ("x"):rep(i % 7)) end
	local all = table.concat(s, ","):gsub("%d+", function(d) return #d end)
	t[1] = #all
end
END

# held PROGRAM...: with how many seconds of CPU time it is to run behind it.
held() {
	local name=$1 samples
	perf record -q -e cpu-clock:u -F 997 --call-graph dwarf,16384 -o perf.data "$@" 10 >/dev/null 2>said &&
		perf script --no-inline -i perf.data -F comm,ip,dso >stacks 2>>said || { echo "not ok callers_perf $name: $(tail -n 1 said)"; failed=1; return; }
	rm -f db db-*
	"$ctl" record -o db --overhead 20% --no-report -- "$@" 30 >/dev/null 2>said
	"$ctl" --db db top --by callers --since @0 --limit 0 --json >callers 2>>said
	samples=$("$ctl" --db db windows --json | python3 -c 'import json, sys; print(sum(w["clock_samples"] for w in json.load(sys.stdin)))')
	if python3 "$here/callers_perf.py" callers stacks "$samples" >held 2>&1; then
		sed 's/^/# /' held
		echo "ok callers_perf $name: $(tail -n 1 held)"
	else
		cat held said
		echo "not ok callers_perf $name: $(tail -n 1 held)"
		failed=1
	fi
}
held /usr/bin/python3 work.py
held lua5.4 work.lua
exit $failed
