#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What profiles of the step source are worth to a compiler: real programs are recorded while they
# serve, optimised by llvm-bolt and by clang, and held against what the exact trace of the same work
# gives. `tests/bench/pgo.sh [-s small|full] [-o DIR] [STEP...]`; steps are
#
#     table     the programs as they are, and optimised in each way
#     samples   how much of the gain how many bursts give
#     bursts    how long a burst should be
#     options   BOLT's options, and the forms of its input
#
# DIR/pgo.md and DIR/pgo.svg are docs/pgo.md's tables and picture; DIR/results has every figure.
# small is what tests/scenario/pgo_loop.sh checks. Needs the mirror of Debian that apt knows.
set -eu
setting=full
build=$(realpath "${BUILD:-build}")
out=$build/pgo
while getopts s:o: option; do
	case $option in
	s) setting=$OPTARG ;;
	o) out=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
steps=${*:-table samples bursts options}
here=$(realpath "$(dirname "$0")/..")
ctl=$build/bin/pathprofctl
daemon=$build/bin/pathprofd
tracer=$build/bin/pathprof-trace
lab=$build/bin/pathprof-lab
exact=$build/tests/tools/trace_export
mkdir -p "$out"
out=$(realpath "$out")
cd "$out"
rm -rf results ./*.db* bin
mkdir -p bin

# Of the CPUs' time; the daemon of a machine in service would take its 0.5 % and wait longer.
overhead=50
bolt_options=(-reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions -split-all-cold)

serving=
cleanup() { [ -z "$serving" ] || kill "$serving" 2>/dev/null || true; }
trap cleanup EXIT

die() {
	echo "pgo: $1" >&2
	exit 1
}
say() { echo "pgo: $1" >&2; }
put() { echo "$*" >>results; } # PROGRAM VARIANT KEY VALUE
figure() { # PROGRAM VARIANT KEY
	awk -v p="$1" -v v="$2" -v k="$3" '$1 == p && $2 == v && $3 == k { got = $4 } END { print got }' results
}

# ---------------------------------------------------------------- the programs
# Lua's seed of hashes is taken from an address, so no two runs would be the same.
fetch() {
	"$here/bench/debian_source.sh" lua5.4 "$build/sources"
	"$here/bench/debian_source.sh" bzip2 "$build/sources"
	lua=$build/sources/lua5.4 bzip2=$build/sources/bzip2
	cat "$lua"/src/*.[ch] "$bzip2"/*.[ch] >bzip2.code
	cat "$lua"/doc/*.html "$bzip2"/manual.{html,xml} "$bzip2"/*.txt >bzip2.manuals
	head -c 400000 bzip2.code >lua.code
	head -c 400000 bzip2.manuals >lua.manuals
}

# Object by object: two processors are twice as quick as one.
compile() { # COMPILER BINARY DIRECTORY SOURCES -- FLAGS
	local compiler=$1 binary=$PWD/bin/$2 directory=$3 sources=() objects
	shift 3
	while [ "$1" != -- ]; do sources+=("$1"); shift; done
	shift
	objects=$(mktemp -d)
	(cd "$directory" && printf '%s\n' "${sources[@]}" |
		xargs -P2 -I{} "$compiler" -O2 "$@" -c {} -o "$objects/{}.o") &&
		"$compiler" "$@" -Wl,--emit-relocs -Wl,-E -o "$binary" "$objects"/*.o -lm -ldl
	rm -r "$objects"
}

build_lua() { # BINARY COMPILER FLAGS
	local binary=$1 compiler=$2 sources
	shift 2
	sources=$(cd "$lua/src" && echo l*.c)
	# shellcheck disable=SC2086
	compile "$compiler" "$binary" "$lua/src" ${sources//luac.c/} -- -std=gnu99 -DLUA_USE_LINUX \
		'-Dluai_makeseed(L)=1u' "$@"
}
build_bzip2() { # BINARY COMPILER FLAGS
	local binary=$1 compiler=$2
	shift 2
	compile "$compiler" "$binary" "$bzip2" {blocksort,huffman,crctable,randtable,compress,decompress,bzlib,bzip2}.c \
		-- -D_FILE_OFFSET_BITS=64 "$@"
}

# One piece of work: the words of the command.
work_lua() { command=("$1" "$here/workloads/text_work.lua" "$2" 1); }
work_bzip2() { command=("$1" -c "$2"); }
# Work without end, in this very process.
serve_lua() { exec "$1" "$here/workloads/text_work.lua" "$2" 1000000000; }
serve_bzip2() { exec "$1" -c < <(while cat "$2"; do :; done); }

clang_flags=(-g -fdebug-info-for-profiling)
built() { # PROGRAM VARIANT FLAGS
	local program=$1 variant=$2
	shift 2
	"build_$program" "$program.$variant" clang-22 "${clang_flags[@]}" "$@" ||
		die "$program $variant: not built"
}

# ---------------------------------------------------------------- profiles
bursts_of() { # DB
	"$ctl" --db "$1" -j windows | grep -o '"bursts": [0-9]*' | awk '{ n += $2 } END { print n + 0 }'
}

# Records a serving program until there are so many bursts, or for a minute.
record() { # PROGRAM VARIANT INPUT DB BURSTS
	local begin=$SECONDS have=0
	"serve_$1" "bin/$1.$2" "$1.$3" >/dev/null 2>&1 &
	serving=$!
	sleep 0.1
	while [ "$have" -lt "$5" ] && [ $((SECONDS - begin)) -lt 60 ]; do
		"$ctl" record --no-report --overhead "$overhead" -o "$4" -p "$serving" --duration 2s \
			2>said || die "recording $1: $(tail -n 1 said)"
		have=$(bursts_of "$4")
	done
	kill "$serving"
	wait "$serving" 2>/dev/null || true
	serving=
	say "$1: $have bursts of $3 in $((SECONDS - begin)) s"
}

exported() { # PROGRAM VARIANT DB FORMAT FILE [OPTIONS]
	local program=$1 variant=$2 db=$3 format=$4 file=$5
	shift 5
	"$ctl" --db "$db" export -F "$format" --binary "$PWD/bin/$program.$variant" -o "$file" "$@" 2>said ||
		die "export: $(tail -n 1 said)"
	density=$(sed -n 's/.*density \([0-9.]*\).*/\1/p' said)
}

