#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Is TIME what a clock sees? Pairs of programs, each busy on a CPU of its own (or both on one), are
# recorded by the step source while `perf record -e cpu-clock:u` watches them too, and /proc tells the
# CPU time of each. Every process, and every function above 3 %, must agree.
#
#     SHARES_SECONDS=60 SHARES_OVERHEAD=10% SHARES_PAIRS="gzip:sha256sum ..." tests/scenario/shares.sh
#
# For ten minutes at the default budget: SHARES_SECONDS=600 SHARES_OVERHEAD=0.5%.
set -eu
. "$(dirname "$0")/daemon_common.bash"
. "$(dirname "$0")/../rounds.bash"
ctl=$BUILD/bin/pathprofctl
seconds=${SHARES_SECONDS:-$(rounds 8 15)}
overhead=${SHARES_OVERHEAD:-5%}
pairs=${SHARES_PAIRS:-sort:share_loop share_tree:share_copy $(rounds "" "gzip:sha256sum python3:go")}

for tool in perf gzip sha256sum sort python3 g++ go; do
	command -v $tool >/dev/null || { echo "not ok shares: $tool is missing"; exit 1; }
done
cd "$tmp"
g++ -O2 -g -o share_tree "$here/tests/workloads/share_tree.cpp"
cp "$BUILD"/tests/workloads/share_{loop,copy} .
cat >share_go.go <<'P'
package main

import (
	"crypto/sha256"
	"fmt"
	"sort"
)

func main() {
	data := make([]byte, 1<<20)
	for n := 0; ; n++ {
		sum := sha256.Sum256(data)
		list := make([]int, 200000)
		for i := range list {
			list[i] = (i*7919 + int(sum[0])) % 100003
		}
		sort.Ints(list)
		data[n%len(data)] = byte(list[17])
		if n < 0 {
			fmt.Println(list[0])
		}
	}
}
P
GOCACHE=$tmp/gocache GOFLAGS=-mod=mod go build -o share_go share_go.go
head -c 6000000 "$BUILD/tests/unit" | base64 -w 60 >text

# Runs the program of a name; it is one process that computes without end.
program() { # NAME
	case $1 in
	gzip) while :; do cat text; done | exec gzip -9c >/dev/null ;;
	sha256sum) exec sha256sum </dev/zero ;;
	sort) exec python3 -c 'import random
r = random.Random(1)
l = [r.random() for i in range(100000)]
while True: sorted(l)' ;;
	python3) exec python3 -c 'import json
d = [{"a": i, "b": [str(i), i * 1.5, None]} for i in range(500)]
while True: json.loads(json.dumps(d))' ;;
	go) GOMAXPROCS=1 exec ./share_go ;;
	*) exec ./"$1" ;;
	esac
}
export -f program

# Both run for so long, then end; their CPU times by the kernel's account.
cat >pair <<'P'
#!/bin/bash
set -m
a=$1 b=$2 seconds=$3
taskset -c 0 bash -c "program $a" & first=$!
taskset -c "${SHARES_SECOND_CPU:-$(($(nproc) - 1))}" bash -c "program $b" & second=$!
sleep "$seconds"
# On a busy machine until both have run for so long that their shares can be told.
ticks() { awk '{ print $14 }' "/proc/$(pgrep -g "$1" | tail -n 1)/stat"; }
for ((i = 0; i < 120; i++)); do
	[ "$(ticks $first)" -lt 150 ] || [ "$(ticks $second)" -lt 150 ] || break
	sleep 1
done
for group in $first $second; do
	for pid in $(ps -o pid= --ppid $group) $group; do
		read -r -a stat < <(sed 's/^.*) //' /proc/$pid/stat) || continue
		echo "$pid ${stat[11]} ${stat[12]}"
	done
done >cpu
kill -KILL -- -$first -$second 2>/dev/null
wait 2>/dev/null
exit 0
P
chmod +x pair

# Both tools watch the pair. Without -B perf reads build-ids of what it has seen, and some versions
# overrun their stack in doing so.
watch() { # PAIR NAME
	timeout $((seconds + 200)) perf record -q -B -e cpu-clock:u -F 397 -o "perf.$2" -- \
		"$ctl" record -o "$2.db" --overhead "$overhead" --no-report -- \
		./pair "${1%:*}" "${1#*:}" "$seconds" >record.log 2>&1
}

# Folded stacks hold CPU time too: all of share_loop's, by the kernel's account.
folded() { # NAME
	local pid ticks sum
	"$ctl" --db "$1.db" export -F folded --binary share_loop 2>folded.log >folded ||
		{ not_ok "shares_$1_folded" "$(cat folded.log)"; return; }
	sum=$(awk '{ sum += $NF } END { printf "%.2f", sum / 1e9 }' folded)
	pid=$(python3 -c 'import json
print(*[p["pid"] for p in json.load(open("processes.json")) if p["comm"] == "share_loop"][:1])')
	ticks=$(awk -v pid="$pid" '$1 == pid { print $2 }' cpu)
	if awk -v sum="$sum" -v ticks="${ticks:-0}" -v hz="$(getconf CLK_TCK)" \
		'BEGIN { s = ticks / hz; exit !(s > 1 && sum > s * 0.9 - 0.5 && sum < s * 1.1 + 0.5) }'; then
		ok "shares_$1_folded ($sum s of CPU time, by /proc $ticks ticks)"
	else
		not_ok "shares_$1_folded" "$sum s of CPU time, by /proc ${ticks:-no} ticks"
	fi
}

for pair in $pairs; do
	name=${pair/:/_}
	if ! watch "$pair" "$name"; then
		not_ok "shares_$name" "recording failed: $(tail -1 record.log)"
		continue
	fi
	perf script -i "perf.$name" --show-mmap-events -F comm,pid,tid,event,ip >script 2>/dev/null
	"$ctl" --db "$name.db" --json processes -n 0 >processes.json
	"$ctl" --db "$name.db" --json top --by functions -n 0 >functions.json
	python3 "$here/tests/scenario/shares.py" "$name" script cpu processes.json functions.json || failed=1
	case $pair in *share_loop*) folded "$name" ;; esac
done
finish
