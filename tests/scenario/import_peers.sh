#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One recording, and what others count in it: perf2bolt's fdata, llvm-profgen's raw profile and
# AutoFDO's are what `pathprofctl export --recording` writes, line by line, and perf2bolt's
# branches are the edges that `pathprofctl import` stores.
#
# Stacks are cut out of exact traces of three programs (clang, PIE; GCC, not; C++ by lld), each of
# them and its child in one perf.data with the others. Where peers differ from one another and from
# the rules of docs/formats.md, each is given the recording to which the rule has been applied
# beforehand, and has to come to the same: without entries given twice (AutoFDO's rule), for those
# that end a range there without the kernel's (BOLT's rule), and parted where an entry is none.
set -u
. "$(dirname "$0")/trace_common.bash"
. "$(dirname "$0")/both_ways.bash"
name=import_peers
ctl=$build/bin/pathprofctl
cut=$build/tests/tools/trace_recording
writer=$build/tests/tools/perf_data_write
walker=$build/tests/bench/bench_export_recording
peers=$(realpath "$(dirname "$0")/import_peers.py")
perf2bolt_19=/usr/lib/llvm-19/bin/perf2bolt
trace_needs "$tracer" "$ctl" "$cut" "$writer" "$walker" "$build/bin/pathprofd"
trace_needs_qemu
for tool in perf clang-22 clang++-22 ld.lld gcc python3 perf2bolt-22 "$perf2bolt_19" llvm-profgen-22 \
	create_llvm_prof; do
	command -v "$tool" >/dev/null || {
		echo "skip $name: $tool is not installed"
		exit 0
	}
done
cd "$work" || exit 1
export XDG_STATE_HOME=$work/state PERF_CONFIG=/dev/null

# ---------------------------------------------------------------- recordings
debug=(-O2 -gdwarf-4 -Wl,--emit-relocs)
clang-22 "${debug[@]}" -o clang "$tests_dir/workloads/export_mix.c" &&
	gcc "${debug[@]}" -no-pie -o fixed "$tests_dir/workloads/export_mix.c" &&
	clang++-22 "${debug[@]}" -fuse-ld=lld -Wl,--build-id=sha1 -o classes \
		"$tests_dir/workloads/export_classes.cpp" || {
	not_ok "$name" "the programs are not built"
	exit 1
}
programs="clang fixed classes"
declare -A rounds=([clang]=500 [fixed]=500 [classes]=30)
declare -A pids=([clang]=4711,4712 [fixed]=4721,4722 [classes]=4731,4732)
for p in $programs; do
	"$tracer" -o trace -- "./$p" "${rounds[$p]}" >/dev/null 2>err &&
		"$cut" trace 3000 32 "$p.script" expected ||
		not_ok "$name: $p" "not traced: $(tail -n 1 err)"
done
compose() { # RECORDING WHAT...: of all three
	local to=$1
	shift
	python3 "$peers" compose "$@" clang.script fixed.script classes.script >script &&
		"$writer" "$to" <script
}
compose full kernel repeats
compose once kernel
compose odd kernel repeats odd
compose mended kernel mended
compose plain

# written PROGRAM FORMAT RECORDING [OPTIONS...]: as FORMAT.got
written() {
	local p=$1 format=$2 recording=$3
	shift 3
	"$ctl" export --recording "$recording" --file "./$p" -F "$format" -o "$format.got" "$@" 2>err && return
	echo "export: $(cat err)"
	return 1
}
# sames WHAT WANT GOT: and that there is something in them
sames() {
	[ "$(wc -l <"$2")" -gt 20 ] && cmp -s "$2" "$3" && return
	echo "$1: $(wc -l <"$2") lines, $(diff "$2" "$3" | head -n 4 | tr '\n' ' ')"
	return 1
}
check() { # WHAT COMMAND...
	local what=$1 why
	shift
	if why=$("$@"); then ok "$name: $what${why:+, ${why//$'\n'/ and }}"; else not_ok "$name: $what" "$why"; fi
}

