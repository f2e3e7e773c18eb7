#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The programs that `make run` starts: the live screen, and after it, as after the report, one path
# in full, which says so where it is cut, and what to try next.
. "$(dirname "$0")/daemon_common.bash"

command -v tmux >/dev/null || { echo "skip demo: tmux is not installed"; exit 0; }
export BUILD IDLE_PERCENT=0 PATH_LINES=3 LC_ALL=C.UTF-8 TERM=screen
start_busy

screen() { tmux -S "$tmp/tmux" "$@"; }
leave_screen() {
	screen kill-server 2>/dev/null || true
	cleanup
}
trap leave_screen EXIT
shows() {
	screen capture-pane -p -S -200 >"$tmp/screen"
	grep -q "$1" "$tmp/screen"
}
# ends_well FILE: what the reader needs to go on is in it.
ends_well() {
	grep -q '^== pathprofctl show [0-9]*: a path, whole ==' "$1" &&
		grep -Eq '^\.\.\. \([0-9]+ of [0-9]+ lines are left out\)$' "$1" &&
		[ "$(grep -Ec '^  .*(pathprofctl record|pathprofctl doctor|make install)' "$1")" -eq 3 ]
}

screen -f /dev/null new-session -d -x 110 -y 30 "'$here/tools/demo'; echo left with \$?; sleep 600"
check live-shows-paths "$(cat "$tmp/screen" 2>/dev/null)" wait_for 120 shows "[0-9]%  █"
screen send-keys q
check live-leaves "$(cat "$tmp/screen")" wait_for 60 shows 'left with 0'
check live-ends-as-the-report "$(cat "$tmp/screen")" ends_well "$tmp/screen"
screen kill-server

# A busy machine sees nothing in so short a time: then it watches for longer.
for seconds in 8 30 120; do
	DURATION=$seconds "$here/tools/demo" >"$tmp/report" 2>&1 </dev/null || not_ok report "status $?"
	! ends_well "$tmp/report" || break
done
check report-ends "$(cat "$tmp/report")" ends_well "$tmp/report"
check report-has-views "$(cat "$tmp/report")" grep -q '^== hottest functions ==' "$tmp/report"

# A daemon that begins when it is said that it is waited for.
mkdir -p "$tmp/late/bin"
ln -s "$(realpath "$BUILD")"/bin/* "$tmp/late/bin"
rm "$tmp/late/bin/pathprofd"
cat >"$tmp/late/bin/pathprofd" <<END
#!/bin/sh
until grep -q 'waits for pathprofd: its database is not there yet' "$tmp/late/said"; do sleep 0.1; done
exec "$(realpath "$BUILD")/bin/pathprofd" "\$@"
END
chmod +x "$tmp/late/bin/pathprofd"
: >"$tmp/late/said"
BUILD=$tmp/late DURATION=4 "$here/tools/demo" >"$tmp/late/said" 2>&1 </dev/null || not_ok late-daemon "status $?"
check late-daemon-is-waited-for "$(cat "$tmp/late/said")" grep -q '^== hottest functions ==' "$tmp/late/said"

# One that ends while it is watched: what it said is told. Its database is "there" once it has ended.
mkdir -p "$tmp/ended/bin"
cat >"$tmp/ended/bin/pathprofd" <<END
#!/bin/sh
echo \$\$ >"$tmp/ended/pid"
echo none >"\$2"
echo 'a reason of its own' >&2
exit 7
END
cat >"$tmp/ended/bin/pathprofctl" <<END
#!/bin/sh
while grep -q '^State:.[^Z]' "/proc/\$(cat "$tmp/ended/pid")/status" 2>/dev/null; do sleep 0.1; done
END
chmod +x "$tmp"/ended/bin/*
status=0
BUILD=$tmp/ended DURATION=1 "$here/tools/demo" >"$tmp/ended/said" 2>&1 </dev/null || status=$?
check ended-daemon "status $status, $(cat "$tmp/ended/said")" [ $status = 1 ]
check ended-daemon-is-told "$(cat "$tmp/ended/said")" grep -q '^a reason of its own$' "$tmp/ended/said"
finish
