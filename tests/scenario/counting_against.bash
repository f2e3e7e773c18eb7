# SPDX-License-Identifier: GPL-2.0-or-later
# Checks of programs out of Debian's sources, each of which does its workload, built to count and
# otherwise: their counts against each other. Included behind counting_common.bash.
for tool in llvm-profdata-22 apt-get setarch; do
	command -v $tool >/dev/null || { echo "skip $name: $tool is not installed"; exit 0; }
done
. "$here/counting_sources.bash"
. "$here/counting_workloads.bash"
# An archive, since makefiles say some flags twice.
clang-22 -O2 -c "$here/counting_oracle.c" -o oracle.o && ar rc liboracle.a oracle.o
oracle="-Wl,-u,__pathprof_oracle $tmp/liboracle.a"
unset PATHPROF_INSTRUMENT

# Programs that are built to be run while another one is built count as well, and have logs.
export PATHPROF_DIR=$tmp/elsewhere ORACLE_LOG=$tmp/elsewhere/log
mkdir elsewhere
build_kind() { # WORKLOAD KIND CC LDFLAGS
	compile "$(program_in "$1")" "${@:2}" >"$1-$2.log" 2>&1 || not_ok "$1 is built ($2)" "$(grep -m 1 -i error "$1-$2.log")"
}

elf_of() { program_of "$(program_in "$1")" "$2"; } # WORKLOAD KIND

# The same command line, environment and addresses, so that each takes the same paths.
run() { # WORKLOAD KIND: what it makes of the input is in output.KIND, what it counts in counts/KIND
	[ -d "input-$1" ] || (mkdir "input-$1" && cd "input-$1" && prepare "$1" 1)
	rm -rf here log profraw "counts/$2" && mkdir -p "counts/$2" && cp -a "input-$1" here
	cp "$(elf_of "$1" "$2")" here/program
	(
		cd here || exit
		export ORACLE_LOG=$tmp/log LLVM_PROFILE_FILE=$tmp/profraw/%p PATHPROF_DIR=$tmp/counts/$2
		run="setarch -R ./program"
		eval "${workload[$1]}"
	) >"output.$2" 2>&1
	status=$?
	echo "status $status" >>"output.$2"
	[ $status -lt 126 ] || not_ok "$1 ($2)" "it ends with status $status"
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

against_oracle() { # WORKLOAD MODE
	build_kind "$1" counted "$cc $2" ""
	build_kind "$1" oracle "$cc --pathprof-oracle $2" "$oracle"
	run "$1" counted
	run "$1" oracle
	cmp -s output.counted output.oracle || not_ok "$1 $2" "both builds do not do the same"
	"$lab" counts --binary "$(elf_of "$1" counted)" --all counts/counted/*.ppraw >counted.tsv
	compare counting_oracle.py "$1 $2" "$(elf_of "$1" oracle)" log counted.tsv
}

# Paths that the last run counted are interesting, no more than 16 of a function: the counts are the same.
with_tables() { # WORKLOAD MODE
	interesting "$tmp/interesting" 16 --binary "$(elf_of "$1" counted)" counts/counted/*.ppraw
	build_kind "$1" tables "$cc $2 --pathprof-interesting=$tmp/interesting" ""
	run "$1" tables
	"$lab" counts --binary "$(elf_of "$1" tables)" --all counts/tables/*.ppraw | sort >tables.tsv
	if [ -s tables.tsv ] && sort counted.tsv | cmp -s - tables.tsv; then
		ok "$1 $2 with tables: $(wc -l <tables.tsv) paths, $(($(wc -l <interesting) - 1)) interesting"
	else
		not_ok "$1 $2 with tables" "$(sort counted.tsv | diff - tables.tsv | head -n 3 | paste -sd ';')"
	fi
}

# The run of the build that counts is the profile: the oracle's counts of what is left to count.
with_practical() { # WORKLOAD MODE TECHNIQUE
	local p="--pathprof-$3 --pathprof-interesting=$tmp/all"
	interesting "$tmp/all" 100000 --binary "$(elf_of "$1" counted)" counts/counted/*.ppraw
	build_kind "$1" "$3" "$cc $2 $p" ""
	build_kind "$1" "$3-oracle" "$cc --pathprof-oracle $2 $p" "$oracle"
	run "$1" "$3"
	run "$1" "$3-oracle"
	"$lab" counts --binary "$(elf_of "$1" "$3")" --all "counts/$3"/*.ppraw >warm.tsv
	compare counting_oracle.py "$1 $2 $3" "$(elf_of "$1" "$3-oracle")" log warm.tsv
	compare counting_accuracy.py "$1 $2 $3" "$(elf_of "$1" "$3")" counted.tsv warm.tsv "$tmp/all"
}

# beside_clang WORKLOAD KIND FUNCTIONS-WITH-FEWER: the counts of KIND and what clang's counters left.
beside_clang() {
	llvm-profdata-22 merge profraw/* -o profdata && llvm-profdata-22 show --all-functions profdata >shown
	"$lab" counts --binary "$(elf_of "$1" "$2")" --all "counts/$2"/*.ppraw >counted.tsv
	compare counting_entries.py "$1 beside clang's counters" "$(elf_of "$1" "$2")" counted.tsv shown "$3"
}

# against_clang WORKLOAD FUNCTIONS-WITH-FEWER: what the last build counted, against clang's counters.
against_clang() {
	build_kind "$1" clang "clang-22 -fprofile-instr-generate" "-fprofile-instr-generate"
	run "$1" clang
	cmp -s output.counted output.clang || not_ok "$1" "clang's build does not do the same"
	beside_clang "$1" counted "$2"
}
