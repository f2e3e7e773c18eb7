# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by pgo_common.bash: six programs out of Debian's sources, each with how it is built, one piece
# of its work, which is measured, and work without end, which is recorded.

# Text of two kinds is what all of them work on: PROGRAM.code and PROGRAM.manuals.
fetch() { # PROGRAM...
	local p lua bzip2
	for p in lua bzip2 "$@"; do
		"$tests/bench/debian_source.sh" "$(package_of "$p")" "$build/sources"
	done
	lua=$(source_of lua) bzip2=$(source_of bzip2)
	cat "$lua"/src/*.[ch] "$bzip2"/*.[ch] >code
	cat "$lua"/doc/*.html "$bzip2"/manual.{html,xml} "$bzip2"/*.txt >manuals
	for p; do
		head -c "$(bytes_of "$p")" code >"$p.code"
		head -c "$(bytes_of "$p")" manuals >"$p.manuals"
	done
}

# So much of it that a piece of work runs some hundred million instructions.
bytes_of() { # PROGRAM
	case $1 in
	lua) echo "$lua_bytes" ;;
	mujs) echo 40000 ;;
	jsoncpp) echo 300000 ;;
	pugixml) echo 300000 ;;
	bzip2 | zstd) echo 10000000 ;;
	esac
}

package_of() { # PROGRAM
	case $1 in
	lua) echo lua5.4 ;;
	jsoncpp) echo libjsoncpp ;;
	*) echo "$1" ;;
	esac
}
source_of() { echo "$build/sources/$(package_of "$1")"; } # PROGRAM

# Object by object: two processors are twice as quick as one. C++ is linked by the compiler of C++.
compile() { # COMPILER BINARY DIRECTORY SOURCES -- FLAGS
	local compiler=$1 binary=$PWD/bin/$2 directory=$3 sources=() objects
	shift 3
	while [ "$1" != -- ]; do sources+=("$1"); shift; done
	shift
	objects=$(mktemp -d)
	(cd "$directory" && printf '%s\n' "${sources[@]}" |
		xargs -P2 -I{} sh -c 'o=$1/$(echo "$2" | tr / _).o; shift; s=$1; shift; exec "$@" -c "$s" -o "$o"' \
			sh "$objects" {} "$compiler" -O2 "$@") &&
		"$compiler" -O2 "$@" -Wl,--emit-relocs -Wl,-E -o "$binary" "$objects"/*.o -lm -ldl
	local r=$?
	rm -r "$objects"
	return $r
}

# clang++-22 for clang-22, g++-11 for gcc-11.
of_cxx() { # COMPILER
	case $1 in
	clang-*) echo "clang++-${1#clang-}" ;;
	gcc-*) echo "g++-${1#gcc-}" ;;
	esac
}

# Work on many files in one process; not more of them: it takes long to list them.
many_times() { # FILE: $files
	mapfile -t files < <(yes "$1" | head -n 3000)
}

# work_PROGRAM BINARY INPUT leaves the words of the command in $command; serve_PROGRAM BINARY INPUT does
# the same for good, in this very process; build_PROGRAM BINARY COMPILER FLAGS.

# ---------------------------------------------------------------- Lua
# Lua's seed of hashes is taken from an address, so no two runs would be the same.
build_lua() {
	local binary=$1 compiler=$2 sources lua
	shift 2
	lua=$(source_of lua)
	sources=$(cd "$lua/src" && echo l*.c)
	# shellcheck disable=SC2086
	compile "$compiler" "$binary" "$lua/src" ${sources//luac.c/} -- -std=gnu99 -DLUA_USE_LINUX \
		'-Dluai_makeseed(L)=1u' "$@"
}
work_lua() { command=("$1" "$tests/workloads/text_work.lua" "$2" 1); }
serve_lua() { exec "$1" "$tests/workloads/text_work.lua" "$2" 1000000000; }

# ---------------------------------------------------------------- bzip2
build_bzip2() {
	local binary=$1 compiler=$2
	shift 2
	compile "$compiler" "$binary" "$(source_of bzip2)" \
		{blocksort,huffman,crctable,randtable,compress,decompress,bzlib,bzip2}.c -- -D_FILE_OFFSET_BITS=64 "$@"
}
work_bzip2() { command=("$1" -c "$2"); }
serve_bzip2() {
	local files
	many_times "$2"
	exec "$1" -c "${files[@]}"
}

# ---------------------------------------------------------------- zstd
build_zstd() {
	local binary=$1 compiler=$2 sources zstd
	shift 2
	zstd=$(source_of zstd)
	sources=$(cd "$zstd" && echo lib/{common,compress,decompress,dictBuilder}/*.[cS] programs/*.c)
	# shellcheck disable=SC2086
	compile "$compiler" "$binary" "$zstd" $sources -- -DXXH_NAMESPACE=ZSTD_ -DZSTD_LEGACY_SUPPORT=0 "$@"
}
work_zstd() { command=("$1" -q -8 -c "$2"); }
serve_zstd() {
	local files
	many_times "$2"
	exec "$1" -q -8 -c "${files[@]}"
}

# ---------------------------------------------------------------- MuJS
build_mujs() {
	local binary=$1 compiler=$2
	shift 2
	compile "$compiler" "$binary" "$(source_of mujs)" one.c main.c -- "$@"
}
work_mujs() { command=("$1" "$tests/workloads/text_work.js" "$2" 1); }
serve_mujs() { exec "$1" "$tests/workloads/text_work.js" "$2" 1000000000; }

# ---------------------------------------------------------------- pugixml and JsonCpp, in C++
build_pugixml() {
	local binary=$1 compiler
	compiler=$(of_cxx "$2")
	shift 2
	compile "$compiler" "$binary" "$(source_of pugixml)/src" pugixml.cpp "$tests/workloads/xml_work.cpp" -- -I. "$@"
}
work_pugixml() { command=("$1" "$2" 1); }
serve_pugixml() { exec "$1" "$2" 1000000000; }

build_jsoncpp() {
	local binary=$1 compiler
	compiler=$(of_cxx "$2")
	shift 2
	compile "$compiler" "$binary" "$(source_of jsoncpp)" src/lib_json/json_{reader,value,writer}.cpp \
		"$tests/workloads/json_work.cpp" -- -Iinclude "$@"
}
work_jsoncpp() { command=("$1" "$2" 1); }
serve_jsoncpp() { exec "$1" "$2" 1000000000; }
