#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the step source does to somebody's latency: pgbench at 200 transactions a second on a database
# of its own, in turns without and with the daemon at a budget of LATENCY_OVERHEAD (default 10%) and
# holds of LATENCY_HOLD at most (default: the daemon's). It sees only the processes of its namespace.
# LATENCY_S seconds a turn (default 30), LATENCY_TURNS turns of each (default 4). The percentiles are
# of all turns of a kind together.
. "$(dirname "$0")/../own_processes.bash"
set -eu
build=$(realpath "${BUILD:-build}")
seconds=${LATENCY_S:-30}
turns=${LATENCY_TURNS:-4}
overhead=${LATENCY_OVERHEAD:-10%}
hold=${LATENCY_HOLD:-}
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
[ -n "$bin" ] || { echo "bench_latency: install postgresql"; exit 1; }
work=$(mktemp -d)
daemon=
cleanup() {
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
	as_postgres "$bin/pg_ctl" -s -D "$work/db" -m immediate stop >/dev/null 2>&1 || true
	wait 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
as_postgres() { (cd "$work" && setpriv --reuid postgres --regid postgres --clear-groups "$@"); }

chown postgres "$work"
as_postgres "$bin/initdb" -D "$work/db" >"$work/log"
as_postgres "$bin/pg_ctl" -s -w -D "$work/db" -l "$work/db.log" \
	-o "-k $work -c listen_addresses='' -c synchronous_commit=off" start
as_postgres "$bin/pgbench" -q -h "$work" -i -s 10 postgres >"$work/log" 2>&1

turn() { # without|with NUMBER
	if [ "$1" = with ]; then
		printf '[Profile]\n%s\n' "${hold:+HoldMaxSec=$hold}" >"$work/conf"
		"$build/bin/pathprofd" -c "$work/conf" --db "$work/p.db" --overhead "$overhead" 2>"$work/daemon.log" &
		daemon=$!
		sleep 2
	fi
	as_postgres "$bin/pgbench" -h "$work" -n -c 4 -j 1 -R 200 -T "$seconds" -l \
		--log-prefix="$work/$1.$2" postgres >"$work/log" 2>&1
	if [ -n "$daemon" ]; then
		kill "$daemon"
		wait "$daemon" || true
		daemon=
	fi
}

for number in $(seq "$turns"); do
	turn without "$number"
	turn with "$number"
done
for kind in without with; do
	# Latencies in microseconds, the wait for the schedule included.
	cat "$work/$kind".* | awk '{ print $3 }' | sort -n | awk -v kind="$kind" '{ us[NR] = $1 }
		END { printf "%-8s %6d transactions, p50 %.2f ms, p90 %.2f, p99 %.2f, p99.9 %.2f\n", kind, NR,
			us[int(NR * .5) + 1] / 1e3, us[int(NR * .9) + 1] / 1e3, us[int(NR * .99) + 1] / 1e3,
			us[int(NR * .999) + 1] / 1e3 }'
done
