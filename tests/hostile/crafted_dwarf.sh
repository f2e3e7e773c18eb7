#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debug information that takes all memory, all time, leads in circles, or turns into a FIFO between
# a look and an opening. pathprofctl ends within its limits, and says which file it was; the child
# that reads names for the daemon ends within its own.
. "$(dirname "$0")/hostile_common.bash"
ctl=$BUILD/bin/pathprofctl
command -v gcc >/dev/null || { echo "skip crafted-dwarf: no gcc"; exit 0; }
craft=$(dirname "$0")/crafted_dwarf.py
id=$(python3 -c 'import os; print(os.urandom(20).hex())')
memory_kb=400000
seconds=5
program=$tmp/crafted

# measure FILE COMMAND...: seconds and kilobytes into FILE; ends as the command does.
cat >"$tmp/measure" <<-'END'
	import resource, subprocess, sys, time
	begin = time.monotonic()
	status = subprocess.call(sys.argv[2:])
	peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
	open(sys.argv[1], 'w').write(f'{time.monotonic() - begin:.2f} {peak}\n')
	sys.exit(status)
END

# make_program KIND [FILE or DEPTH]: the same code and build-id, whatever the debug information.
make_program() {
	python3 "$craft" "$@" >"$tmp/crafted.s"
	gcc -o "$tmp/next" "$tmp/crafted.s" "-Wl,--build-id=0x$id"
	# a few kilobytes may stand for gigabytes
	objcopy --compress-debug-sections=zlib "$tmp/next"
	mv "$tmp/next" "$program"
}
# run COMMAND...: under the limits; sets $status, $took_s, $peak_kb. What it says is in $tmp/said.
run() {
	status=0
	(ulimit -d "$memory_kb" && PATHPROF_READ_SECONDS=$seconds timeout 60 \
		python3 "$tmp/measure" "$tmp/took" "$@") >"$tmp/out" 2>"$tmp/said" || status=$?
	read -r took_s peak_kb < <(tail -n 1 "$tmp/took")
}
ended() { true_that "$took_s <= $seconds + 10 && $peak_kb <= $memory_kb + 60000" && [ "$status" -le 1 ]; }
look() { # NAME COMMAND...
	local name=$1
	shift
	run "$@"
	check "$name" "status $status, $took_s s, $peak_kb kB: $(tail -n 1 "$tmp/said")" ended
}

make_program plain
export PATHPROF_DB=$tmp/crafted.db
"$ctl" record --no-report --overhead 60 -o "$PATHPROF_DB" -- "$program" >"$tmp/out" 2>&1 ||
	not_ok record "$(tail -n 3 "$tmp/out")"
path_id=$("$ctl" --json paths --function hot -n 1 | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])')
start=$(sqlite3 "$PATHPROF_DB" "SELECT start FROM paths WHERE id = $path_id")
held_briefly() { true_that "$(sed -n 's/^held //p' "$tmp/out") < 500"; }
export_it() { "$@" "$ctl" export --any-owner --binary "$id" --file "$program" -F pprof -o "$tmp/pprof"; }
# Somebody without rights reads in the process that is watched; for root others read (ctl_rights).
readable=$(for_neighbour "$ctl")
mkdir "$tmp/theirs"
chmod 777 "$tmp/theirs"
export_theirs() {
	chmod 644 "$PATHPROF_DB"*
	"$@" "${neighbour[@]}" "$readable" export --any-owner --binary "$id" --file "$program" -F pprof \
		-o "$tmp/theirs/pprof"
}

for kind in plain abbrevs lines nested sibling sizes; do
	make_program "$kind"
	look "$kind-show" "$ctl" show "$path_id"
	[ "$kind" != plain ] || check plain-line "$(cat "$tmp/out")" grep -q crafted.c: "$tmp/out"
	[ "$kind" != lines ] || check lines-told "$(cat "$tmp/said")" grep -q "$program: .*memory" "$tmp/said"
	[ "$kind" = lines ] || look "$kind-paths" "$ctl" paths --function hot
	export_it look "$kind-export"
	look "$kind-names" "$tools/names_of" "$program" "$id" "$start"
	check "$kind-names-held" "$(cat "$tmp/out")" held_briefly
	[ "$kind" != plain ] || check plain-named "$(cat "$tmp/out")" grep -q '^0 hot .*crafted.c:' "$tmp/out"
done
# Reading that takes too long is told; no machine reads so much within the second.
make_program nested 2000000
seconds=1
export_theirs run
check slow-told "status $status after $took_s s: $(cat "$tmp/said")" \
	eval '[ "$status" -eq 1 ] && grep -q "$program: takes more than 1 s to read" "$tmp/said"'
seconds=5

# ---------------------------------------------------------------- a .dwo file that becomes a FIFO
# swapped COMMAND...: as soon as somebody other than the look opens it.
cat >"$tmp/swap.c" <<-'END'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <fcntl.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#define SWAP(name) int name(const char *path, int flags, ...) { \
		int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, #name); \
		const char *dwo = getenv("SWAP"), *fifo = getenv("SWAP_BY"); \
		if (dwo && fifo && !(flags & O_PATH) && !strcmp(path, dwo)) rename(fifo, dwo); \
		return real(path, flags, 0600); }
	SWAP(open)
	SWAP(open64)
END
gcc -shared -fPIC -o "$tmp/swap.so" "$tmp/swap.c" -ldl
make_program dwo "$tmp/rest.dwo"
gcc -g -c -o "$tmp/rest.dwo" -x c - <<<'int x;'
mkfifo "$tmp/fifo"
export_it look dwo-there
chmod 777 "$tmp"
export_theirs look dwo-swapped env "LD_PRELOAD=$tmp/swap.so" "SWAP=$tmp/rest.dwo" "SWAP_BY=$tmp/fifo"
chmod 755 "$tmp"
check dwo-was-swapped "it is no FIFO" test -p "$tmp/rest.dwo"
check dwo-told "status $status: $(cat "$tmp/said")" grep -q "$tmp/rest.dwo: does not answer" "$tmp/said"
export_it look dwo-fifo
check dwo-fifo-not-opened "$took_s s" true_that "$took_s < 4"
finish
