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

# unpack PROGRAM DIRECTORY: ready to be made; configuring takes the longest, so it is done once.
unpack() {
	local archive
	if [ ! -d "$1-sources" ]; then
		archive=$(find "$sources" -name "$1_*.orig.tar.*" ! -name '*.asc')
		mkdir "$1-sources" && tar -C "$1-sources" --strip-components 1 -xf "$archive" || return
		[ "$1" != gzip ] || (cd gzip-sources && ./configure CC="$cc" CFLAGS="-O2 -g") || return
	fi
	rm -rf "$2" && cp -a "$1-sources" "$2"
}

# compile PROGRAM KIND COMPILER LINKER-FLAGS
compile() {
	unpack "$1" "$1-$2" || return
	case $1 in
	gzip) make -C "$1-$2" CC="$3" LDFLAGS="$4" ;;
	bzip2) make -C "$1-$2" CC="$3" CFLAGS="-O2 -g -D_FILE_OFFSET_BITS=64" LDFLAGS="$4" bzip2 ;;
	lua5.4) make -C "$1-$2/src" CC="$3 -std=gnu99 -DLUA_USE_POSIX -Dluai_makeseed\(L\)=1" MYLDFLAGS="$4" lua ;;
	esac
}
program_of() { # PROGRAM KIND
	[ "$1" = lua5.4 ] && echo "$1-$2/src/lua" || echo "$1-$2/$1"
}
