# SPDX-License-Identifier: GPL-2.0-or-later
#
# Shared by the scenarios of pathprofctl. The caller sets `name`; afterwards there are $dir (gone at
# the end), $ctl, $known (writes the known database), fail, expect and finish.
. "$(dirname "${BASH_SOURCE[0]}")/../own_processes.bash"
BUILD=${BUILD:-build}
BUILD=$(realpath "$BUILD")
ctl=${PATHPROFCTL:-$BUILD/bin/pathprofctl}
known=$BUILD/tests/tools/ctl_known_db
dir=$(mktemp -d)
cleanup() { rm -rf "$dir"; }
trap cleanup EXIT

export TZ=UTC LC_ALL=C XDG_STATE_HOME=$dir/state
unset PATHPROF_DB XDG_STATE_HOME NO_COLOR DEBUGINFOD_URLS || true

fail() {
	echo "not ok $name: $1"
	exit 1
}

finish() {
	echo "ok $name"
}

[ -x "$ctl" ] || fail "$ctl is not built"
[ -x "$known" ] || fail "$known is not built"

# expect WHAT: $dir/want and $dir/got are the same, or the difference is shown.
expect() {
	diff -u "$dir/want" "$dir/got" >"$dir/diff" && return
	cat "$dir/diff"
	fail "$1"
}

# run EXPECTED_STATUS ARGS...: output in $dir/got, diagnostics in $dir/said.
run() {
	local want=$1 status=0
	shift
	"$ctl" "$@" >"$dir/got" 2>"$dir/said" </dev/null || status=$?
	[ "$status" = "$want" ] || {
		cat "$dir/said"
		fail "pathprofctl $*: exit status $status, expected $want"
	}
}