# ---------------------------------------------------------------- BOLT
# The newer one says how dense the samples are; so is it said here. It counts a fall-through or so in
# 30,000 less for that than it writes itself: a function that lies right at its cutoff of 99 % may be
# on the other side of it.
same_density() { # PROGRAM RECORDING: what err says
	local cutoff density
	for cutoff in 990000 989900 990100; do
		perf2bolt-22 -p "$2" -o fdata.density --show-density --profile-density-cutoff-hot="$cutoff" \
			"./$1" >bolt.log 2>&1
		density=$(sed -n 's/.*Functions with density >= \([0-9.]*\) .*/\1/p' bolt.log)
		grep -qE "density $density(:|$)" err && return
	done
	echo "density $density, here: $(cat err)"
	return 1
}
bolt() { # PROGRAM PERF2BOLT RECORDING ALL [OPTIONS...]: of its, against all of it here
	local p=$1 perf2bolt=$2 recording=$3 all=$4
	"$perf2bolt" -p "$recording" -o fdata "${@:5}" "./$p" >bolt.log 2>&1 || {
		echo "$perf2bolt: $(tail -n 2 bolt.log)"
		return 1
	}
	written "$p" bolt-fdata "$all" || return 1
	[ "$perf2bolt" != perf2bolt-22 ] || same_density "$p" "$recording" || return 1
	python3 "$peers" fdata fdata >want && python3 "$peers" fdata bolt-fdata.got >got &&
		sames "$perf2bolt" want got && echo "$(wc -l <got) lines"
}
for p in $programs; do
	check "perf2bolt 22, $p" bolt "$p" perf2bolt-22 once full
	cp fdata "$p.fdata"
	check "perf2bolt 19, $p" bolt "$p" "$perf2bolt_19" once full
	check "perf2bolt 22, $p with entries that are none" bolt "$p" perf2bolt-22 mended odd
done
# The rule about entries given twice is needed: as they are, they are counted there.
bolt clang perf2bolt-22 full full >why && not_ok "$name: repeated entries" "make no difference" ||
	ok "$name: repeated entries are no branches"
bolt clang perf2bolt-22 odd odd >why && not_ok "$name: entries that are none" "make no difference" ||
	ok "$name: entries that are none are no branches"

# ---------------------------------------------------------------- llvm-profgen
profgen() { # PROGRAM RECORDING [ALL OF IT]: its, against all of it here
	local p=$1 all=${3:-full}
	perf script -i "$2" -F ip,brstack --show-mmap-events --pid "${pids[$p]}" >text 2>err &&
		llvm-profgen-22 --perfscript=text --binary="./$p" --format=text --skip-symbolization \
			-o raw >profgen.log 2>&1 || {
		echo "llvm-profgen: $(cat err profgen.log)"
		return 1
	}
	python3 "$peers" raw "$p" raw >want
	written "$p" profgen-raw "$all" && python3 "$peers" raw "$p" profgen-raw.got >got &&
		sames "llvm-profgen" want got || return 1
	written "$p" profgen-raw text --recording-format profgen-perfscript &&
		python3 "$peers" raw "$p" profgen-raw.got >got && sames "its text" want got &&
		echo "$(wc -l <got) lines"
}
for p in $programs; do
	check "llvm-profgen, $p" profgen "$p" plain
done
profgen clang once >why && not_ok "$name: the kernel's entries" "make no difference" ||
	ok "$name: the kernel's entries end no range"

# ---------------------------------------------------------------- AutoFDO
# AutoFDO makes the same profile of perf.data and of the text written here, but for the
# names of what was inlined, in place of which 0.19 writes garbage now and then: their lines are not
# looked at, as what has the same garbage for a name is added up. Out of perf.data it misplaces what
# lld has linked, whose addresses do not follow the offsets.
autofdo() { # PROGRAM
	local p=$1 from
	written "$p" autofdo-text full --old-readers || return 1
	for from in "perf plain" "text autofdo-text.got"; do
		create_llvm_prof --binary="./$p" --profiler="${from% *}" --profile="${from#* }" \
			--format=text --out=fdo >log 2>&1 || {
			echo "create_llvm_prof: $(cat log)"
			return 1
		}
		LC_ALL=C sed -nE '/^[A-Za-z_][A-Za-z0-9_.]*:[0-9]+:[0-9]+$/p
			/^ [0-9.]+: [0-9]+( [A-Za-z_][A-Za-z0-9_.]*:[0-9]+)*$/p' fdo | sort >"${from% *}.fdo"
	done
	sames AutoFDO perf.fdo text.fdo && echo "$(wc -l <text.fdo) lines"
}
for p in clang fixed; do
	check "AutoFDO, $p" autofdo "$p"
