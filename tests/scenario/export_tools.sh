#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Exports are read by the tools they are for, without a complaint of theirs, and they make of it
# what this project makes of it: perf2bolt's branches and fall-throughs are those of the fdata
# written here, its density the density told here, llvm-profgen's sample profile the one written
# here, pprof's sums those of the folded stacks, lines and inlined functions llvm-symbolizer's. A
# program in four builds: position independent or not, by linkers that place code at its file offset
# and elsewhere, by clang and GCC; and one of C++, its debug information of DWARF 5 and split.
#
# Profiles are of the step source: few samples, but every comparison is exact whatever they are.
set -u
name=export_tools
. "$(dirname "$0")/step_common.bash"
. "$(dirname "$0")/help_common.bash"

dump=$build/tests/tools/export_dump
ctl=$build/bin/pathprofctl
here=$(cd "$(dirname "$0")/.." && pwd)
perf2bolt_19=/usr/lib/llvm-19/bin/perf2bolt
step_needs "$dump" "$ctl"
for tool in clang-22 clang++-22 llvm-profgen-22 llvm-profdata-22 perf2bolt-22 llvm-bolt-22 "$perf2bolt_19" \
	create_llvm_prof create_gcov dump_gcov go gcc ld.lld clang llvm-symbolizer-22; do
	command -v "$tool" >/dev/null || {
		skip "$name" "$tool is not installed"
		exit 0
	}
done
"$ctl" doctor >"$work/doctor" || {
	skip "$name" "no source can run here"
	exit 0
}
cd "$work" || exit 1

# FILE is empty of what tools say when something is wrong.
no_complaint() { # FILE [WHAT IS NOT OURS]
	grep -iE 'warn|error|mismatch|invalid|stale|fail' "$1" |
		grep -vE "${2:-^$}"
}

# ---------------------------------------------------------------- programs and their profile
debug=(-O2 -gdwarf-4)
source=$here/workloads/export_mix.c
clang-22 "${debug[@]}" -fdebug-info-for-profiling -Wl,--emit-relocs -o clang "$source" &&
	clang-22 "${debug[@]}" -fdebug-info-for-profiling -fuse-ld=lld -Wl,--emit-relocs -o lld \
		"$source" &&
	clang-22 "${debug[@]}" -fdebug-info-for-profiling -no-pie -Wl,--emit-relocs -o fixed \
		"$source" &&
	gcc "${debug[@]}" -Wl,--emit-relocs -o gcc "$source" &&
	clang++-22 -O2 -gdwarf-5 -gsplit-dwarf -fdebug-info-for-profiling -Wl,--emit-relocs -o classes \
		"$here/workloads/export_classes.cpp" || {
	not_ok "$name" "the program is not built"
	exit 1
}
declare -A rounds=([classes]=30000)
for p in clang lld fixed gcc classes; do
	"./$p" 100 >"$p.expected"
	"$ctl" --db db record --no-report --overhead 100 -- "./$p" "${rounds[$p]:-200000}" \
		>/dev/null 2>said ||
		not_ok "$name: recording $p" "$(tail -1 said)"
	for format in $(sampled_formats) density; do
		"$dump" -h here -d db "$p" "$format" >"$p.$format" 2>said ||
			not_ok "$name: $p as $format" "$(cat said)"
	done
	"$dump" -B -d db "$p" bolt-preagg >"$p.branches"
	# Debian 12 has AutoFDO 0.19.
	"$dump" -A -d db "$p" autofdo-text >"$p.autofdo-text"
	"$dump" -h here -J -d db "$p" csv >"$p.json"
done

# ---------------------------------------------------------------- BOLT
# It leaves out a fall-through or so that it writes, so a function right at its cutoff of 99 % may be
# on the other side of it.
same_density() { # PROGRAM
	local cutoff density
	for cutoff in 990000 989900 990100; do
		density=$(perf2bolt-22 --pa -p "$1.bolt-preagg" -o fdata.density --show-density \
			--profile-density-cutoff-hot="$cutoff" "./$1" 2>&1 |
			sed -n 's/.*Functions with density >= \([0-9.]*\) .*/\1/p')
		# BOLT rounds what is here cut to one digit, or the other way round
		awk -v d="$density" '$1 == "density" && d != "" { exit !(d - $2 < 0.11 && $2 - d < 0.11) }' \
			"$1.density" && return
	done
	echo "density $density, here: $(cat "$1.density")"
	return 1
}

