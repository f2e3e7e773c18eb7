# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the scenarios of pathprof-cc: a directory of their own to be in, the compilers, and
# results.
# Without LLVM 22 they are skipped.
set -u
build=$(realpath "${BUILD:-build}")
cc=$build/bin/pathprof-cc
lab=$build/bin/pathprof-lab
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
if [ ! -e "$cc" ]; then
	echo "skip $name: pathprof-cc is not built: it needs clang-22 and llvm-22-dev"
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
failed=0

ok() { echo "ok $name: $1"; }
not_ok() { echo "not ok $name: $1: $2"; failed=1; }
# refused WHAT TEXT COMMAND...: fails, and says so in a line with TEXT.
refused() {
	local what=$1 text=$2
	shift 2
	if "$@" >out 2>said || ! grep -q -- "$text" said; then
		not_ok "$what" "status 0, or another reason: $(tail -n 1 said)"
	else
		ok "$what is refused"
	fi
}

# exact WHAT SOURCE FLAG...: counts are those that follow from what an oracle build writes down.
exact() {
	local what=$1 source=$2 status oracle_status
	shift 2
	rm -rf counts oracle-counts log
	mkdir counts oracle-counts
	[ -e oracle.o ] || clang-22 -O2 -c "$here/counting_oracle.c" -o oracle.o
	if ! "$cc" -w -fwrapv "$@" "$source" -o counted 2>said ||
		! "$cc" -w -fwrapv --pathprof-oracle "$@" "$source" oracle.o -o oracle 2>said; then
		not_ok "$what" "it is not compiled: $(head -n 1 said)"
		return
	fi
	PATHPROF_DIR=counts timeout 100 ./counted >out
	status=$?
	PATHPROF_DIR=oracle-counts ORACLE_LOG=log timeout 100 ./oracle >oracle-out
	oracle_status=$?
	if [ $status -ne $oracle_status ] || ! cmp -s out oracle-out; then
		not_ok "$what" "both builds do not do the same (status $status and $oracle_status)"
	elif ! "$lab" counts --all counts/*.ppraw >counted.tsv 2>said; then
		not_ok "$what" "$(head -n 1 said)"
	elif python3 "$here/counting_oracle.py" oracle log counted.tsv >said 2>&1; then
		ok "$what: $(tail -n 1 said)"
	else
		not_ok "$what" "$(head -n 3 said | paste -sd ';')"
	fi
}

# ---------------------------------------------------------------- tests/workloads/counting.c
# run ARGUMENT...: what $program counted is in counts/ and in by_function, its own books in $steps and
# $manies.
run() {
	rm -rf counts truth
	mkdir counts
	PATHPROF_DIR=counts "${program[@]}" truth "$@" >out 2>said
	status=$?
	read -r _ steps manies < <(od -t u8 truth)
	add_up
}
add_up() {
	"$lab" counts --all counts/*.ppraw >counted.tsv 2>>said &&
		awk -F '\t' '{ n[$2] += $4 } END { for (f in n) print f, n[f] }' counted.tsv >by_function
}
count_of() { awk -v f="$1" '$1 == f { print $2 }' by_function; }

# books WHAT STATUS FILES CALLS ARGUMENT...: as many as it says itself, which are CALLS; 0: any number.
books() {
	local what=$1 want_status=$2 files=$3 calls=$4 found
	shift 4
	run "$@" || { not_ok "$what" "$(tail -n 1 said)"; return; }
	found=$(find counts -name '*.ppraw' | wc -l)
	if [ "$status" -ne "$want_status" ] || [ "$found" -ne "$files" ] || [ -s said ]; then
		not_ok "$what" "status $status, $found files, it says: $(head -n 1 said)"
	elif [ "$(count_of step)" != "$steps" ] || [ "$(count_of many)" != "${manies#0}" ]; then
		not_ok "$what" "step $(count_of step) of $steps, many $(count_of many) of $manies"
	elif [ "$calls" -ne 0 ] && [ "$steps" -ne "$calls" ]; then
		not_ok "$what" "it did $steps steps, not $calls"
	else
		ok "$what: $steps steps"
	fi
}

# killed TIMES: kill -9 at any moment; what it counted is in its books.
killed() {
	local i s m wrong=
	for i in $(seq "$1"); do
		rm -rf counts truth
		mkdir counts
		PATHPROF_DIR=counts "${program[@]}" truth endless &
		victim=$!
		sleep "0.0$((RANDOM % 80 + 10))"
		kill -9 $victim
		wait $victim 2>/dev/null
		read -r _ steps manies < <(od -t u8 truth)
		[ -n "$(find counts -name '*.ppraw')" ] || continue
		add_up || { wrong="$wrong; $(tail -n 1 said)"; continue; }
		# One may have been counted and not be in its books yet.
		s=$(count_of step) m=$(count_of many)
		s=$((${s:-0} - ${steps:-0})) m=$((${m:-0} - ${manies:-0}))
		[ $s -eq 0 ] || [ $s -eq 1 ] || wrong="$wrong; $s steps more than $steps"
		[ $m -eq 0 ] || [ $m -eq 1 ] || wrong="$wrong; $m manies more than $manies"
	done
	if [ -z "$wrong" ]; then ok "$1 times kill -9: the last had ${steps:-0} steps"; else not_ok "kill -9" "${wrong#; }"; fi
}

# ---------------------------------------------------------------- interesting paths
# interesting FILE HOT [--binary PROGRAM] COUNTS...: those that programs ran, by way of a database.
interesting() {
	local file=$1 hot=$2
	shift 2
	rm -f interesting.db
	"$build/bin/pathprofctl" import -F counts --no-report -o interesting.db "$@" 2>said &&
		"$build/bin/pathprofctl" interesting --db interesting.db --hot "$hot" -o "$file" 2>said ||
		not_ok "interesting paths" "$(tail -n 1 said)"
}