done

# ---------------------------------------------------------------- much code
# applied FDATA: how many functions llvm-bolt has a profile for, whatever they are called in it
applied() {
	llvm-bolt-22 walked --data "$1" -o bolted 2>&1 |
		sed -n 's/^BOLT-INFO: \([0-9]* out of [0-9]* functions\) .*non-empty execution profile$/\1/p'
}

# A walk through all code of this project's own program. BOLT leaves functions alone that the
# compiler has split: it counts what leaves them, and nothing of what falls through. It names the
# first of them only; the program's symbols name all. Where a function has several names perf2bolt writes the
# symbol table's first one, and here the global one is written, which llvm-bolt must find as well.
walk() {
	local split
	cp "$ctl" walked
	"$walker" walk walk.perf 15000 walked && perf2bolt-22 -p walk.perf -o fdata walked >bolt.log 2>&1 || {
		echo "perf2bolt: $(tail -n 2 bolt.log)"
		return 1
	}
	split=$(nm walked | sed -n 's/.* \([^ ]*\)\.cold\(\.[0-9]*\)\?$/\1/p' | sort -u | tr '\n' '|')
	written walked bolt-fdata walk.perf || return 1
	python3 "$peers" fdata fdata walked | LC_ALL=C sort >want
	python3 "$peers" fdata bolt-fdata.got walked | LC_ALL=C sort >got
	LC_ALL=C comm -13 want got | grep -vE "^1 ((${split%|})(\.cold)?)(/[0-9]+)? [0-9a-f]+ 1 \\1(/[0-9]+)? .* 0 [0-9]+$" >more
	LC_ALL=C comm -23 want got >less
	if [ "$(wc -l <got)" -lt 3000 ] || [ -s more ] || [ -s less ]; then
		echo "perf2bolt: $(wc -l <got) lines, $(head -n 3 more less | tr '\n' ' ')"
		return 1
	fi
	applied fdata >want
	applied bolt-fdata.got >got
	[ -s want ] && cmp -s want got || {
		echo "llvm-bolt: $(cat got), of perf2bolt's: $(cat want)"
		return 1
	}
	echo "$(wc -l <bolt-fdata.got) lines, $(cat got)"
	profgen walked walk.perf walk.perf
}
pids[walked]=1000
check "perf2bolt and llvm-profgen, all of pathprofctl" walk

# ---------------------------------------------------------------- edges of an import
"$ctl" import -j -o db full >table 2>err || not_ok "$name: import" "$(cat err)"
for p in $programs; do
	check "import, $p" python3 "$peers" edges "$p" db "$p.fdata"
done

for recording in full once odd mended plain; do
	for p in $programs; do
		both_ways "$name: $recording" perf.data $recording "./$p"
	done
done
both_ways "$name: much code" perf.data walk.perf walked
ways_end 16

# ---------------------------------------------------------------- the checks have teeth
sed 's/ \([0-9]*\)$/ 1\1/' clang.fdata >spoilt
python3 "$peers" edges clang db spoilt >why 2>&1 && not_ok "$name: spoilt counts" "were not found" ||
	ok "$name: spoilt counts are found: $(cat why)"
# Some stacks less of those that llvm-profgen reads: one alone may be of stubs and libraries.
awk '!(/^sample 0 4711 .*>0x4000001/ && ++n >= 100 && n < 120)' script >spoilt && "$writer" plain <spoilt
[ "$(wc -l <script)" -eq "$(($(wc -l <spoilt) + 20))" ] || not_ok "$name" "no stacks to take away"
profgen clang plain >why && not_ok "$name: stacks less" "were not found" || ok "$name: stacks less are found"
exit $failed