bolt() { # PROGRAM
	local p=$1
	perf2bolt-22 --pa -p "$p.bolt-preagg" -o "$p.22" "./$p" >bolt.log 2>&1 &&
		grep -q 'mismatching disassembled function contents: 0 ' bolt.log &&
		[ -z "$(no_complaint bolt.log 'mismatching|more samples')" ] ||
		{ echo "perf2bolt 22: $(no_complaint bolt.log)"; return 1; }
	same_density "$p" || return 1
	sort "$p.bolt-fdata" >got
	sort "$p.22" >want
	cmp -s want got || { echo "fdata of 22: $(diff want got | head -5)"; return 1; }
	"$perf2bolt_19" --pa -p "$p.branches" -o "$p.19" "./$p" >bolt.log 2>&1 &&
		grep -q 'mismatching disassembled function contents: 0 ' bolt.log ||
		{ echo "perf2bolt 19: $(no_complaint bolt.log)"; return 1; }
	sort "$p.19" >want
	cmp -s want got || { echo "fdata of 19: $(diff want got | head -5)"; return 1; }
	llvm-bolt-22 "./$p" --data "$p.bolt-fdata" -o "$p.bolted" --reorder-blocks=ext-tsp \
		--reorder-functions=cdsort --split-functions >bolt.log 2>&1 &&
		[ -z "$(no_complaint bolt.log 'debug info will be stripped|BOLT-INFO')" ] ||
		{ echo "llvm-bolt: $(no_complaint bolt.log)"; return 1; }
	# The two ways to BOLT's YAML, which only BOLT can write; nothing of either is stale.
	perf2bolt-22 --pa -p "$p.bolt-preagg" -o made.fdata -w made.yaml "./$p" >bolt.log 2>&1 &&
		llvm-bolt-22 "./$p" --data "$p.bolt-fdata" -w other.yaml -o /dev/null >bolt.log 2>&1 &&
		llvm-bolt-22 "./$p" --data made.yaml -o made.bolted >bolt.log 2>&1 &&
		llvm-bolt-22 "./$p" --data other.yaml -o made.bolted >>bolt.log 2>&1 &&
		[ -z "$(no_complaint bolt.log 'debug info will be stripped|BOLT-INFO')" ] ||
		{ echo "yaml: $(no_complaint bolt.log)"; return 1; }
	"./$p.bolted" 100 | cmp -s - "$p.expected" || { echo "the program does something else"; return 1; }
}
for p in clang lld fixed gcc classes; do
	if why=$(bolt "$p"); then ok "$name: bolt, $p"; else not_ok "$name: bolt, $p" "$why"; fi
done

# ---------------------------------------------------------------- llvm-profgen, llvm-profdata
samples() { # PROGRAM
	local p=$1
	llvm-profgen-22 --unsymbolized-profile="$p.profgen-raw" --binary="./$p" --format=text \
		-o "$p.profgen" >profgen.log 2>&1 && [ -z "$(grep -v 'more samples' profgen.log)" ] ||
		{ echo "llvm-profgen: $(cat profgen.log)"; return 1; }
	grep -v '^#' "$p.llvm-sample" | cmp -s - "$p.profgen" ||
		{ echo "another profile: $(diff "$p.profgen" "$p.llvm-sample" | head -5)"; return 1; }
	llvm-profdata-22 merge --sample -o merged "$p.llvm-sample" "$p.llvm-sample" >log 2>&1 &&
		llvm-profdata-22 show --sample merged >shown 2>>log && [ ! -s log ] ||
		{ echo "llvm-profdata: $(cat log)"; return 1; }
	grep -q '^Function: main: ' shown || { echo "no main in it"; return 1; }
	[ "$p" = classes ] && return
	clang-22 -O2 -g -fprofile-sample-use="$p.llvm-sample" -o used "$source" >log 2>&1 &&
		[ ! -s log ] && ./used 100 | cmp -s - "$p.expected" ||
		{ echo "clang: $(cat log)"; return 1; }
}
for p in clang lld fixed classes; do
	if why=$(samples "$p"); then ok "$name: llvm, $p"; else not_ok "$name: llvm, $p" "$why"; fi
