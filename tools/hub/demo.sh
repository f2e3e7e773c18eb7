#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A fleet on one machine: a hub, three hosts that record a program each, and what the hub then knows of
# them. Two hosts compress alike, the third another way. `pathprof-hub demo` holds it and gives it the
# path of pathprofctl. What it made stays in a directory, for the commands that it ends with.
set -eu
bin=$(dirname "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/pathprof-fleet.XXXXXX")
hub=
finish() {
	[ -z "$hub" ] || kill "$hub" 2>/dev/null || :
	[ -z "$hub" ] || wait "$hub" 2>/dev/null || :
}
trap finish EXIT
trap 'exit 130' INT TERM
cd "$work"
ctl() { "$bin/pathprofctl" "$@"; }
say() { printf '\n== %s ==\n' "$1"; }

say 'certificates: an authority, the hub, three hosts, a reader'
"$bin/pathprof-hub" ca ca
"$bin/pathprof-hub" enrol ca hub --server --address 127.0.0.1
for host in web1 web2 web3; do "$bin/pathprof-hub" enrol ca $host; done
"$bin/pathprof-hub" enrol ca reader --reader
ls ca

say 'three hosts record'
cat "$bin"/pathprof* | head -c 4000000 >text
# Each host works for so much CPU time, however quick the machine is: outliers wants 50 samples of a host.
cat >work <<'END'
cpu_s() { read -r line </proc/$$/stat; set -- $line; echo $((${16} / 100)); }
while [ "$(cpu_s)" -lt 3 ]; do gzip $1 <text; done >/dev/null
END
for host in web1 web2 web3; do
	how=-6
	[ $host != web3 ] || how=-1
	ctl record -o $host.db --overhead 50% --hold 10ms --no-report -- sh work $how
done

say 'they send to the hub, over TLS'
: >log
"$bin/pathprof-hub" serve --db fleet.db --listen 127.0.0.1:0 --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem 2>log &
hub=$!
tries=0
until grep -q listening log; do
	kill -0 "$hub" 2>/dev/null || { cat log >&2; exit 1; }
	tries=$((tries + 1))
	[ "$tries" -ne 20 ] || echo "waits for the hub to listen (process $hub)"
	sleep 0.1
done
cat log
url=https://127.0.0.1:$(sed -n 's/.*, port \([0-9]*\);.*/\1/p' log)
for host in web1 web2 web3; do
	printf '%s: ' $host
	"$bin/pathprof-hub" send --once --db $host.db --hub "$url" --cert ca/$host.pem --key ca/$host-key.pem --ca ca/ca.pem
done

ask() { ctl --hub "$url" --certificates ca "$@"; }
say 'a reader asks the hub: the fleet'
ask hosts
say 'its hottest functions, over all hosts'
ask top --by functions --limit 8
say 'those of web3, which compresses another way'
ask top --by functions --limit 5 --host web3
say 'which host runs it otherwise than the rest, and in what'
ask outliers
cat <<END

Try:
  $bin/pathprofctl --db $work/fleet.db paths --since @0 --host web1
  $bin/pathprofctl --db $work/fleet.db compare host:web1 host:web3
  $bin/pathprof-hub --help
What was made is in $work: rm -r it when done.
END
