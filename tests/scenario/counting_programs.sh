#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Real programs out of Debian's sources, built with pathprof-cc without any change: gzip's own tests
# pass, every path of gzip and bzip2 is counted as often as an oracle build says, and functions of
# gzip, bzip2 and Lua are entered as often as clang's own counters say; with tables of interesting paths
# all counts are the same, and practical profiles have the oracle's of all paths that are left to count.
# Across calls too the counts are the oracle's, and functions are called as often as before.
name=counting_programs
. "$(dirname "$0")/counting_common.bash"
for tool in llvm-profdata-22 apt-get setarch; do
	command -v $tool >/dev/null || { echo "skip $name: $tool is not installed"; exit 0; }
done
. "$here/counting_sources.bash"
get_sources gzip bzip2 lua5.4 >said || { echo "skip $name: $(cat said)"; exit 0; }
clang-22 -O2 -c "$here/counting_oracle.c" -o oracle.o
oracle=$tmp/oracle.o
unset PATHPROF_INSTRUMENT

# Each is built thrice: to count, as its oracle and by clang's own counters. Configuring runs programs.
export PATHPROF_DIR=$tmp/elsewhere
mkdir elsewhere
build_kind() { # PROGRAM KIND CC LDFLAGS
	compile "$@" >"$1-$2.log" 2>&1 || not_ok "$1 is built ($2)" "$(grep -m 1 -i error "$1-$2.log")"
}

# The same command line, environment and addresses, so that each takes the same paths.
head -c 30000 "$here/../../docs/architecture.md" >input
cat >input.lua <<'END'
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local t = {}
for i = 1, 2000 do t[i] = string.format("%d:%s", i, ("x"):rep(i % 7)) end
table.sort(t)
local ok, err = pcall(function() error({}) end)
for i = 1, 200 do pcall(error, i) end
local co = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end)
for i = 1, 100 do co() end
print(fib(15), #table.concat(t), ok, load("return 1 +")  == nil)
END
run() { # PROGRAM KIND: what it makes of the input; its counts go to counts/KIND
	local input=input
	[ "$1" = lua5.4 ] && input=input.lua
	rm -rf here "counts/$2" && mkdir -p here "counts/$2"
	cp "$(program_of "$1" "$2")" here/program
	cp -p $input here/input
	(
		cd here || exit 1
		export ORACLE_LOG=$tmp/log LLVM_PROFILE_FILE=$tmp/profraw PATHPROF_DIR=$tmp/counts/$2
		case $1 in
		lua5.4) setarch -R ./program input ;;
		*) setarch -R ./program -c input ;;
		esac
	) >"output.$2" || not_ok "$1 ($2)" "it fails"
}

# compare SCRIPT WHAT ARGUMENT...: counts of the build that counts against what SCRIPT takes for true.
compare() {
	local script=$1 what=$2
	shift 2
	if python3 -B "$here/$script" "$@" >said 2>&1; then
		ok "$what: $(tail -n 1 said)"
	else
		not_ok "$what" "$(head -n 3 said | paste -sd ';')"
	fi
}