done

# ---------------------------------------------------------------- AutoFDO
# The lines have other discriminators; calls and functions are the same. In place of names of what
# was inlined create_llvm_prof 0.19 writes what lies in freed memory: only whole lines of the other
# two kinds are looked at.
calls() { # SAMPLE PROFILE
	LC_ALL=C awk '/^[A-Za-z_][A-Za-z0-9_.]*:[0-9]+:[0-9]+$/ { split($1, f, ":"); fn = f[1] }
		/^ +[0-9.]+: [0-9]+( [A-Za-z_][A-Za-z0-9_.]*:[0-9]+)+$/ {
			for (i = 3; i <= NF; i++) print fn, $i }' "$1" | sort
}
autofdo() { # PROGRAM
	local p=$1
	create_llvm_prof --binary="./$p" --profile="$p.autofdo-text" --profiler=text --format=text \
		--out="$p.fdo" >log 2>&1 || { echo "create_llvm_prof: $(cat log)"; return 1; }
	calls "$p.fdo" >got
	calls "$p.llvm-sample" >want
	[ -s want ] && cmp -s want got || { echo "calls: $(diff want got | head -5)"; return 1; }
	create_gcov --binary="./$p" --profile="$p.autofdo-text" --profiler=text --gcov="$p.gcov" \
		--gcov_version=2 >log 2>&1 || { echo "create_gcov: $(cat log)"; return 1; }
	dump_gcov --gcov_version=2 "$p.gcov" 2>log | grep -q '^main total:[1-9]' ||
		{ echo "no main in $p.gcov"; return 1; }
}
for p in clang lld fixed; do
	if why=$(autofdo "$p"); then ok "$name: autofdo, $p"; else not_ok "$name: autofdo, $p" "$why"; fi
done

# ---------------------------------------------------------------- pprof, folded stacks
go_pprof() { # OPTION... FILE
	go tool pprof -symbolize=none "$@" 2>log || { echo "pprof $*: $(cat log)" >&2; return 1; }
}

# `FUNCTION NANOSECONDS` a line, as three readers have it.
sums_of_top() {
	awk 'f { sub(/ \(inline\)/, ""); sub(/ns$/, "", $1); print $6, $1 } /flat%/ { f = 1 }' | grep -v ' 0$' | sort
}
sums_of_traces() {
	awk '/^-----/ { f = 1; next }
		f && /^ *[0-9]+(ns)? / { sub(/ \(inline\)/, ""); sub(/ns$/, "", $1); sum[$2] += $1 }
		END { for (k in sum) if (sum[k]) printf "%s %.0f\n", k, sum[k] }' | sort
}
sums_of_folded() {
	awk '{ n = split($1, f, ";"); sum[f[n]] += $2 } END { for (k in sum) printf "%s %.0f\n", k, sum[k] }' | sort
}

pprof() { # PROGRAM
	local p=$1 id want
	id=$(readelf -n "$p" | sed -n 's/.*Build ID: //p')
	python3 "$here/scenario/export_pprof.py" check "$p.pprof" "$p" "$id" 2>&1 || return 1
	go_pprof -raw "$p.pprof" >raw || return 1
	grep -q "Comment: build-id=$id" raw && grep -q 'Comment: host=here' raw ||
		{ echo "no origin: $(grep Comment raw)"; return 1; }
	sums_of_folded <"$p.folded" >want
	[ -s want ] || { echo "no sums"; return 1; }
	python3 "$here/scenario/export_pprof.py" sums "$p.pprof" | sort | cmp -s - want ||
		{ echo "sums"; return 1; }
	go_pprof -unit=ns -top -nodecount=1000 -nodefraction=0 "$p.pprof" | sums_of_top | cmp -s - want ||
		{ echo "sums of -top"; return 1; }
}

