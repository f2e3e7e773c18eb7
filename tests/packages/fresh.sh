#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every way in works on a fresh machine: each target of the makefile that people call is run in a Debian
# that has nothing but make, so a package that the makefile does not name is missing here as it would be
# there. FRESH names some of the targets.
#
# Each target gets a tree of its own. The first one compiles from nothing; the others get what the ones
# before have compiled, and install their packages anew. The targets that run for long run one part of the
# tests and one benchmark (ONLY=): all their packages are installed and all their programs are built before
# that.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/packages/common.bash

# tree_of SUITE NAME: a minimal tree with make, and with these sources in /src.
tree_of() {
	local tree=$work/$2
	archives=$build/packages/archives-$1
	mkdir -p "$archives/partial"
	fresh "$1" "$tree" || return 1
	# Nothing here has to outlive a power failure.
	echo force-unsafe-io >"$tree/etc/dpkg/dpkg.cfg.d/unsafe"
	# apt deletes no archive: the next tree wants it.
	echo 'Binary::apt::APT::Keep-Downloaded-Packages "true";' >"$tree/etc/apt/apt.conf.d/keep"
	inside "$tree" sh -ec 'apt-get -q update; apt-get -q -y --no-install-recommends install make' &&
		copy_tree "$tree/src" || return 1
	[ ! -e "$work/built" ] || cp -a "$work/built" "$tree/src/build"
}

# holds NAME TREE COMMAND: the command of a shell succeeds in the tree, at the top of the sources.
holds() {
	inside "$2" sh -ec "cd /src; $3" >"$work/log" 2>&1 </dev/null
	got "$1" $? "$work/log"
}

# way SUITE TARGET: runs a target in a tree of its own and looks at what came of it.
way() {
	local name=fresh_$1_$2 tree=$work/$2
	tree_of "$1" "$2" >"$work/log" 2>&1
	got "${name}_tree" $? "$work/log"
	case $2 in
	run)
		holds "$name" "$tree" 'DURATION=5 make run'
		grep -q '^== hottest paths ==' "$work/log" && grep -q '%' "$work/log"
		got "${name}_report" $? "$work/log"
		records "$tree" /src/build >"$work/log" 2>&1 && recorded "$work/log"
		got "${name}_record" $? "$work/log"
		;;
	deb)
		holds "$name" "$tree" 'make deb'
		installs "$1" "$tree/src/build/deb"
		;;
	dist-bin)
		holds "$name" "$tree" 'make dist-bin; tar -tzf build/dist/*.tar.gz | grep bin/pathprofctl'
		;;
	install) holds "$name" "$tree" 'make install; pathprofctl --version; pathprofd --print-config' ;;
	dkms) holds "$name" "$tree" 'make dkms DESTDIR=/; ls /usr/src/pathprof-*/dkms.conf' ;;
	bench) holds "$name" "$tree" 'make bench ONLY=bench_core' ;;
	test) holds "$name" "$tree" 'make test ONLY=lab_vectors' ;;
	check) holds "$name" "$tree" 'make check ONLY=lab_errors' ;;
	check-all) holds "$name" "$tree" 'make check-all ONLY=lab_errors' ;;
	esac
	rm -rf "$work/built"
	[ ! -e "$tree/src/build/obj" ] || mv "$tree/src/build" "$work/built"
	rm -rf "$tree"
}

# installs SUITE DIRECTORY: its packages install with what they depend on and nothing else. A program that
# uses the library links as docs/packaging.md says.
installs() {
	local name=fresh_$1_package tree=$work/package
	tree_of "$1" package >"$work/log" 2>&1 && mkdir "$tree/debs" &&
		cp "$2"/*_"${version}"_*.deb "$tree/debs" && rm -f "$tree"/debs/*dbgsym*
	got "${name}_tree" $? "$work/log"
	holds "${name}_installs" "$tree" 'apt-get -q -y --no-install-recommends install /debs/*.deb
		pathprofctl --version; pathprofd --print-config; pathprof-lab --version; ls /etc/pathprof'
	records "$tree" /usr >"$work/log" 2>&1 && recorded "$work/log"
	got "${name}_records" $? "$work/log"
	holds "${name}_library" "$tree" 'apt-get -q -y --no-install-recommends install gcc libc6-dev pkg-config
		printf "#include <pathprof/store.h>\n" >x.c
		echo "int main(void) { return !pathprof_store_open; }" >>x.c
		cc x.c $(pkg-config --cflags --libs --static pathprof); ./a.out'
	rm -rf "$tree"
}

for suite in bookworm trixie; do
	[[ " ${SUITES:-$suite} " == *" $suite "* ]] || continue
	rm -rf "$work/built"
	targets='run deb dist-bin install dkms'
	# What tests and benchmarks use is of Debian 12: LLVM's tools have other names elsewhere.
	[ "$suite" != bookworm ] || targets+=' bench test check check-all'
	for target in $targets; do
		[[ " ${FRESH:-$target} " == *" $target "* ]] || continue
		way "$suite" "$target"
	done
done
finish