against_oracle() { # PROGRAM MODE
	build_kind "$1" counted "$cc $2" ""
	build_kind "$1" oracle "$cc --pathprof-oracle $2" "$oracle"
	run "$1" counted
	run "$1" oracle
	cmp -s output.counted output.oracle || not_ok "$1 $2" "both builds do not do the same"
	"$lab" counts --binary "$(program_of "$1" counted)" --all counts/counted/*.ppraw >counted.tsv
	compare counting_oracle.py "$1 $2" "$(program_of "$1" oracle)" log counted.tsv
}

# What the last run counted, and no more than 16 paths of a function, is interesting: the same counts.
with_tables() { # PROGRAM MODE
	interesting "$tmp/interesting" 16 --binary "$(program_of "$1" counted)" counts/counted/*.ppraw
	build_kind "$1" tables "$cc $2 --pathprof-interesting=$tmp/interesting" ""
	run "$1" tables
	"$lab" counts --binary "$(program_of "$1" tables)" --all counts/tables/*.ppraw | sort >tables.tsv
	if [ -s tables.tsv ] && sort counted.tsv | cmp -s - tables.tsv; then
		ok "$1 $2 with tables: $(wc -l <tables.tsv) paths, $(($(wc -l <interesting) - 1)) interesting"
	else
		not_ok "$1 $2 with tables" "$(sort counted.tsv | diff - tables.tsv | head -n 3 | paste -sd ';')"
	fi
}

# What the build that counts ran is the profile: the oracle's counts of what is left to count.
with_practical() { # PROGRAM MODE TECHNIQUE
	local p="--pathprof-$3 --pathprof-interesting=$tmp/all"
	interesting "$tmp/all" 100000 --binary "$(program_of "$1" counted)" counts/counted/*.ppraw
	build_kind "$1" "$3" "$cc $2 $p" ""
	build_kind "$1" "$3-oracle" "$cc --pathprof-oracle $2 $p" "$oracle"
	run "$1" "$3"
	run "$1" "$3-oracle"
	"$lab" counts --binary "$(program_of "$1" "$3")" --all "counts/$3"/*.ppraw >warm.tsv
	compare counting_oracle.py "$1 $2 $3" "$(program_of "$1" "$3-oracle")" log warm.tsv
	compare counting_accuracy.py "$1 $2 $3" "$(program_of "$1" "$3")" counted.tsv warm.tsv "$tmp/all"
}

# beside_clang PROGRAM KIND FUNCTIONS-WITH-FEWER: the counts of KIND and what clang's counters left.
beside_clang() {
	llvm-profdata-22 merge profraw -o profdata && llvm-profdata-22 show --all-functions profdata >shown
	"$lab" counts --binary "$(program_of "$1" "$2")" --all "counts/$2"/*.ppraw >counted.tsv
	compare counting_entries.py "$1 beside clang's counters" "$(program_of "$1" "$2")" counted.tsv shown "$3"
}

# Paths across calls, two deep, by what the build that counts ran, and with tables of what that runs:
# the oracle's counts, and functions are called as often as they were.
across_calls() { # PROGRAM MODE
	local deep="--pathprof-interprocedural=$tmp/all,depth=2"
	interesting "$tmp/all" 100000 --binary "$(program_of "$1" counted)" counts/counted/*.ppraw
	build_kind "$1" calls "$cc $2 $deep" ""
	build_kind "$1" calls-oracle "$cc --pathprof-oracle $2 $deep" "$oracle"
	run "$1" calls
	run "$1" calls-oracle
	"$lab" counts --binary "$(program_of "$1" calls)" --all counts/calls/*.ppraw >calls.tsv
	compare counting_oracle.py "$1 $2 across calls" "$(program_of "$1" calls-oracle)" log calls.tsv
	compare counting_calls.py "$1 $2 across calls" "$(program_of "$1" counted)" counted.tsv "$(program_of "$1" calls)" calls.tsv
	interesting "$tmp/interesting" 256 --binary "$(program_of "$1" calls)" counts/calls/*.ppraw
	build_kind "$1" calls-tables "$cc $2 $deep --pathprof-interesting=$tmp/interesting" ""
	run "$1" calls-tables
	"$lab" counts --binary "$(program_of "$1" calls-tables)" --all counts/calls-tables/*.ppraw | sort >tables.tsv
	if [ -s tables.tsv ] && sort calls.tsv | cmp -s - tables.tsv; then
		ok "$1 $2 across calls with tables: $(wc -l <tables.tsv) paths"
	else
		not_ok "$1 $2 across calls with tables" "$(sort calls.tsv | diff - tables.tsv | head -n 3 | paste -sd ';')"
	fi
}

against_clang() { # PROGRAM
	build_kind "$1" clang "clang-22 -fprofile-instr-generate" "-fprofile-instr-generate"
	build_kind "$1" counted "$cc" ""
	run "$1" clang
	run "$1" counted
	beside_clang "$1" counted 0
}

for mode in "" --pathprof-late --pathprof-cut=calls; do
	for program in gzip bzip2; do
		against_oracle $program "$mode"
		with_tables $program "$mode"
		with_practical $program "$mode" practical
		with_practical $program "$mode" obvious
		with_practical $program "$mode" targeted
		across_calls $program "$mode"
	done
done
against_clang gzip
against_clang bzip2
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

build_kind gzip counted "$cc" ""
if (cd gzip-counted && make check CC="$cc") >said 2>&1; then
	ok "gzip's own tests: $(grep -E '^# PASS' said)"
else
	not_ok "gzip's own tests" "$(grep -E '^FAIL' said | paste -sd ';')"
fi
exit $failed
