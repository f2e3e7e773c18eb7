#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
#
# The core in its homes: the build test, then the core inside BPF against user space.
#
# Prints "ok NAME", "not ok NAME: why" or "skip NAME: why"; exit status 1 when something failed.
# BUILD: directory for objects (default build). CC, CLANG: the compilers.

set -u
cd "$(dirname "$0")/../.." || exit 1

BUILD=${BUILD:-build}
CC=${CC:-gcc}
CLANG=${CLANG:-clang-14}
OUT=$BUILD/homes
INCLUDES='-Ilibprofile/core -Itests/homes'
WARN='-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
	-Wwrite-strings -Wno-unused-parameter'
FAILED=0

mkdir -p "$OUT" || exit 1
BUILD=$BUILD CC=$CC CLANG=$CLANG tests/homes/build.sh || FAILED=1

if ! command -v "$CLANG" >/dev/null; then
	echo "skip bpf: no $CLANG"
	exit $FAILED
fi
# <linux/bpf.h> needs <asm/types.h>, which lies in the directory of the host's architecture.
# shellcheck disable=SC2086 # lists of options
if ! "$CLANG" -target bpf -mcpu=v3 -O2 -g $WARN $INCLUDES -idirafter \
	"/usr/include/$($CC -print-multiarch)" -c -o "$OUT/chain.bpf.o" tests/homes/chain.bpf.c; then
	echo "not ok bpf-program: does not compile"
	exit 1
fi
# shellcheck disable=SC2086
if ! $CC -std=gnu11 -ffreestanding -O2 -g $WARN $INCLUDES -D_GNU_SOURCE -o "$OUT/run_bpf" \
	tests/homes/run_bpf.c -lbpf; then
	echo "not ok bpf-runner: does not compile"
	exit 1
fi
"$OUT/run_bpf" "$OUT/chain.bpf.o" || FAILED=1
exit $FAILED
