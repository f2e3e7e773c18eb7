#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs out of Debian's sources pass their own tests when pathprof-cc has built them, early and late:
# zlib's tests of its static and shared library, and SQLite's speedtest1, whose results have a hash.
# (gzip's are in counting_programs.sh.)
name=counting_suites
. "$(dirname "$0")/counting_common.bash"
for tool in apt-get tclsh make; do
	command -v $tool >/dev/null || { echo "skip $name: $tool is not installed"; exit 0; }
done
. "$here/counting_sources.bash"
get_sources zlib sqlite3 >said || { echo "skip $name: $(cat said)"; exit 0; }
export PATHPROF_DIR=$tmp/counts
mkdir counts

# unpacked PACKAGE DIRECTORY
unpacked() {
	mkdir "$2" && tar -C "$2" --strip-components 1 -xf "$(find "$sources" -name "$1_*.orig.tar.*" ! -name '*.asc')"
}
# counted WHAT FUNCTION: it left counts, of which some are that function's.
counted() {
	local n
	for f in counts/*.ppraw; do "$lab" counts --all "$f"; done 2>/dev/null >counted.tsv
	n=$(awk -F '\t' -v f="$2" '$2 == f { n += $4 } END { print n + 0 }' counted.tsv)
	[ "$n" -gt 0 ] && ok "$1, $2 ran $n paths" || not_ok "$1" "$2 ran no path"
	rm -f counts/*
}

for mode in "" --pathprof-late; do
	unpacked zlib "zlib$mode"
	# configure tries programs out, which count as well.
	if (cd "zlib$mode" && CC="$cc $mode" ./configure && rm -f "$PATHPROF_DIR"/* && make && make test) >said 2>&1 &&
		[ "$(grep -c 'test OK \*\*\*' said)" -ge 2 ]; then
		counted "zlib's own tests $mode" deflate
	else
		not_ok "zlib's own tests $mode" "$(grep -iE 'error|fail' said | head -n 3 | paste -sd ';')"
	fi
done

unpacked sqlite3 sqlite
(cd sqlite && ./configure && make sqlite3.c) >said 2>&1 || not_ok "SQLite in one file" "$(tail -n 1 said)"
speedtest() { # COMPILER...: its results, and their hash
	"$@" -O2 -Isqlite -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION sqlite/test/speedtest1.c sqlite/sqlite3.c -o speedtest -lm &&
		rm -f speedtest.db counts/* && ./speedtest --size 5 --verify speedtest.db | sed -n '/Verification/p'
}
wanted=$(speedtest clang-22 2>said)
for mode in "" --pathprof-late; do
	found=$(speedtest "$cc" $mode 2>said)
	if [ -n "$wanted" ] && [ "$found" = "$wanted" ]; then
		counted "SQLite's speedtest1 $mode: $found" sqlite3VdbeExec
	else
		not_ok "SQLite's speedtest1 $mode" "$found, not $wanted; $(tail -n 1 said)"
	fi
done
exit $failed