# pprof writes the same profile again, and pictures have names and lines. The hottest function is in
# every one of them; dots part its name there.
more_of_pprof() { # PROGRAM
	local p=$1 hottest
	go_pprof -raw "$p.pprof" >raw && go_pprof -proto -output again "$p.pprof" >/dev/null &&
		go_pprof -raw again | cmp -s - raw ||
		{ echo "pprof writes something else of it"; return 1; }
	sums_of_folded <"$p.folded" >want
	go_pprof -unit=ns -traces "$p.pprof" | sums_of_traces | cmp -s - want ||
		{ echo "sums of -traces"; return 1; }
	hottest=$(sums_of_folded <"$p.folded" | sort -k2,2nr | awk '{ print $1; exit }')
	go_pprof -dot -lines "$p.pprof" >dot || return 1
	grep -q "tooltip=\"$hottest [^ ]*export_mix.c:[1-9][0-9]* " dot ||
		{ echo "no line of $hottest"; return 1; }
	go_pprof -svg "$p.pprof" >svg && grep -q "<svg" svg && grep -qF ">${hottest%%.*}" svg ||
		{ echo "no $hottest in the picture"; return 1; }
	go_pprof -list "^$hottest\$" "$p.pprof" | grep -qE '^ +[0-9.]+[mun]?s +[0-9.]+[mun]?s +[0-9]+:' ||
		{ echo "no source of $hottest"; return 1; }
}
for p in clang lld fixed gcc classes; do
	if why=$(pprof "$p" 2>&1); then ok "$name: pprof, $p"; else not_ok "$name: pprof, $p" "$why"; fi
done
for p in clang gcc; do
	if why=$(more_of_pprof "$p" 2>&1); then
		ok "$name: what pprof makes of it, $p"
	else
		not_ok "$name: what pprof makes of it, $p" "$why"
	fi
done

# Every program has a main, and pprof keeps them apart by their binaries: TIME of each is that of `top`.
mains() {
	"$ctl" --db db export -F pprof -o all.pprof 2>said || { cat said; return 1; }
	"$ctl" --db db top --by functions --limit 0 --json 2>said >functions || { cat said; return 1; }
	go_pprof -raw all.pprof >raw || return 1
	go_pprof -unit=ns -top -filefunctions -nodecount=1000 -nodefraction=0 all.pprof >all.top || return 1
	python3 - <<'END'
import json, os, re
rows = re.findall(r"^ *(\d+)(?:ns)? +\S+ +\S+ +\S+ +\S+ +(\S+) \[(/\S+)\]$", open("all.top").read(), re.M)
whole = sum(int(value) for value in re.findall(r"^ *(\d+): ", open("raw").read(), re.M))
written = {os.path.basename(file): int(value) / whole for value, name, file in rows if name == "main"}
shown = {row["binary"]["name"].rpartition("/")[2]: row["time"] for row in json.load(open("functions"))
         if row["function"] == "main" and row["time"]}
assert len(shown) > 1, shown
for name, time in shown.items():
    assert abs(written.get(name, 0) - time) < 1e-4, (name, time, written)
END
}
if why=$(mains 2>&1); then
	ok "$name: pprof tells the mains of several programs apart"
else
	not_ok "$name: mains of several programs" "$why"
fi

