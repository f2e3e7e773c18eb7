#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real programs out of Debian's sources, built with pathprof-cc without any change: gzip's own tests
# pass, every path of gzip and bzip2 is counted as often as an oracle build says, and functions of
# gzip, bzip2 and Lua are entered as often as clang's own counters say; with tables of interesting paths
# all counts are the same, and practical profiles have the oracle's of all paths that are left to count.
# Across calls too the counts are the oracle's, and functions are called as often as before.
name=counting_programs
. "$(dirname "$0")/counting_common.bash"
. "$here/counting_against.bash"
get_sources gzip bzip2 lua5.4 >said || { echo "skip $name: $(cat said)"; exit 0; }

# Paths across calls, two deep, by what the build that counts ran, and with tables of what that runs:
# the oracle's counts, and functions are called as often as they were.
across_calls() { # WORKLOAD MODE
	local deep="--pathprof-interprocedural=$tmp/all,depth=2"
	interesting "$tmp/all" 100000 --binary "$(elf_of "$1" counted)" counts/counted/*.ppraw
	build_kind "$1" calls "$cc $2 $deep" ""
	build_kind "$1" calls-oracle "$cc --pathprof-oracle $2 $deep" "$oracle"
	run "$1" calls
	run "$1" calls-oracle
	"$lab" counts --binary "$(elf_of "$1" calls)" --all counts/calls/*.ppraw >calls.tsv
	compare counting_oracle.py "$1 $2 across calls" "$(elf_of "$1" calls-oracle)" log calls.tsv
	compare counting_calls.py "$1 $2 across calls" "$(elf_of "$1" counted)" counted.tsv "$(elf_of "$1" calls)" calls.tsv
	interesting "$tmp/interesting" 256 --binary "$(elf_of "$1" calls)" counts/calls/*.ppraw
	build_kind "$1" calls-tables "$cc $2 $deep --pathprof-interesting=$tmp/interesting" ""
	run "$1" calls-tables
	"$lab" counts --binary "$(elf_of "$1" calls-tables)" --all counts/calls-tables/*.ppraw | sort >tables.tsv
	if [ -s tables.tsv ] && sort calls.tsv | cmp -s - tables.tsv; then
		ok "$1 $2 across calls with tables: $(wc -l <tables.tsv) paths"
	else
		not_ok "$1 $2 across calls with tables" "$(sort calls.tsv | diff - tables.tsv | head -n 3 | paste -sd ';')"
	fi
}

for mode in "" --pathprof-late --pathprof-cut=calls; do
	for program in gzip-c bzip2-c; do
		against_oracle $program "$mode"
		[ -n "$mode" ] || against_clang $program 0
		with_tables $program "$mode"
		with_practical $program "$mode" practical
		with_practical $program "$mode" obvious
		with_practical $program "$mode" targeted
		across_calls $program "$mode"
	done
done
# Lua hashes addresses, so no two builds take the same paths: one counts both ways. Its errors are
# longjmp()s, and what they leave behind has one path less.
both="--pathprof-late -fno-inline -fprofile-instr-generate"
build_kind lua5.4 both "$cc $both" "-fprofile-instr-generate"
run lua5.4 both
beside_clang lua5.4 both 20
interesting "$tmp/interesting" 16 --binary "$(program_of lua5.4 both)" counts/both/*.ppraw
build_kind lua5.4 tables "$cc $both --pathprof-interesting=$tmp/interesting" "-fprofile-instr-generate"
run lua5.4 tables
beside_clang lua5.4 tables 20

build_kind gzip-c counted "$cc" ""
if (cd gzip-counted && make check CC="$cc") >said 2>&1; then
	ok "gzip's own tests: $(grep -E '^# PASS' said)"
else
	not_ok "gzip's own tests" "$(grep -E '^FAIL' said | paste -sd ';')"
fi
exit $failed
