# SPDX-License-Identifier: GPL-2.0-or-later
# What scenarios of pathprof-cc share: a directory of their own to be in, the compilers, and results.
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

# exact WHAT SOURCE FLAG...: counts are those that follow from what an oracle build writes down.
exact() {
	local what=$1 source=$2 status oracle_status
	shift 2
	rm -rf counts oracle-counts
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
