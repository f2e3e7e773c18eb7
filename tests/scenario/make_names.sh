#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A header that changed is compiled in, whether the build directory has its name from here or its whole
# one: objects of two ages make programs that crash. And what is there is not made anew for being asked for
# by name: programs would be linked again while others use them. Each object that needs generated code has it
# made, whichever is compiled first.
set -u
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
cd "$(dirname "$0")/../.." || exit 1
mkdir -p build
build=$(mktemp -d -p build names.XXXXXX)
trap 'rm -rf "$build"' EXIT
failed=0

# compiles BUILD WORDS...: whether make does, for an object in that directory.
compiles() {
	local build=$1
	shift
	make BUILD="$build" "$@" "$build/obj/daemon/shared/log.o" >"$work" 2>&1 && grep -q 'CC .*log\.o' "$work"
}
# check NAME COMMAND...
check() {
	local name=$1
	shift
	if "$@"; then
		echo "ok make_names_$name"
	else
		echo "not ok make_names_$name: $(tail -1 "$work")"
		failed=1
	fi
}
unchanged() { ! compiles "$1"; }
work=$build/said
check built compiles "$build"
check unchanged unchanged "$build"
check unchanged_by_whole_name unchanged "$PWD/$build"
check header compiles "$build" -W daemon/shared/log.h
check header_by_whole_name compiles "$PWD/$build" -W daemon/shared/log.h
skeleton=$build/gen/collect.skel.h
asked_by_name() {
	make BUILD="$build" "$skeleton" >"$work" 2>&1 && make BUILD="$build" "$build/bpf/collect.bpf.o" >"$work" 2>&1 &&
		make BUILD="$build" "$skeleton" >"$work" 2>&1 && ! grep 'GEN .*skel' "$work"
}
check asked_by_name asked_by_name
makes() { make BUILD="$build" "$build/$1" >"$work" 2>&1; }
for needs in pprof_pack write_pprof write_stacks; do
	rm -f "$build"/gen/pprof.*
	check "generated_for_$needs" makes "obj/libprofile/src/export/$needs.o"
done
exit $failed
