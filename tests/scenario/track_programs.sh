#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tracker on programs that live for a moment, change their libraries, or see another root.
. "$(dirname "$0")/../own_processes.bash"
set -eu
BUILD=${BUILD:-build}
probe=$BUILD/tests/tools/track_probe
failed=0

try() { # NAME COMMAND...
	local name=$1 said status=0
	shift
	said=$("$@" 2>&1) || status=$?
	case $status in
	0) echo "ok $name${said:+ # $said}" ;;
	77) echo "skip $name: $said" ;;
	*) echo "not ok $name: status $status: $said"; failed=1 ;;
	esac
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# A root with a program and its libraries under other paths than here.
make_root() {
	local lib
	mkdir -p "$dir/root/opt" "$dir/root/proc"
	cp /bin/sleep "$dir/root/opt/napper"
	ldd /bin/sleep | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$dir/root$(dirname "$lib")"
		cp -L "$lib" "$dir/root$lib"
	done
}

try "track-storm" "$probe" storm 400
try "track-storm-no-perf" "$probe" storm 100 no-perf
try "track-storm-own" "$probe" storm 100 own
if [ "$(id -u)" -eq 0 ]; then
	cp "$probe" "$dir/probe"
	chmod 755 "$dir" "$dir/probe"
	try "track-storm-own-unprivileged" setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$dir/probe" storm 100 own
fi
libz=$(ldconfig -p | awk '/libz\.so\.1 .*x86-64/ { print $NF; exit }')
libm=$(ldconfig -p | awk '/libm\.so\.6 .*x86-64/ { print $NF; exit }')
if [ -n "$libz" ] && [ -n "$libm" ]; then
	try "track-dlopen" "$probe" dlopen "$libz" zlibVersion "$libm" cos
else
	echo "skip track-dlopen: no libz and libm here"
fi

if [ "$(id -u)" -ne 0 ]; then
	echo "skip track-chroot: needs root"
	echo "skip track-namespace: needs root"
else
	make_root
	for mode in "" no-perf; do
		# shellcheck disable=SC2086 # no argument when empty
		try "track-chroot${mode:+-$mode}" "$probe" run $mode /bin/sleep -- \
			chroot "$dir/root" /opt/napper 60
	done
	if unshare -m -p -f true 2>/dev/null; then
		for mode in "" no-perf; do
			# shellcheck disable=SC2086
			try "track-namespace${mode:+-$mode}" "$probe" run $mode /bin/sleep -- \
				unshare -m -p -f --kill-child chroot "$dir/root" /opt/napper 60
		done
	else
		echo "skip track-namespace: unshare is refused"
	fi
fi
exit $failed
