# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh: the clock is set forward and back by hours while the service runs. Windows
# keep their length, retention removes none for it, drift and alerts say nothing, no figure is
# negative. In the guest, for a host's clock is everybody's.
. ./service_common.sh
clock_db=/tmp/clocks.db

set_clock() { date -s "@$(($(date +%s) + $1))" >/dev/null; }

# A window more than there are, that began after the clock was set.
await_windows() { # CNT
	local tries
	for tries in $(seq 40); do
		sleep 1
		[ "$(status_figure $clock_db windows)" -ge "$1" ] 2>/dev/null && return
	done
	return 1
}

# Lengths of the windows stored, in tenths of seconds.
lengths() {
	show $clock_db windows --json | sed -nE 's/.*"begin_ns": (-?[0-9]+).*"end_ns": (-?[0-9]+).*/\1 \2/p' |
		awk '{ printf "%d ", ($2 - $1) / 1e8 }'
}

across_clocks() {
	local pid stored out by child
	printf '[Profile]\nSource=step\nOverhead=20%%\nWindowSec=2\n[Store]\nMaxRetentionSec=1h\n' >/tmp/clocks.conf
	./vmflow "$endless" >/tmp/out 2>&1 &
	child=$!
	./pathprofd -c /tmp/clocks.conf --db $clock_db 2>/tmp/daemon &
	pid=$!
	await_windows 2 || not_ok clocks_first "$(tail -2 /tmp/daemon | tr '\n' ';')"
	for by in 14400 -14400 -7200 7200; do
		# long enough for retention to look, once each half minute, by a clock that is wrong
		[ "$by" != -14400 ] || sleep 32
		stored=$(status_figure $clock_db windows)
		set_clock $by
		await_windows $((stored + 2)) || not_ok clocks_goes_on "no window after $by s"
	done
	stored=$(status_figure $clock_db windows)
	out=$(lengths)
	kill -TERM $pid
	if wait $pid; then ok clocks_alive; else not_ok clocks_alive "$(tail -2 /tmp/daemon | tr '\n' ';')"; fi
	kill -9 $child
	wait $child 2>/dev/null
	# an emulated machine on a busy host may be late by seconds, and the next window is short then, but
	# not by hours; the last one, which stands first, is cut short by the end
	if echo "$out" | tr ' ' '\n' | grep . | awk 'NR > 1 && ($1 < 0 || $1 > 600) { bad = 1 } END { exit bad || NR < 8 }'; then
		ok "clocks_lengths ($out tenths of seconds)"
	else
		not_ok clocks_lengths "$out tenths of seconds"
	fi
	if [ "$(status_figure $clock_db windows_removed)" = 0 ]; then ok "clocks_kept ($stored windows)"; else
		not_ok clocks_kept "$(status_figure $clock_db windows_removed) of $stored windows removed"
	fi
	if [ "$(grep -c 'the clock was set' /tmp/daemon)" = 4 ]; then ok clocks_told; else
		not_ok clocks_told "$(tr '\n' ';' </tmp/daemon)"
	fi
	if show $clock_db alerts --json | grep -q firing; then
		not_ok clocks_quiet "$(show $clock_db alerts | head -3 | tr '\n' ';')"
	else
		ok clocks_quiet
	fi
	if show $clock_db status --json | grep -E '": -[0-9]' >/tmp/negative ||
		show $clock_db paths --json | grep -E '": -[0-9]' >/tmp/negative; then
		not_ok clocks_negative "$(head -1 /tmp/negative)"
	else
		ok clocks_negative
	fi
	sed 's/^/#   /' /tmp/daemon
}
across_clocks
