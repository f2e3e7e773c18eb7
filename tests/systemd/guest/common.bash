# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the parts that run in the guest. Times are those of an emulated machine on a busy host:
# every wait polls, and is there to end what hangs.
unit=pathprofd
settings=/etc/pathprof/pathprofd.conf.d
db=/var/lib/pathprof/profile.db

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: ${2//$'\n'/; }"; }
# check NAME WHY COMMAND...: one test. The reason is worked out only when it is needed: a command.
check() {
	local name=$1 why=$2
	shift 2
	if "$@" >/dev/null 2>&1; then ok "$name"; else not_ok "$name" "$(eval "$why" 2>&1 | tail -12)"; fi
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.3
	done
}

property() { systemctl show "$unit" -p "$1" --value; }
is_active() { systemctl is-active -q "$unit"; }
log_since() { journalctl -u "$unit" -o cat --no-pager --since "@$1"; }
said_since() { log_since "$1" | grep -qE -- "$2"; } # TIME PATTERN
now() { date +%s; }
status_of() { sqlite3 -cmd '.timeout 5000' -readonly "$db" "SELECT json_extract(json, '\$.$1') FROM daemon_status"; }
at_least() { [ "$(status_of "$1")" -ge "$2" ]; } # FIGURE LEAST

# fresh [SETTINGS]: the service stopped, without a past, with these settings in lines.
fresh() {
	systemctl stop "$unit"
	systemctl reset-failed "$unit" 2>/dev/null
	rm -rf "$settings" /var/lib/pathprof/*
	mkdir -p "$settings"
	[ $# -eq 0 ] || printf '%b' "$1" >"$settings/50-test.conf"
}
# Windows that end soon, at a rate that an emulated machine notices.
quick='[Profile]\nWindowSec=4s\nOverhead=20%\n'

# Samples that the source tried in vain to make bursts of.
tries() {
	sqlite3 -cmd '.timeout 5000' -readonly "$db" \
		"SELECT ifnull(sum(value), 0) FROM daemon_status, json_each(daemon_status.json, '\$.drops') WHERE key <> 'budget'"
}
# wait_for_bursts COMMAND...: until it succeeds. How many tries a burst takes depends on who else wants the
# host's CPUs, and how soon one may be tried on what it costs: so tries are counted, not seconds alone.
wait_for_bursts() {
	local begin=$SECONDS tries
	until "$@" >/dev/null 2>&1; do
		tries=$(tries)
		[ $((SECONDS - begin)) -lt 300 ] || [ "${tries:-0}" -lt 1000 ] || return 1
		[ $((SECONDS - begin)) -lt 900 ] || return 1
		sleep 1
	done
}

# work UNIT COMMAND...: runs it as a service until `rest UNIT`.
work() {
	local name=$1
	shift
	systemd-run -q --collect --unit="$name" "$@"
}
rest() { systemctl stop "$@" 2>/dev/null; }

# Two programs to be profiled, and whether both run and were never started again.
targets=(target1 target2)
start_targets() {
	local name
	for name in "${targets[@]}"; do work "$name" ./hot; done
}
targets_run() {
	local name
	for name in "${targets[@]}"; do
		[ "$(systemctl show "$name" -p ActiveState,NRestarts --value | paste -sd' ')" = '0 active' ] || return 1
	done
}

# Paths of a program are in the profile.
sees() { pathprofctl top --since -10min --by processes 2>/dev/null | grep -qw -- "$1"; }
