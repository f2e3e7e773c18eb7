# SPDX-License-Identifier: GPL-2.0-or-later
# Programs out of Debian's sources, fetched without a change to the system's lists, and compiled by a
# compiler of one's choice in a directory a KIND. Is $cc set to one that runs here, and the working
# directory one's own? COUNTING_SOURCES may name a directory that has the archives already.

# get_sources PACKAGE...: 1, and says why, where there are none.
get_sources() {
	sources=${COUNTING_SOURCES:-$PWD/sources}
	[ -z "${COUNTING_SOURCES:-}" ] || return 0
	mkdir -p sources/lists/partial
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" \
		>sources/list
	local apt=(apt-get -qq -o "Dir::Etc::SourceList=$PWD/sources/list" -o Dir::Etc::SourceParts=-
		-o "Dir::State::lists=$PWD/sources/lists")
	(cd sources && "${apt[@]}" update && "${apt[@]}" source --download-only "$@") >sources/said 2>&1 && return
	echo "no sources: $(tail -n 1 sources/said)"
	return 1
}

# The table of programs. What is read by eval has CC, CXX and LDFLAGS, and is in the program's sources.
# Lua seeds its hashes by an address and expat its own by chance, if nothing else is said.
# Strings are compiled with the program since C++20; before, those of the library are called, or inlined.
declare -A configured=(
	[gzip]='./configure CC="$CC" CFLAGS="-O2 -g"'
	[sqlite3]='./configure && make sqlite3.c shell.c'
	[lzip]='./configure CXX="$CXX" CXXFLAGS="-O2 -g -std=gnu++20"'
	[mawk]='./configure CC="$CC" CFLAGS="-O2 -g"'
)
declare -A made=(
	[gzip]='make CC="$CC" LDFLAGS="$LDFLAGS"'
	[bzip2]='make CC="$CC" CFLAGS="-O2 -g -D_FILE_OFFSET_BITS=64" LDFLAGS="$LDFLAGS" bzip2'
	[lua5.4]='make -C src CC="$CC -std=gnu99 -DLUA_USE_POSIX -Dluai_makeseed\(L\)=1" MYLDFLAGS="$LDFLAGS" lua'
	[sqlite3]='$CC -O2 -g -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION shell.c sqlite3.c -o sqlite3 $LDFLAGS -lm'
	[libzstd]='make -C programs CC="$CC" MOREFLAGS=-g LDFLAGS="$LDFLAGS" HAVE_THREAD=0 HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 zstd-nolegacy'
	[expat]='$CC -O2 -g -DXML_DTD -DXML_GE=1 -DXML_NS -DXML_CONTEXT_BYTES=1024 -DHAVE_ARC4RANDOM_BUF -Darc4random_buf=bzero \
		-DXML_BYTE_ORDER=1234 -DBYTEORDER=1234 -DHAVE_UNISTD_H -DVERSION=\"2\" -DPACKAGE=\"expat\" \
		-Iexpat/lib expat/lib/xml{parse,role,tok}.c expat/xmlwf/{codepage,unixfilemap,xmlfile,xmlwf}.c -o xmlwf $LDFLAGS'
	[mujs]='make build/release/mujs CC="$CC -g" LDFLAGS="$LDFLAGS" HAVE_READLINE=no'
	[lzip]='make CXX="$CXX" LDFLAGS="$LDFLAGS"'
	[mawk]='make CC="$CC" LDFLAGS="$LDFLAGS"'
)
declare -A program=(
	[gzip]=gzip [bzip2]=bzip2 [lua5.4]=src/lua [sqlite3]=sqlite3 [libzstd]=programs/zstd-nolegacy
	[expat]=xmlwf [mujs]=build/release/mujs [lzip]=lzip [mawk]=mawk
)

# in_sources DIRECTORY COMMAND COMPILER LINKER-FLAGS
in_sources() (
	CC=$3 CXX=${3/#clang/clang++} LDFLAGS=$4
	CXX=${CXX/\/pathprof-cc//pathprof-c++}
	cd "$1" && eval "$2"
)

# unpack PROGRAM DIRECTORY: ready to be made; configuring takes the longest, so it is done once.
unpack() {
	local archive
	if [ ! -d "$1-sources" ]; then
		archive=$(find "$sources" -name "$1_*.orig.tar.*" ! -name '*.asc')
		mkdir "$1-sources" && tar -C "$1-sources" --strip-components 1 -xf "$archive" || return
		in_sources "$1-sources" "${configured[$1]:-:}" "$cc" "" || return
	fi
	rm -rf "$2" && cp -a "$1-sources" "$2"
}

# compile PROGRAM KIND COMPILER LINKER-FLAGS
compile() { unpack "$1" "$1-$2" && in_sources "$1-$2" "${made[$1]}" "$3" "$4"; }
program_of() { echo "$1-$2/${program[$1]}"; } # PROGRAM KIND
