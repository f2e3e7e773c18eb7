#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Each command of the README works as it is written there.
. "$(dirname "$0")/../own_processes.bash"
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
for tool in gcc llvm-bolt-22 python3; do
	command -v $tool >/dev/null || { echo "skip readme: no $tool"; exit 0; }
done
ln -s "$build" build
export PATH=$build/bin:$PATH XDG_STATE_HOME=$dir/state

cp "$build/bin/pathprofctl" file
head -c 200000 file >small
for _ in 1 2 3 4; do cat file; done >large
head -c 20000000 /dev/urandom >random
# The page's lua is a program that its reader has built, with relocations for BOLT.
cat >lua.c <<'END'
#include <stdlib.h>
static int order(const void *a, const void *b)
{
	return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}
int main(void)
{
	static int numbers[100000];
	unsigned int seed = 1;
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 100000; i++)
			numbers[i] = (int)(seed = seed * 1664525 + 1013904223);
		qsort(numbers, 100000, sizeof(int), order);
	}
	return numbers[0] == 1;
}
END
gcc -O2 -Wl,--emit-relocs -o lua lua.c || exit 1

# The pages' database has windows of text and of random bytes, and a function with a name.
# windows N...: how many there are, if each of these has paths; else 0.
windows() {
	pathprofctl --db pathprof.db windows --json 2>/dev/null | python3 -c 'import json, sys
paths = {w["id"]: w["paths"] for w in json.load(sys.stdin)}
print(len(paths) if all(paths.get(int(n)) for n in sys.argv[1:]) else 0)' "$@" 2>/dev/null || echo 0
}
# record_windows SECONDS: of text, then of random bytes, two at least of each.
record_windows() {
	local end=$((SECONDS + 300)) daemon named
	rm -f pathprof.db*
	: >log
	pathprofd --db pathprof.db --overhead 20% --window "$1" >log 2>&1 &
	daemon=$!
	until grep -q 'profiling to' log; do sleep 0.1; kill -0 $daemon || { cat log; exit 1; }; done
	"$build/tests/workloads/share_loop" >/dev/null &
	named=$!
	until [ "$(windows)" -ge 2 ] || [ $SECONDS -gt $end ]; do bzip2 -k -c large >/dev/null; done
	until [ "$(windows)" -ge 4 ] || [ $SECONDS -gt $end ]; do bzip2 -k -c random >/dev/null; done
	kill $daemon $named
	wait $daemon $named 2>/dev/null
}
# The page names the first and the third. On a busy machine one of so few seconds may be empty.
for seconds in 3 10 30; do
	record_windows $seconds
	[ "$(windows 1 3)" = 0 ] || break
done
python3 "$here/tests/scenario/readme.py" "$here/README.md"
