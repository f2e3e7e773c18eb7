#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make install` twice into a directory: settings that an administrator has changed stay, the new defaults
# lie beside them, and units name the programs where they were installed.
set -u
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
. tests/vm/common.bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
conf=$work/etc/pathprof/pathprofd.conf

installed() { # NAME
	make -s BUILD="$build" DESTDIR="$work" PREFIX=/usr/local install-programs >"$work/log" 2>&1 && ok "$1" ||
		not_ok "$1" "$(tail -n 1 "$work/log")"
}
verdict() { # NAME COMMAND...
	local name=$1
	shift
	if "$@"; then ok "$name"; else not_ok "$name" "$(cat "$work/log"; ls "$work/etc/pathprof")"; fi
}
said() { grep -q "$conf.new" "$work/log"; }

installed install_first
verdict install_defaults cmp -s systemd/pathprofd.conf "$conf"
verdict install_first_alone [ ! -e "$conf.new" ]
for unit in systemd/*.service; do
	placed=$work/usr/local/lib/systemd/system/${unit##*/}
	program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$placed")
	verdict "install_unit_${unit##*/}" [ -x "$work$program" ]
	verdict "install_prefix_${unit##*/}" eval '! grep -q "/usr/bin" "$placed"'
done

# The compiler finds what it adds beside itself, wherever it is installed.
if [ -e "$build/bin/pathprof-cc" ]; then
	lab=$(realpath "$build/bin/pathprof-lab")
	echo 'int main(int argc, char **argv) { return argc > 1 && argv[1][0] == 99; }' >"$work/counted.c"
	counts_its_paths() {
		"$work/usr/local/bin/pathprof-cc" -O1 -o "$work/counted" "$work/counted.c" >"$work/log" 2>&1 &&
			(cd "$work" && ./counted && "$lab" counts ./*.ppraw) >"$work/log" 2>&1 &&
			grep -q 'main:' "$work/log"
	}
	verdict install_compiler counts_its_paths
fi

installed install_again
verdict install_again_alone [ ! -e "$conf.new" ]

echo Overhead=1% >"$conf"
installed install_over_settings
verdict install_settings_kept grep -qx Overhead=1% "$conf"
verdict install_defaults_beside cmp -s systemd/pathprofd.conf "$conf.new"
verdict install_says_so said

cp systemd/pathprofd.conf "$conf"
installed install_over_defaults
verdict install_nothing_beside [ ! -e "$conf.new" ]
finish
