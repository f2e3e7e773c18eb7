# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that nobody here chose, recorded while perf watches them too: programs.py holds the names
# and the TIME of their functions against perf's, and the tools that read exports read these.
# Sourced first; leaves $tmp, in which it works, and held().
. "$(dirname "${BASH_SOURCE[0]}")/daemon_common.bash"
. "$here/tests/rounds.bash"
unset DEBUGINFOD_URLS
ctl=$BUILD/bin/pathprofctl
seconds=$(rounds 4 10) # of CPU time, of each program
cd "$tmp"

# have TOOL...: false, and said, where one is missing.
have() {
	local tool
	for tool; do
		command -v "$tool" >/dev/null || { echo "skip programs_$1: no $tool"; return 1; }
	done
}

# watched NAME COMMAND...: the command under both. Without -B perf reads build-ids of what it has seen,
# and some versions overrun their stack in doing so.
watched() {
	local name=$1
	shift
	timeout 300 perf record -q -B -e cpu-clock:u -F 397 -o "$name.perf" -- \
		"$ctl" record -o "$name.db" --overhead 5% --no-report -- "$@" >"$name.out" 2>"$name.log"
}

# go's pprof has as much time in all as the clock saw, and gives as much of it to the heaviest function.
pprof_agrees() { # NAME
	local share
	have go || return 0
	"$ctl" --db "$1.db" export -F pprof -o "$1.pprof" 2>>"$1.log" &&
		go tool pprof -symbolize=none -top -nodecount=400 -nodefraction=0 -unit=ms "$1.pprof" >"$1.pprof.top" 2>>"$1.log" || return 1
	share=$(python3 -c 'import collections, json
times = collections.Counter()
for row in json.load(open("functions.json")):
    times[row["function"] or row["function_start"]] += row["time"] or 0
print(max(times.values()))')
	awk -v share="$share" -v samples="$CLOCK_SAMPLES" '
		/ total$/ { total = $(NF - 1) }
		/^ *flat / { getline; top = $2 + 0; exit }
		END { exit !(total + 0 > samples / 97 * 900 && total + 0 < samples / 97 * 1100 && (top - 100 * share) ^ 2 < 0.01) }' "$1.pprof.top" ||
		{ echo "# $share of TIME" && head -n 8 "$1.pprof.top"; return 1; }
}

folded_agrees() { # NAME: the sum of all stacks is the time of the clock's samples
	"$ctl" --db "$1.db" export -F folded -o "$1.folded" 2>>"$1.log" &&
		awk -v samples="$CLOCK_SAMPLES" '{ sum += $NF } END { exit !(NR > 3 && sum > samples / 97 * 0.9e9 && sum < samples / 97 * 1.1e9) }' "$1.folded"
}

# held NAME: what watched() has recorded.
held() {
	local name=$1
	perf script -i "$name.perf" --no-demangle --no-inline --show-mmap-events --show-task-events -F comm,pid,tid,event,ip,sym >script 2>/dev/null
	"$ctl" --db "$name.db" --json processes -n 0 >processes.json
	"$ctl" --db "$name.db" --json top --by functions -n 0 >functions.json
	CLOCK_SAMPLES=$("$ctl" --db "$name.db" windows --json | python3 -c 'import json, sys; print(sum(w["clock_samples"] for w in json.load(sys.stdin)))')
	export CLOCK_SAMPLES
	python3 "$here/tests/scenario/programs.py" "$name" script processes.json functions.json || failed=1
	# Go is half a gigabyte, which only check-all installs.
	[ "${PATHPROF_ROUNDS:-short}" != full ] ||
		check "programs_${name}_pprof" "$(tail -n 2 "$name.log")" pprof_agrees "$name"
	check "programs_${name}_folded" "$(tail -n 2 "$name.log")" folded_agrees "$name"
	rm -f "$name".*
}

# program NAME COMMAND...: one that ends by itself.
program() {
	if watched "$@"; then held "$1"; else not_ok "programs_$1" "recording failed: $(tail -n 1 "$1.log")"; fi
}

for tool in perf python3 readelf; do have $tool || exit 0; done