# ---------------------------------------------------------------- lines and what was inlined
# Every compiler's and every form's: all frames of all places are those of llvm-symbolizer. Of a
# part of a function that was moved away we name the function.
lines() { # NAME COMPILER...
	local p=$1
	shift
	"$@" -O2 -o "$p" "$source" &&
		python3 "$here/scenario/export_pprof.py" cover "$p" >counts &&
		"$dump" -i autofdo-text counts "$p" pprof >lines.pprof &&
		python3 "$here/scenario/export_pprof.py" source lines.pprof >got || return 1
	[ "$(grep -c '^0x' got)" -gt 50 ] || { echo "only $(grep -c '^0x' got) places"; return 1; }
	grep '^0x' got | llvm-symbolizer-22 --obj="$p" --no-demangle --inlines |
		sed -E 's/(:[0-9]+):[0-9]+$/\1/; s/\.cold$//' >want
	grep -v '^0x' got >seen
	cmp -s want seen || { diff want seen | head -5; return 1; }
}
for compiler in gcc clang-22 clang; do
	for form in -gdwarf-4 -gdwarf-5 "-gdwarf-4 -gsplit-dwarf" "-gdwarf-5 -gsplit-dwarf"; do
		# shellcheck disable=SC2086
		if why=$(lines lines "$compiler" $form 2>&1); then
			ok "$name: lines, $compiler $form"
		else
			not_ok "$name: lines, $compiler $form" "$why"
		fi
	done
done
# Pseudo-probes have discriminators of more bits than libdw keeps, packed debug information or not.
for form in "" "-gz -gsplit-dwarf"; do
	# shellcheck disable=SC2086
	if why=$(lines lines clang-22 -g -fpseudo-probe-for-profiling $form 2>&1); then
		ok "$name: lines with pseudo-probes $form"
	else
		not_ok "$name: lines with pseudo-probes $form" "$why"
	fi
done
# The split debug files are gone: the message names the missing file.
rm -f ./*.dwo
if "$dump" -i autofdo-text counts lines llvm-sample >got 2>said || ! grep -q '\.dwo is not' said; then
	not_ok "$name: lost .dwo files" "$(cat said)"
else
	ok "$name: lost .dwo files are named"
fi
# Without names: functions are binary and offset, in both.
strip -s -o nameless clang
"$dump" -d db nameless folded >nameless.folded && "$dump" -h here -d db nameless pprof >nameless.pprof
if ! grep -qE '^nameless@[0-9a-f]{12};nameless\+0x[0-9a-f]+ [0-9]+$' nameless.folded ||
	grep -vE ';(nameless\+0x[0-9a-f]+|[a-z_]+@plt) [0-9]+$' nameless.folded; then
	not_ok "$name: a stripped program" "$(cat nameless.folded)"
elif why=$(pprof nameless 2>&1); then
	ok "$name: a stripped program has functions by offset"
else
	not_ok "$name: a stripped program" "$why"
fi

# ---------------------------------------------------------------- tables
python3 - <<'END' && ok "$name: csv and json are the same" || not_ok "$name: json" "see above"
import csv, json
table = json.load(open("clang.json"))
lines = [l for l in open("clang.csv") if not l.startswith("#")]
def number(text): return int(text, 16) if text else None
for have, row in zip(table["counts"], csv.DictReader(lines), strict=True):
    want = (row["kind"], *(number(row[k]) for k in ("from", "to", "last")), int(row["count"]))
    got = (have["kind"], have.get("from"), have.get("to"), have.get("last"), have["count"])
    assert want == got, (want, got)
assert table["profile"]["host"] == "here" and table["profile"]["samples"] > 0
END

# ---------------------------------------------------------------- the checks can fail
# Addresses of another build are found out by perf2bolt, one count less by the comparison.
cp clang.profgen-raw saved
awk -F: '/-[0-9a-f]/ { $2 *= 2 } { print }' OFS=: saved >clang.profgen-raw
samples clang >/dev/null && not_ok "$name: a planted count" "was not found" ||
	ok "$name: a planted count is found"
mv saved clang.profgen-raw
cp fixed.branches clang.branches
bolt clang >/dev/null && not_ok "$name: another build's addresses" "were not found" ||
	ok "$name: another build's addresses are found"
# Nothing is written for another binary.
if "$dump" -d db "$source" csv >got 2>said; then
	not_ok "$name: no binary" "was taken"
elif "$dump" -d db /bin/true bolt-preagg >got 2>said || [ -s got ]; then
	not_ok "$name: another binary" "got a profile"
else
	ok "$name: another binary gets none"
fi
exit $failed
