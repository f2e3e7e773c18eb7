#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Units of systemd as `make install` places them: systemd takes each word of them, each exposes no more than
# it has to, those that speak to a network are nobody in particular, without a capability, and the page of the hub says how the
# files of settings and keys come about. What runs under them: fleet_names, fleet_pgo, fleet_alerts.
set -u
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
. tests/vm/common.bash
command -v systemd-analyze >/dev/null || { echo "skip units: no systemd-analyze here" && exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make -s BUILD="$build" DESTDIR="$work" PREFIX=/usr install-programs >"$work/log" 2>&1 || { not_ok units_install "$(tail -n 1 "$work/log")"; exit 1; }
placed=$work/usr/lib/systemd/system
# The programs where they lie.
sed -i "s|=/usr/bin/|=$work/usr/bin/|" "$placed"/*.service
verdict() { # NAME DETAIL COMMAND...
	if "${@:3}"; then ok "$1"; else not_ok "$1" "$2"; fi
}
setting() { sed -n "s/^$2=//p" "$1" | tail -n 1; }
exposure() { systemd-analyze security --offline=true --no-pager "$1" | sed -nE 's/.*exposure level for [^:]*: ([0-9.]+).*/\1/p'; }
# The answers of systemd-analyze on capabilities and on who it is, a line each: NAME true|false.
rights() { systemd-analyze security --offline=true --no-pager --json=short "$1" |
	sed 's/},{/\n/g' | sed -nE 's/.*"set":([a-z]*),"name":"((CapabilityBoundingSet|AmbientCapabilities|User)[^"]*)".*/\2 \1/p'; }

for unit in "$placed"/*.service; do
	name=$(basename "$unit" .service) most=2.0
	[ "$name" != pathprofd ] || most=2.5
	SYSTEMD_UNIT_PATH=$placed: timeout 60 systemd-analyze verify --man=no "$unit" >"$work/said" 2>&1
	verdict "units_verify_$name" "$(head -n 3 "$work/said" | paste -sd ';')" eval '! grep -q pathprof "$work/said"'
	score=$(exposure "$unit")
	verdict "units_exposure_$name" "$score of 10" awk "BEGIN { exit !(\"$score\" != \"\" && ${score:-10} <= $most) }"
	[ "$name" != pathprofd ] || continue
	rights "$unit" >"$work/rights"
	verdict "units_nobody_$name" "$(grep -v ' true$' "$work/rights" | paste -sd ';')" eval \
		'[ $(wc -l <"$work/rights") -gt 10 ] && ! grep -qv " true$" "$work/rights"'
	verdict "units_restart_$name" "a usage error is tried again and again" eval '[[ " $(setting "$unit" RestartPreventExitStatus) " == *" 2 "* ]]'
done
for file in /etc/pathprof/hub.env /etc/pathprof/hub.pem /etc/pathprof/hub-key.pem /etc/pathprof/ca.pem /etc/pathprof/send.env /etc/pathprof/host.pem /etc/pathprof/host-key.pem /etc/pathprof/hub.conf; do
	grep -q "$file" "$placed"/pathprof-hub*.service "$placed/pathprof-send.service" || not_ok units_files "$file: no unit reads it"
	verdict "units_says_${file##*/}" "docs/man/pathprof-hub.8 does not say what makes $file" grep -Eq "$(sed 's|.*/||; s|-|\\\\?-|' <<<"$file")" docs/man/pathprof-hub.8
done
finish
