# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the trace scenarios: where things are, and the ok / not ok / skip lines.

build=$(realpath "${BUILD:-build}")
tests_dir=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
tracer=$build/bin/pathprof-trace
dump=$build/tests/truth/trace_dump
truth=$build/tests/truth/trace_truth
workload_dir=$build/tests/workloads
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT

ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1: $2"
	failed=1
}

trace_needs() { # PROGRAM...
	local program
	for program; do
		[ -x "$program" ] && continue
		echo "not ok ${0##*/}: $program is not built"
		exit 1
	done
	[ -e "$build/lib/pathprof/trace-plugin.so" ] && return
	echo "not ok ${0##*/}: the plugin is not built"
	exit 1
}

trace_needs_qemu() {
	[ -x /usr/bin/qemu-x86_64 ] && return
	echo "skip ${0##*/}: no qemu-x86_64 (apt install qemu-user)"
	exit 0
}
