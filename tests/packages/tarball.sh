#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tarball of `make dist-bin` in minimal trees of distributions: programs start, record, and show
# names and lines, with no library of the tree but the C library's.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/packages/common.bash
tarball=$build/dist/pathprof-$version-$(uname -m).tar.gz

# The key that Ubuntu signs with is a package of Debian 13. apt reads it as a user of its own.
ubuntu_key() {
	inside "$work/trixie" sh -c 'apt-get -q update && cd /tmp && apt-get -q download ubuntu-keyring' \
		>"$work/log" 2>&1 && dpkg-deb -x "$work"/trixie/tmp/ubuntu-keyring_*.deb "$work/key" &&
		chmod a+x "$work"
}

runs_in() { # SUITE
	local tree=$work/$1
	mkdir -p "$tree/opt/pathprof" && tar -xzf "$tarball" -C "$tree/opt/pathprof" --strip-components=1
	inside "$tree" sh -c 'ldd /opt/pathprof/bin/*' | grep '=>' |
		grep -vE '=> (/opt/pathprof/|/lib/x86_64-linux-gnu/(libc|libm|libresolv)\.so)' >"$work/foreign"
	[ ! -s "$work/foreign" ]
	got "tarball_libraries_$1" $? "$work/foreign"
	records "$tree" /opt/pathprof >"$work/log" 2>&1 && recorded "$work/log"
	got "tarball_records_$1" $? "$work/log"
}

for suite in bookworm trixie noble; do
	options=()
	if [ $suite = noble ] && [ ! -e "$build/packages/noble.tar" ]; then
		ubuntu_key && options=(--keyring="$work/key/usr/share/keyrings/ubuntu-archive-keyring.gpg")
	fi
	if fresh $suite "$work/$suite" "${options[@]}" >"$work/log" 2>&1; then
		runs_in $suite
	else
		echo "skip tarball_$suite: mmdebstrap could not fetch it, see $build/packages/$suite.log"
	fi
done
finish
