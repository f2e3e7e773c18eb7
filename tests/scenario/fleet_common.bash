# SPDX-License-Identifier: GPL-2.0-or-later
# Begins a scenario with a hub: sourced with `name` set and the tools that it needs as arguments. It goes on
# in a directory of its own, which goes at the end with the process `server`.
set -u
tests=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
build=$(realpath "${BUILD:-build}")
hub=$build/bin/pathprof-hub ctl=$build/bin/pathprofctl
for tool in "$@"; do
	command -v "$tool" >/dev/null || { echo "skip $name: no $tool" && exit 0; }
done
dir=$(mktemp -d)
server=
trap 'kill -9 $server 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
ok() { echo "ok $name: $1"; }
not_ok() { echo "not ok $name: $1: $2"; failed=1; }
# await_hub: until the hub, process `server`, says in hub.log that it listens. Sets port and url.
await_hub() {
	for _ in $(seq 3600); do
		grep -q listening hub.log || ! kill -0 "$server" 2>/dev/null && break
		sleep 0.05
	done
	port=$(sed -n 's/.*, port \([0-9]*\);.*/\1/p' hub.log)
	[ -n "$port" ] || { not_ok start "$(tail -n 1 hub.log)"; exit 1; }
	url=https://127.0.0.1:$port
}
# record_bursts NUMBER DATABASE COMMAND...: again until so many were seen, of which a busy machine
# gives few a run, and four times as many paths in them, of which a burst by single steps holds few.
record_bursts() {
	for _ in $(seq 100); do
		"$ctl" record -o "$2" --overhead 90% --hold 10ms --no-report -- "${@:3}" >/dev/null 2>said ||
			{ not_ok record "$(tail -n 1 said)"; exit 1; }
		[ "$(sqlite3 "$2" 'SELECT min((SELECT coalesce(sum(bursts), 0) FROM windows),
			(SELECT coalesce(sum(samples), 0) / 4 FROM path_counts))')" -lt "$1" ] || return 0
	done
	not_ok record "too few bursts or paths in $2"
	exit 1
}
# as_unit NAME: `as` runs a program under the calls and rights that systemd/NAME.service leaves it, where that
# can be had; tests/scenario/units.sh has the rest of what a unit says.
as_unit() {
	as=()
	if [ "$(id -u)" != 0 ] || ! command -v python3 systemd-analyze >/dev/null || ! ldconfig -p | grep -q 'libseccomp\.so\.2'; then
		echo "skip $name: as unit $1: not root, or no python3, systemd-analyze or libseccomp"
		return
	fi
	chmod 755 "$dir"
	as=(python3 "$tests/tools/as_unit" "$tests/../systemd/$1.service")
}
# Before such a program starts: what is here is its own, as a unit's state and credentials are.
own() { [ ${#as[@]} = 0 ] || chown -R 64999:64999 "$dir"; }
# is_confined PROCESS: it has no capability, and its calls are filtered.
is_confined() {
	[ ${#as[@]} = 0 ] || { grep -q '^CapBnd:[[:space:]]*0*$' "/proc/$1/status" && grep -q '^CapEff:[[:space:]]*0*$' "/proc/$1/status" &&
		grep -q '^Seccomp:[[:space:]]*2' "/proc/$1/status"; }
}
