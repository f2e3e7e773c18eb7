#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What profiles of the step source are worth to a compiler: real programs are recorded while they
# serve, optimised by llvm-bolt and by clang, and held against what the exact trace of the same work
# gives. `tests/bench/pgo.sh [-s small|full] [-o DIR] [-p PROGRAMS] [STEP...]`; steps are
#
#     table     the programs as they are, and optimised in each way
#     samples   how much of the gain how many bursts give (ROUNDS="1 2 3")
#     bursts    how long a burst should be
#     options   BOLT's options, and the forms of its input
#     hosts     many hosts at work of their own, each optimised by its own profile and by that of all
#               (HOSTS=50, of which MEASURED=8 are measured)
#
# DIR/pgo.md and DIR/pgo.svg are docs/pgo.md's tables and picture; DIR/results has every figure.
# small is what tests/scenario/pgo_loop.sh checks. Needs the mirror of Debian that apt knows.
set -eu
setting=full
build=$(realpath "${BUILD:-build}")
out=$build/pgo
programs="lua bzip2"
while getopts s:o:p: option; do
	case $option in
	s) setting=$OPTARG ;;
	o) out=$OPTARG ;;
	p) programs=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
steps=${*:-table samples bursts options}
. "$(dirname "$0")/pgo_common.bash"
rm -rf results ./*.db* bin
mkdir -p bin

table_bolt() { # PROGRAM BURSTS
	record "$1" base code "$1.db" "$2"
	put "$1" step bursts "$(bursts_of "$1.db")"
	exported "$1" base "$1.db" bolt-preagg "$1.step.preagg"
	put "$1" step density "$density"
	bolted "$1" bolt-step "$1.step.preagg"
	counted "$1" bolt-step
}

exact_for_clang() { # PROGRAM
	"$exact" "$1.code.trace" "bin/$1.base" llvm-sample >"$1.exact.prof"
	built "$1" clang-exact "-fprofile-sample-use=$PWD/$1.exact.prof"
	counted "$1" clang-exact
}

table_clang() { # PROGRAM
	exact_for_clang "$1"
	exported "$1" base "$1.db" llvm-sample "$1.step.prof"
	built "$1" clang-step "-fprofile-sample-use=$PWD/$1.step.prof"
	counted "$1" clang-step
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

# GCC through AutoFDO. Debian 12's, 0.19, writes what GCC reads up to 11.
gcc_flags=(-gdwarf-4)
has_gcc() { command -v gcc-11 g++-11 create_gcov >/dev/null; }

gcc_of_afdo() { # PROGRAM VARIANT AFDO
	create_gcov --binary="bin/$1.gcc" --profile="$3" --profiler=text --gcov="$1.gcov" \
		--gcov_version=1 >said 2>&1 || die "$1 $2: $(tail -n 1 said)"
	"build_$1" "$1.$2" gcc-11 "${gcc_flags[@]}" "-fauto-profile=$PWD/$1.gcov" 2>said || {
		grep -q 'internal compiler error' said || die "$1 $2: $(tail -n 1 said)"
		say "$1 $2: no figure, gcc-11 breaks on the profile ($(grep -m 1 'internal compiler error' said))"
		return 0
	}
	counted "$1" "$2"
}

base_of_gcc() { # PROGRAM
	"build_$1" "$1.gcc" gcc-11 "${gcc_flags[@]}" || die "$1 gcc: not built"
	counted "$1" gcc
}

exact_for_gcc() { # PROGRAM
	base_of_gcc "$1"
	traced "$1" gcc code "$1.gcc.trace"
	"$exact" "$1.gcc.trace" "bin/$1.gcc" autofdo-text --old-readers >"$1.gcc-exact.afdo"
	rm "$1.gcc.trace"
	gcc_of_afdo "$1" gcc-exact "$1.gcc-exact.afdo"
}

table_gcc() { # PROGRAM BURSTS
	has_gcc || {
		say "$1: no row of GCC without gcc-11, g++-11 and autofdo"
		return 0
	}
	base_of_gcc "$1"
	record "$1" gcc code "$1-gcc.db" "$2"
	exported "$1" gcc "$1-gcc.db" autofdo-text "$1.afdo" --old-readers
	gcc_of_afdo "$1" gcc-step "$1.afdo"
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
		table_gcc "$p" "$bursts"
		timed "$p" 31 base bolt-{step,exact}{,-other} clang-{step,exact,step-other,instrumented} both
	done
}

# What BOLT and clang make of one recording of a build, GCC of one of its own.
samples_for_clang() { # PROGRAM BURSTS ROUND DB
	exported "$1" base "$4" bolt-preagg samples.preagg
	put "$1" "samples-$2-$3" bursts "$(bursts_of "$4")"
	put "$1" "samples-$2-$3" density "$density"
	put "$1" "samples-$2-$3" seen "$seen"
	bolted "$1" "samples-$2-$3" samples.preagg
	counted "$1" "samples-$2-$3"
	exported "$1" base "$4" llvm-sample "$1-$2-$3.prof"
	built "$1" "clang-samples-$2-$3" "-fprofile-sample-use=$PWD/$1-$2-$3.prof"
	counted "$1" "clang-samples-$2-$3"
}
samples_for_gcc() { # PROGRAM BURSTS ROUND DB
	exported "$1" gcc "$4" autofdo-text "$1-$2-$3.afdo" --old-readers
	put "$1" "gcc-samples-$2-$3" seen "$seen"
	gcc_of_afdo "$1" "gcc-samples-$2-$3" "$1-$2-$3.afdo"
}

# DB grows; what it gives is looked at on the way.
sampled() { # PROGRAM VARIANT ROUND FUNCTION
	local db=$1-$2-samples$3.db wanted
	begin_serving "$1" "$2" code
	for wanted in $ladder; do
		kill -CONT "$serving"
		record_bursts "$db" "$wanted" 500ms
		kill -STOP "$serving"
		"$4" "$1" "$wanted" "$3" "$db"
	done
	end_serving
}

step_samples() {
	local p round
	for p in $programs; do
		[ -n "$(figure "$p" clang-exact taken)" ] || exact_for_clang "$p"
		has_gcc && exact_for_gcc "$p"
		for round in $rounds; do
			sampled "$p" base "$round" samples_for_clang
			! has_gcc || sampled "$p" gcc "$round" samples_for_gcc
		done
	done
}

# As long a recording each, at the same cost to the program.
step_bursts() {
	local p taken round v
	for p in $programs; do
		begin_serving "$p" base code
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
		end_serving
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

# ---------------------------------------------------------------- hosts
# A host's work is a stretch of one of the texts; it begins elsewhere on each host.
host_input() { # PROGRAM HOST
	local text=manuals all bytes
	[ $(($2 % 2)) -eq 0 ] || text=code
	all=$(wc -c <$text)
	bytes=$(bytes_of "$1")
	[ "$bytes" -le $((all / 3)) ] || bytes=$((all / 3))
	tail -c +$(($2 * 7919 * 131 % (all - bytes) + 1)) $text | head -c "$bytes" >"$1.host$2"
}
host_parcel() { # PROGRAM HOST
	host_input "$1" "$2"
	begin_serving "$1" base "host$2"
	record_bursts "$1.host.db" "$host_bursts" 500ms
	end_serving
	"$ctl" --db "$1.host.db" parcel write --name "host$2" -o "$1.parcels" >said 2>&1 || die "$(tail -n 1 said)"
	exported "$1" base "$1.host.db" bolt-preagg "$1.host$2.preagg"
	put "$1" "own-$2" bursts "$(bursts_of "$1.host.db")"
	rm "$1.host.db"*
}
# Taken branches of a host's work in a build.
host_work() { # PROGRAM VARIANT HOST
	traced "$1" "$2" "host$3" counted.trace
	[ "$2" = base ] && mv traced.out "$1.expected$3" || cmp -s traced.out "$1.expected$3" ||
		die "$1 $2: other output than before on host $3"
	put "$1" "$2" "host$3" "$("$lab" trace-summary counted.trace | awk '$1 == "taken" { print $2 }')"
	rm counted.trace
}
step_hosts() {
	local p h best
	for p in $programs; do
		rm -rf "$p.parcels" "$p.fleet.db"*
		for ((h = 1; h <= hosts; h++)); do host_parcel "$p" $h; done
		"$ctl" parcel add -o "$p.fleet.db" "$p".parcels/*.parcel >said 2>&1 || die "$(tail -n 1 said)"
		exported "$p" base "$p.fleet.db" bolt-preagg "$p.fleet.preagg"
		bolted "$p" fleet "$p.fleet.preagg"
		best=1
		for ((h = 1; h <= measured; h++)); do
			bolted "$p" own-$h "$p.host$h.preagg"
			host_work "$p" base $h
			host_work "$p" fleet $h
			host_work "$p" own-$h $h
			! awk "BEGIN { exit !($(host_gain "$p" own-$h $h) > $(host_gain "$p" own-$best $best)) }" || best=$h
		done
		for ((h = 1; h <= measured; h++)); do [ $h -eq $best ] || host_work "$p" own-$best $h; done
		put "$p" fleet best $best
		put "$p" fleet hosts "$hosts"
	done
}

hosts=${HOSTS:-50} measured=${MEASURED:-8} host_bursts=100
bursts=1000 ladder="100 400 1600 6400" rounds=${ROUNDS:-"1 2 3"}
[ "$setting" = full ] || bursts=400 lua_bytes=150000
# shellcheck disable=SC2086
fetch $programs
for p in $programs; do
	# hosts have work of their own
	[ "$steps" = hosts ] && built "$p" base || prepare "$p"
done
for step in $steps; do "step_$step"; done
python3 "$tests/bench/pgo_report.py" results pgo.md pgo.svg
