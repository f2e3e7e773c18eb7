#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of counting every path beside that of clang's own counters: nine programs out of Debian's sources,
# each built plain, with clang's counters of edges (in the front end: instr, and on its
# intermediate code: gen), plain with the profile of the latter on other input (used), and with pathprof-cc,
# early and late, each of them with tables of the paths
# that other input ran, without its cold paths, without what it told, and by the older rules for that,
# and across calls without tables and with them; and how accurate those are that leave something out.
# Instructions are exact, by valgrind; times are the least of ROUNDS runs, taken in turns; ROUNDS=0: no
# times. TSV=FILE: figures go there as well, a line each: what, program, build, value (`make experiments`).
# KINDS="plain early ...": these builds only; each needs those that it is made from. WORKLOADS="gzip-c ...": these
# only, of counting_workloads.bash.
set -u
here=$(realpath "$(dirname "$0")")
build=$(realpath "${BUILD:-build}")
cc=$build/bin/pathprof-cc
for tool in valgrind clang-22 setarch; do
	command -v $tool >/dev/null || { echo "skip: $tool is not installed"; exit 0; }
done
tsv=$(realpath -m "${TSV:-/dev/null}")
[ -e "$cc" ] || { echo "skip: pathprof-cc is not built: it needs clang-22 and llvm-22-dev"; exit 0; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
here=$(realpath "$here/../scenario")
. "$here/counting_sources.bash"
. "$here/counting_workloads.bash"
read -ra names <<<"${WORKLOADS:-gzip-c bzip2-c bzip2-d lua5.4 sqlite3 libzstd expat mujs mawk lzip}"
read -ra programs <<<"$(for name in "${names[@]}"; do program_in "$name"; done | sort -u | paste -sd ' ')"
get_sources "${programs[@]}" || exit 0

read -ra kinds <<<"${KINDS:-plain instr gen used early early-tables early-practical early-obvious early-targeted calls calls-tables \
late late-tables late-practical late-obvious late-targeted late-calls late-calls-tables}"
declare -A compilers=([plain]=clang-22 [instr]="clang-22 -fprofile-instr-generate"
	[gen]="clang-22 -fprofile-generate" [used]="clang-22 -fprofile-use=$tmp/PROGRAM.profdata" [early]="$cc" [late]="$cc --pathprof-late"
	[early-tables]="$cc --pathprof-interesting=$tmp/PROGRAM.early"
	[late-tables]="$cc --pathprof-late --pathprof-interesting=$tmp/PROGRAM.late")
for k in early late; do
	flags=$([ $k = early ] || echo --pathprof-late)
	for technique in practical obvious targeted; do
		compilers[$k-$technique]="$cc $flags --pathprof-$technique --pathprof-interesting=$tmp/PROGRAM.$k-all"
	done
done
# The same where turns of loops are counted when the loop ends; not among the KINDS by default.
for k in early early-tables early-practical; do compilers[$k-turns]="${compilers[$k]} --pathprof-defer-turns"; done
# Across calls, by what the build without ran.
compilers[calls]="$cc --pathprof-interprocedural=$tmp/PROGRAM.early-all"
compilers[late-calls]="$cc --pathprof-late --pathprof-interprocedural=$tmp/PROGRAM.late-all"
for k in calls late-calls; do compilers[$k-tables]="${compilers[$k]} --pathprof-interesting=$tmp/PROGRAM.$k"; done
export PATHPROF_DIR=$tmp/counts LLVM_PROFILE_FILE=$tmp/profraw
mkdir counts

# Input is small under valgrind, large against the clock, and other to find interesting paths.
declare -A sizes=([small]=10 [large]=200 [other]=6)
for name in "${names[@]}"; do
	for size in small large other; do
		texts=
		[ $size != other ] || texts=daemon
		mkdir -p "input/$name-$size" && (cd "input/$name-$size" && prepare "$name" "${sizes[$size]}") || exit
	done
done
# work KIND WORKLOAD SIZE COMMAND...: the workload with its program behind COMMAND; what it says is thrown away.
work() (
	elf=$PWD/$(program_of "$(program_in "$2")" "$1")
	cd "input/$2-$3" && run="${*:4} $elf" && eval "${workload[$2]}" >/dev/null
)

build_all() { # KIND
	local p link=
	[[ $1 == instr || $1 == gen ]] && link=${compilers[$1]#* }
	for p in "${programs[@]}"; do
		compile $p "$1" "${compilers[$1]//PROGRAM/$p}" "$link" >"$p-$1.log" 2>&1 || { tail -n 3 "$p-$1.log"; exit 1; }
	done
}
# Paths that a build without tables runs with other input are interesting, in all modes of a program.
find_interesting() { # KIND
	local name p
	for p in "${programs[@]}"; do
		rm -f counts/* other.db
		for name in "${names[@]}"; do
			[ "$(program_in "$name")" != "$p" ] || work "$1" "$name" other 2>/dev/null
		done
		"$build/bin/pathprofctl" import -F counts --no-report -o other.db counts/*.ppraw &&
			"$build/bin/pathprofctl" interesting --db other.db -o "$p.$1" 2>said &&
			"$build/bin/pathprofctl" interesting --db other.db --hot 1000000 -o "$p.$1-all" 2>said || exit 1
	done
}
# The profile of each program: clang's counters of other input.
merge_profiles() {
	local name p
	for p in "${programs[@]}"; do
		rm -f profraw.*
		for name in "${names[@]}"; do
			[ "$(program_in "$name")" != "$p" ] || LLVM_PROFILE_FILE=$tmp/profraw.%p work gen "$name" other 2>/dev/null
		done
		llvm-profdata-22 merge -o "$p.profdata" profraw.* || exit 1
	done
}
for k in "${kinds[@]}"; do
	build_all "$k"
	[ "$k" != gen ] || [[ " ${kinds[*]} " != *" used "* ]] || merge_profiles
	[[ $k != early && $k != late && $k != *calls ]] || find_interesting "$k"
done

# Without debug information, which this valgrind cannot read.
instructions() { # KIND WORKLOAD
	local elf
	elf=$(program_of "$(program_in "$2")" "$1")
	[ -e "$elf.whole" ] || { mv "$elf" "$elf.whole" && strip -g -o "$elf" "$elf.whole"; }
	rm -f counts/*
	work "$1" "$2" small valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null 2>&1 |
		sed -nE 's/.*I +refs: +([0-9,]+)/\1/p' | tr -d , | awk '{ n += $1 } END { printf "%d\n", n }'
}
once_ns() { # KIND WORKLOAD
	local start
	rm -f counts/*
	start=$(date +%s%N)
	work "$1" "$2" large setarch -R 2>/dev/null
	echo $(($(date +%s%N) - start))
}
percent() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%+.0f%%", 100 * (a / b - 1) }'; }

tell() { printf '%s\t%s\t%s\t%s\n' "$@" >>figures; } # WHAT PROGRAM KIND VALUE
row() { # NAME WHAT VALUE...: the first is the plain build's
	local name=$1 what=$2 plain=$3 i=0
	shift 2
	for v in "$@"; do tell "${what% *}" "$name" "${kinds[i++]}" "$v"; done
	shift
	printf '%-8s %-13s %14s' "$name" "$what" "$plain"
	for v in "$@"; do printf ' %15s' "$(percent "$v" "$plain")"; done
	echo
}
printf '%-8s %-13s %14s' program figure plain
printf ' %15s' "${kinds[@]:1}"
echo
for name in "${names[@]}"; do
	p=$(program_in "$name")
	values=()
	for k in "${kinds[@]}"; do
		values+=("$(instructions "$k" "$name")")
		[ -z "$(ls counts)" ] || "$build/bin/pathprof-lab" counts --binary "$(program_of "$p" "$k").whole" --all counts/*.ppraw >"$k.tsv"
	done
	row $name instructions "${values[@]}"
	if [[ " ${kinds[*]} " == *" early "* ]]; then
		said=$(python3 -B "$here/counting_edges.py" "$(program_of "$p" early).whole" early.tsv | sed -n 1p)
		echo "$name edges alone: $said"
		read -r potential definite < <(sed -nE 's/.*potential accuracy ([0-9.]+) %.*coverage ([0-9.]+) %.*/\1 \2/p' <<<"$said")
		tell potential "$name" early "$potential"
		tell definite "$name" early "$definite"
	fi
	for k in {early,late}-{practical,obvious,targeted}; do
		of=${k%-*}
		[[ " ${kinds[*]} " == *" $k "* ]] || continue
		said=$(python3 -B "$here/counting_accuracy.py" "$(program_of "$p" $k).whole" \
			$of.tsv $k.tsv "$p.$of-all" 2>&1 | tail -n 1)
		echo "$name $k: $said"
		read -r accuracy coverage < <(sed -nE 's/accuracy ([0-9.]+) %, coverage ([0-9.]+) %.*/\1 \2/p' <<<"$said")
		tell accuracy "$name" $k "$accuracy"
		tell coverage "$name" $k "$coverage"
	done
	[ "${ROUNDS:-7}" -gt 0 ] || continue
	declare -A least=()
	for _ in $(seq "${ROUNDS:-7}"); do
		for k in "${kinds[@]}"; do
			t=$(once_ns "$k" "$name")
			[ -n "${least[$k]:-}" ] && [ "${least[$k]}" -le "$t" ] || least[$k]=$t
		done
	done
	values=()
	for k in "${kinds[@]}"; do values+=("${least[$k]}"); done
	row $name "time ns" "${values[@]}"
	unset least
done
for p in "${programs[@]}"; do
	values=()
	for k in "${kinds[@]}"; do values+=("$(stat -c %s "$(program_of $p "$k").whole")"); done
	row $p "file bytes" "${values[@]}"
done
# Numbers that the paths of each table span, beside the paths that it has and that its function has.
for p in "${programs[@]}"; do
	for k in "${kinds[@]}"; do
		[[ $k != *-tables ]] || python3 -B "$here/counting_spans.py" "$(program_of $p "$k").whole" |
			while read -r f span; do tell "span" "$p:$f" "$k" "$span"; done
	done
done
[ -z "${TSV:-}" ] || mv figures "$tsv"
