#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Seeds for fuzz_branch_profile: small programs by several compilers, each behind a small profile.
# Usage: seeds_branch_profile.sh ANYTHING DIR.
set -eu
dir=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # split debug information lies where the compiler ran
cat >small.c <<'END'
static inline int twice(int x) { return x > 3 ? x * 2 : x + 1; }
static inline int more(int x) { for (int i = 0; i < x; i++) x += twice(i); return x; }
__attribute__((noinline)) int second(int x) { return x & 1 ? more(x) : twice(x); }
void _start(void) { for (volatile int i = 0; i < 9; i++) second(i); __builtin_trap(); }
END

# A branch, a range, a trace, a run and times, of places in the first bytes of code.
profile() {
	printf '\0\0\20\0\0\7\5\1'
	printf '\1\0\0\0\0\20\6\1'
	printf '\2\0\20\0\0\5\7\1'
	printf '\3\0\40\0\10\6\4\2'
	printf '\0\0\60\377\377\0\277\2'
	printf '\4\1\2\1\3\0\50\0'
}
make_seed() { # NAME COMPILER...
	local name=$1
	shift
	"$@" -O2 -nostdlib -static -Wl,-z,noseparate-code -Wl,--build-id -o "$name" small.c
	{
		printf '\0\60'
		profile
		cat "$name"
	} >"$dir/seed_$name"
}
make_seed gcc4 gcc -gdwarf-4
make_seed gcc5 gcc -gdwarf-5
make_seed clang4 clang -gdwarf-4 -fdebug-info-for-profiling
make_seed clang5 clang -gdwarf-5 -fdebug-info-for-profiling
make_seed bare gcc -s
make_seed split clang -gdwarf-5 -gsplit-dwarf