traced() { # PROGRAM VARIANT INPUT TRACE
	local command
	"work_$1" "bin/$1.$2" "$1.$3"
	"$tracer" -q -o "$4" -- "${command[@]}" >traced.out || die "$1 $2: not traced"
}

# ---------------------------------------------------------------- optimising
bolted() { # PROGRAM VARIANT PROFILE [OPTIONS]
	local program=$1 variant=$2 profile=$3 log=$1.$2.log
	shift 3
	[ $# -gt 0 ] || set -- "${bolt_options[@]}"
	perf2bolt-22 --pa -p "$profile" -o "$program.fdata" --show-density "bin/$program.base" >"$log" 2>&1 &&
		llvm-bolt-22 "bin/$program.base" --data "$program.fdata" -o "bin/$program.$variant" \
			"$@" --dyno-stats >>"$log" 2>&1 || die "$program $variant: $(tail -n 1 "$log")"
	grep -A99 'after all optimizations' "$log" | grep -v = |
		sed -n 's/ *\([0-9]*\) : taken branches.*/\1/p' >dyno
	put "$program" "$variant" dyno_before "$(sed -n 1p dyno)"
	put "$program" "$variant" dyno_after "$(sed -n 2p dyno)"
}

# What the program runs for the measured input, libraries included; its output must be the same.
counted() { # PROGRAM VARIANT
	traced "$1" "$2" code counted.trace
	[ "$2" != base ] || mv traced.out "$1.expected"
	[ "$2" = base ] || cmp -s traced.out "$1.expected" || die "$1 $2: other output than before"
	"$lab" trace-summary counted.trace |
		awk -v p="$1" -v v="$2" '$1 == "taken" || $1 == "instructions" { print p, v, $1, $2 }' >>results
	rm -f counted.trace
}

# ---------------------------------------------------------------- steps
# The program as it is, and the exact profile of the measured work.
prepare() { # PROGRAM
	built "$1" base
	traced "$1" base code "$1.code.trace"
	"$exact" "$1.code.trace" "bin/$1.base" bolt-preagg >"$1.exact.preagg"
	counted "$1" base
	bolted "$1" bolt-exact "$1.exact.preagg"
	counted "$1" bolt-exact
}

table_bolt() { # PROGRAM BURSTS
	record "$1" base code "$1.db" "$2"
	put "$1" step bursts "$(bursts_of "$1.db")"
	exported "$1" base "$1.db" bolt-preagg "$1.step.preagg"
	put "$1" step density "$density"
	bolted "$1" bolt-step "$1.step.preagg"
	counted "$1" bolt-step
}

table_clang() { # PROGRAM
	"$exact" "$1.code.trace" "bin/$1.base" llvm-sample >"$1.exact.prof"
	exported "$1" base "$1.db" llvm-sample "$1.step.prof"
	local kind
	for kind in exact step; do
		built "$1" "clang-$kind" "-fprofile-sample-use=$PWD/$1.$kind.prof"
		counted "$1" "clang-$kind"
	done
}

# Trained on one input, measured on another.
table_other() { # PROGRAM BURSTS
	traced "$1" base manuals "$1.manuals.trace"
	"$exact" "$1.manuals.trace" "bin/$1.base" bolt-preagg >"$1.exact-other.preagg"
	record "$1" base manuals "$1-other.db" "$2"
	exported "$1" base "$1-other.db" bolt-preagg "$1.step-other.preagg"
	exported "$1" base "$1-other.db" llvm-sample "$1.step-other.prof"
	local kind
	for kind in exact step; do
		bolted "$1" "bolt-$kind-other" "$1.$kind-other.preagg"
		counted "$1" "bolt-$kind-other"
	done
	built "$1" clang-step-other "-fprofile-sample-use=$PWD/$1.step-other.prof"
	counted "$1" clang-step-other
}

table_instrumented() { # PROGRAM
	local command
	built "$1" instrumented "-fprofile-generate=$PWD/$1.raw"
	"work_$1" "bin/$1.instrumented" "$1.code"
	"${command[@]}" >/dev/null
	llvm-profdata-22 merge -o "$1.instrumented.prof" "$1.raw"
	built "$1" clang-instrumented "-fprofile-use=$PWD/$1.instrumented.prof"
	counted "$1" clang-instrumented
}

# clang first, then BOLT with a profile of what clang made.
table_both() { # PROGRAM BURSTS
	record "$1" clang-step code "$1-both.db" "$2"
	exported "$1" clang-step "$1-both.db" bolt-preagg "$1.both.preagg"
	perf2bolt-22 --pa -p "$1.both.preagg" -o "$1.fdata" "bin/$1.clang-step" >"$1.both.log" 2>&1 &&
		llvm-bolt-22 "bin/$1.clang-step" --data "$1.fdata" -o "bin/$1.both" \
			"${bolt_options[@]}" >>"$1.both.log" 2>&1 || die "$1 both: $(tail -n 1 "$1.both.log")"
	counted "$1" both
}

# In turns, so that what else the machine does meets all of them.
timed() { # PROGRAM TURNS VARIANT...
	local program=$1 turns=$2 command
	shift 2
	"work_$program" BINARY "$program.code"
	python3 - "$program" "$turns" "$*" "${command[@]}" >>results <<-'END'
		import os, statistics, subprocess, sys
		program, turns, variants, words = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(), sys.argv[4:]
		used = {variant: [] for variant in variants}
		for _ in range(turns):
		    for variant in variants:
		        command = [f"bin/{program}.{variant}" if w == "BINARY" else w for w in words]
		        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
		        usage = os.wait4(child.pid, 0)[2]
		        used[variant].append(usage.ru_utime + usage.ru_stime)
		base = statistics.median(used["base"])
		for variant, times in used.items():
		    print(program, variant, "time", f"{statistics.median(times) / base:.4f}")
	END
}

step_table() {
	local p
	for p in $programs; do
		table_bolt "$p" "$bursts"
		[ "$setting" = full ] || [ "$p" != lua ] || continue
		table_clang "$p"
		[ "$setting" = full ] || continue
		table_other "$p" "$bursts"
		table_instrumented "$p"
		table_both "$p" "$bursts"
		timed "$p" 15 base bolt-{step,exact}{,-other} clang-{step,exact,step-other,instrumented} both
	done
}

# DB grows; what it gives is looked at on the way.
step_samples() {
	local p wanted round
	for p in $programs; do
		for round in 1 2 3; do
			for wanted in 25 50 100 200 400 800 1600; do
				record "$p" base code "$p-samples$round.db" "$wanted"
				exported "$p" base "$p-samples$round.db" bolt-preagg samples.preagg
				put "$p" "samples-$wanted-$round" bursts "$(bursts_of "$p-samples$round.db")"
				put "$p" "samples-$wanted-$round" density "$density"
				bolted "$p" "samples-$wanted-$round" samples.preagg
				counted "$p" "samples-$wanted-$round"
			done
		done
	done
}

# As long a recording each, at the same cost to the program.
step_bursts() {
	local p taken round v
	for p in $programs; do
		"serve_$p" "bin/$p.base" "$p.code" >/dev/null 2>&1 &
		serving=$!
		for round in 1 2 3; do
			for taken in 8 16 32 64 128 256; do
				v=bursts-$taken-$round
				"$daemon" --record --quiet --overhead "$overhead" --taken "$taken" --db "$v.db" \
					-p "$serving" --duration 4s 2>said || die "$(tail -n 1 said)"
				exported "$p" base "$v.db" bolt-preagg bursts.preagg
				put "$p" "$v" bursts "$(bursts_of "$v.db")"
				put "$p" "$v" density "$density"
				rm "$v.db"*
				bolted "$p" "$v" bursts.preagg
				counted "$p" "$v"
			done
		done
		kill "$serving"
		wait "$serving" 2>/dev/null || true
		serving=
	done
}

try() { # PROGRAM NAME PROFILE OPTIONS
	local p=$1 name=$2 profile=$3
	shift 3
	bolted "$p" "$name" "$profile" "$@"
	counted "$p" "$name"
}

step_options() {
	local p kind
	for p in $programs; do
		[ -e "$p.step.preagg" ] || table_bolt "$p" "$bursts"
		exported "$p" base "$p.db" bolt-preagg "$p.old.preagg" --old-readers
		try "$p" options-old-step "$p.old.preagg"
		for kind in step exact; do
			try "$p" options-blocks-$kind "$p.$kind.preagg" -reorder-blocks=ext-tsp
			try "$p" options-cache-$kind "$p.$kind.preagg" -reorder-blocks=cache
			try "$p" options-split-$kind "$p.$kind.preagg" -reorder-blocks=ext-tsp -split-functions
			try "$p" options-cdsort-$kind "$p.$kind.preagg" -reorder-blocks=ext-tsp -reorder-functions=cdsort
			try "$p" options-hfsort-$kind "$p.$kind.preagg" -reorder-blocks=ext-tsp -reorder-functions=hfsort
			try "$p" options-all-$kind "$p.$kind.preagg" "${bolt_options[@]}"
			try "$p" options-more-$kind "$p.$kind.preagg" "${bolt_options[@]}" -icf=1 \
				-peepholes=all -simplify-rodata-loads -frame-opt=hot -indirect-call-promotion=all -inline-small-functions
		done
	done
}

programs="lua bzip2"
bursts=1000
[ "$setting" = full ] || bursts=250
fetch
for p in $programs; do prepare "$p"; done
for step in $steps; do "step_$step"; done
python3 "$here/bench/pgo_report.py" results pgo.md pgo.svg
