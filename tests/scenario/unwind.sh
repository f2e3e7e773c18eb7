#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Call chains against gdb's `bt`: programs at -O2 with and without frame pointers, in C, C++, Rust and
# Go are stopped again and again by a timer of their own, and at least 99 in 100 chains must be the same,
# frame by frame; of ten times so many stops, where a few happened to miss that. Control: without the
# tables of .eh_frame hardly any is.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/rounds.bash"
build=$(realpath "${BUILD:-build}")
compare=$build/tests/truth/unwind
fewest=$(rounds 100 1000)

command -v gdb >/dev/null || {
	echo "skip unwind: no gdb"
	exit 0
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# NAME COMPILER...: compiles; a compiler that is not there leaves the program out.
programs=()
program() {
	local name=$1
	shift
	command -v "$1" >/dev/null || {
		echo "skip unwind $name: no $1"
		return 0
	}
	"$@" -o "$name"
	programs+=("$name")
}
program plain gcc -O2 "$here/workloads/unwind_calls.c"
program frames gcc -O2 -fno-omit-frame-pointer "$here/workloads/unwind_calls.c"
program static gcc -O2 -static-pie -s "$here/workloads/unwind_calls.c"
program clang clang -O2 "$here/workloads/unwind_calls.c"
# of its own code only .debug_frame, packed, as Go's linker does it
program debug_frame gcc -O2 -g -gz -fno-asynchronous-unwind-tables -fno-unwind-tables "$here/workloads/unwind_calls.c"
program classes g++ -O2 "$here/workloads/unwind_classes.cpp"
# half a gigabyte each, which only check-all installs
if [ "${PATHPROF_ROUNDS:-short}" = full ]; then
	program rust rustc -O "$here/workloads/unwind_rust.rs"
	cp "$here/workloads/unwind_go.go" .
	# takes the name of the output first
	go_build() { HOME=$work GO111MODULE=off go build "$@" unwind_go.go; }
	if command -v go >/dev/null; then program go go_build; else echo "skip unwind go: no go"; fi
fi

# The number behind a word of what the comparison has printed.
figure() { # WORD FILE
	awk -v word="$1" '$1 == "stops" { for (i = 1; i < NF; i++) if ($i == word) print $(i + 1) }' "$2"
}

for p in "${programs[@]}"; do
	for stops in "$fewest" $((10 * fewest)); do
		timeout $((60 * fewest)) gdb -nx -q -batch \
			-ex "python stops = $stops; out = '$p.stops'" \
			-x "$here/scenario/unwind_stops.py" "./$p" >"$p.gdb" 2>&1 </dev/null || {
			tail -5 "$p.gdb"
			echo "unwind: gdb did not stop $p so often" >&2
			exit 1
		}
		"$compare" "$p.stops" >"$p.same"
		same=$(figure same "$p.same")
		[ $((same * 100)) -lt $((stops * 99)) ] || break
	done
	"$compare" -f "$p.stops" >"$p.control"
	control=$(figure same "$p.control")
	echo "$p: $same of $stops chains as gdb's, $control without tables"
	if [ "$(figure stops "$p.same")" -ne "$stops" ] || [ $((same * 100)) -lt $((stops * 99)) ]; then
		head -20 "$p.same" >&2
		echo "unwind: $p: fewer than 99 % of the chains are gdb's" >&2
		exit 1
	fi
	[ $((control * 2)) -lt "$stops" ] || {
		echo "unwind: $p: the chains need no tables, so this shows nothing of them" >&2
		exit 1
	}
done
echo "ok unwind"
