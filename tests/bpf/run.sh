#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
#
# The BPF collector held against its twin in user space and a plain model, over branch stacks of real
# programs; and what the verifier processes of it, as two compilers make it: docs/bpf.md.
#
#   BPF_WINDOWS  branch stacks of each program (80000: ten million branches of four)
#   BPF_OTHERS   windows for each setting but the usual one (12800)
#   BPF_ROUNDS   of 2048 windows that are timed for each program (8)
#
# Prints "ok NAME", "not ok NAME: why" or "skip NAME: why", figures in lines that begin with #; exit
# status 1 when something failed. BUILD: directory for objects (default build). CC: the compiler.
set -u
cd "$(dirname "$0")/../.." || exit 1
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL

build=${BUILD:-build}
cc=${CC:-gcc}
windows=${BPF_WINDOWS:-80000}
out=$build/bpf-check
failed=0

not_ok() {
	echo "not ok $1: $2"
	exit 1
}

# object CLANG BUILD: the shipped object by that compiler.
object() {
	make -s BUILD="$2" CLANG="$1" "$2/bpf/collect.bpf.o" >"$out/$1.log" 2>&1 ||
		{ cat "$out/$1.log" && not_ok "bpf-build-$1" "$(grep -m1 error "$out/$1.log")"; }
}

mkdir -p "$out" || exit 1
object clang "$build"
if ! "$cc" -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter \
	-Ilibprofile/include -o "$out/collect_check" tests/bpf/*.c -lbpf; then
	not_ok bpf-runner 'does not compile'
fi
"$out/collect_check" -v clang "$build/bpf/collect.bpf.o" || failed=1
# A second compiler takes part where rounds are full.
if [ "${PATHPROF_ROUNDS:-}" != full ]; then
	:
elif command -v clang-22 >/dev/null; then
	object clang-22 "$out/clang-22"
	"$out/collect_check" -v clang-22 "$out/clang-22/bpf/collect.bpf.o" || failed=1
else
	echo 'skip bpf-verifier-clang-22: not installed'
fi

if ! BUILD=$build tests/vm/windows "$out/windows-$windows" "$windows" >"$out/windows.log" 2>&1; then
	cat "$out/windows.log"
	not_ok bpf-windows "$(tail -1 "$out/windows.log")"
fi
grep '^skip ' "$out/windows.log"
"$out/collect_check" -n $((windows * 4)) -m "${BPF_OTHERS:-12800}" -r "${BPF_ROUNDS:-8}" \
	"$build/bpf/collect.bpf.o" "$out/windows-$windows"/*.win || failed=1
exit $failed
