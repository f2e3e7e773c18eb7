#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The library for programs of others: eight headers are promised, and installed with what they include
# and nothing else; each compiles alone, as C and as C++, and so does every internal one that says
# extern "C"; every function that an installed one declares is in the library, under its C name in C++
# too; and pkg-config says all that is needed to link it.
set -u
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
. tests/vm/common.bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make -s BUILD="$build" DESTDIR="$work" PREFIX=/usr install-library >"$work/log" 2>&1 ||
	{ tail "$work/log" && not_ok library_install "make install-library failed" && finish; }
include=$work/usr/include

# A header that no promised one needs is internal: it may change from one version to the next.
promised='code error export graph profile recording store trace'
for header in $promised; do
	echo "#include \"pathprof/$header.h\""
done >"$work/promised.c"
gcc -I"$include" -MM "$work/promised.c" | grep -o 'pathprof/[a-z_]*\.h' | sort -u >"$work/needed"
(cd "$include" && printf '%s\n' pathprof/*.h) >"$work/installed"
if cmp -s "$work/needed" "$work/installed"; then
	ok library_promised
else
	not_ok library_promised "$(diff "$work/needed" "$work/installed" | grep '^[<>]' | paste -sd ' ')"
fi

# alone NAME FOLDER LANGUAGE COMPILER STANDARD HEADER...
alone() {
	local name=$1 folder=$2 language=$3 compiler=$4 standard=$5 header
	shift 5
	for header; do
		echo "#include \"pathprof/${header##*/}\"" |
			"$compiler" -x "$language" "-std=$standard" -Wall -Wextra -Wpedantic -Werror -I"$folder" -fsyntax-only - ||
			echo "${header##*/}" >>"$work/$name"
	done 2>"$work/said"
	if [ -e "$work/$name" ]; then
		cat "$work/said"
		not_ok "library_$name" "$(paste -sd ' ' "$work/$name")"
	else
		ok "library_$name"
	fi
}
alone headers_c "$include" c gcc c11 "$include"/pathprof/*.h
alone headers_c++ "$include" c++ g++ c++17 "$include"/pathprof/*.h

# An internal header that says extern "C" says that a program in C++ may include it.
mapfile -t for_both < <(grep -l '^extern "C"' libprofile/include/pathprof/*.h)
alone internal_headers_c libprofile/include c gcc c11 "${for_both[@]}"
alone internal_headers_c++ libprofile/include c++ g++ c++17 "${for_both[@]}"

# A program in C++ that holds the address of every function that the headers declare.
for header in "$include"/pathprof/*.h; do
	echo "#include \"pathprof/${header##*/}\""
done >"$work/all.h"
cp "$work/all.h" "$work/all.c"
gcc -std=c11 -I"$include" -fsyntax-only -aux-info "$work/declared" "$work/all.c"
sed -nE 's/.*\/pathprof\/.* extern [^(]*[ *](pathprof_[a-z0-9_]+) \(.*/\1/p' "$work/declared" | sort -u >"$work/functions"
{
	cat "$work/all.h"
	echo 'void *functions[] = {'
	sed 's/.*/(void *)&,/' "$work/functions"
	echo '};'
	echo 'int main() { return functions[0] == nullptr; }'
} >"$work/all.cc"
export PKG_CONFIG_PATH=$work/usr/lib/pkgconfig
read -ra flags < <(pkg-config --cflags --libs --static --define-variable="prefix=$work/usr" \
	--define-variable="libdir=$work/usr/lib" pathprof)
if [ "$(wc -l <"$work/functions")" -lt 100 ]; then
	not_ok library_links "only $(wc -l <"$work/functions") functions were found in the headers"
elif g++ -std=c++17 -o "$work/all" "$work/all.cc" "${flags[@]}" 2>"$work/said" && "$work/all"; then
	ok "library_links"
else
	not_ok library_links "$(grep -m3 -E 'undefined|error' "$work/said" | paste -sd ';')"
fi
finish
