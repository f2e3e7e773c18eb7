# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by pgo.sh and tests/scenario/pgo_loop.sh: programs out of Debian's sources, profiles of
# them, and the same programs optimised. Wants $build and $out; works in $out.
#
# Every figure is a line `PROGRAM VARIANT KEY VALUE` of $out/results.

tests=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
ctl=$build/bin/pathprofctl
daemon=$build/bin/pathprofd
tracer=$build/bin/pathprof-trace
lab=$build/bin/pathprof-lab
exact=$build/tests/tools/trace_export
mkdir -p "$out"
out=$(realpath "$out")
cd "$out" || exit 1

# Of the CPUs' time; the daemon of a machine in service would take its 0.5 % and wait longer.
overhead=50
lua_bytes=400000
bolt_options=(-reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions -split-all-cold)

serving=
cleanup() { [ -z "$serving" ] || kill -KILL "$serving" 2>/dev/null || true; }
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

. "$tests/bench/pgo_programs.bash"

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

# A program at its work, well past its start.
begin_serving() { # PROGRAM VARIANT INPUT
	"serve_$1" "bin/$1.$2" "$1.$3" >/dev/null 2>&1 &
	serving=$!
	sleep 1
}
end_serving() {
	kill "$serving"
	kill -CONT "$serving"
	wait "$serving" 2>/dev/null || true
	serving=
}

# Records what serves until there are so many bursts, or until far more time is over than that takes.
record_bursts() { # DB BURSTS CHUNK
	local begin=$SECONDS have=0 patience_s=$((60 + $2 / 10))
	while [ "$have" -lt "$2" ] && [ $((SECONDS - begin)) -lt "$patience_s" ]; do
		"$ctl" record --no-report --overhead "$overhead" -o "$1" -p "$serving" --duration "$3" \
			2>said || die "recording: $(tail -n 1 said)"
		have=$(bursts_of "$1")
	done
	say "$1: $have bursts in $((SECONDS - begin)) s"
}

record() { # PROGRAM VARIANT INPUT DB BURSTS
	begin_serving "$1" "$2" "$3"
	record_bursts "$4" "$5" 4s
	end_serving
}

exported() { # PROGRAM VARIANT DB FORMAT FILE [OPTIONS]
	local program=$1 variant=$2 db=$3 format=$4 file=$5
	shift 5
	"$ctl" --db "$db" export -F "$format" --binary "$PWD/bin/$program.$variant" -o "$file" "$@" 2>said ||
		die "export: $(tail -n 1 said)"
	density=$(sed -n 's/.*density \([0-9.]*\).*/\1/p' said)
	seen=$(sed -n 's/.*samples: \([0-9]*\) of its taken.*/\1/p' said)
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

# What ran, libraries included.
summed() { # PROGRAM VARIANT TRACE
	"$lab" trace-summary "$3" |
		awk -v p="$1" -v v="$2" '$1 == "taken" || $1 == "instructions" { print p, v, $1, $2 }' >>results
}

# What the program runs for the measured input. Its output must be what it was.
counted() { # PROGRAM VARIANT
	traced "$1" "$2" code counted.trace
	cmp -s traced.out "$1.expected" || die "$1 $2: other output than before"
	summed "$1" "$2" counted.trace
	rm counted.trace
}

# The program as it is, and the exact profile of the measured work.
prepare() { # PROGRAM
	built "$1" base
	traced "$1" base code "$1.code.trace"
	mv traced.out "$1.expected"
	summed "$1" base "$1.code.trace"
	"$exact" "$1.code.trace" "bin/$1.base" bolt-preagg >"$1.exact.preagg"
	bolted "$1" bolt-exact "$1.exact.preagg"
	counted "$1" bolt-exact
}

# Of what the exact profile gains, in whole per cent.
share_of() { # PROGRAM VARIANT EXACT-VARIANT
	awk -v base="$(figure "$1" base taken)" -v have="$(figure "$1" "$2" taken)" \
		-v most="$(figure "$1" "$3" taken)" \
		'BEGIN { print int(100 * (base - have) / (base - most)) }'
}

# Taken branches that a host's work saves, in per cent of those of the build as it was.
host_gain() { # PROGRAM VARIANT HOST
	awk -v base="$(figure "$1" base "host$3")" -v have="$(figure "$1" "$2" "host$3")" \
		'BEGIN { printf "%.2f\n", 100 * (1 - have / base) }'
}
