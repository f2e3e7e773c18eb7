#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The fleet on one machine, as `pathprof-hub demo` and `make run-fleet` show it: three hosts are at the
# hub, with what each of them recorded, and the commands that it ends with work.
set -u
name=fleet_demo
. "$(dirname "$0")/../own_processes.bash"
build=$(realpath "${BUILD:-build}")
export TMPDIR=$(mktemp -d)
cd "$TMPDIR" || exit 1
made=
trap 'rm -rf "$TMPDIR" $made' EXIT
failed=0
ok() { echo "ok $name: $1"; }
not_ok() { echo "not ok $name: $1: $2"; failed=1; }

timeout 1500 "$build/bin/pathprof-hub" demo >said 2>&1 && ok "it ends well" || not_ok "it ends well" "$(tail -n 2 said | paste -sd ' ')"
made=$(sed -n 's/^What was made is in \([^ ]*\): .*/\1/p' said)
[ -n "$made" ] && [ -e "$made/fleet.db" ] && ok "what it made is there" || { not_ok "what it made" "$(tail -n 1 said)"; exit 1; }
hosts=$(sqlite3 "$made/fleet.db" "SELECT group_concat(host, ' ') FROM (SELECT host FROM parcels GROUP BY host ORDER BY host)")
[ "$hosts" = "web1 web2 web3" ] && ok "three hosts" || not_ok "three hosts" "$hosts"
own() { sqlite3 "$1" "SELECT sum(samples) FROM path_counts"; }
sum=$(($(own "$made/web1.db") + $(own "$made/web2.db") + $(own "$made/web3.db")))
[ "$sum" -gt 0 ] && [ "$(own "$made/fleet.db")" = "$sum" ] && ok "$sum samples" || not_ok "samples" "$(own "$made/fleet.db") at the hub, $sum at the hosts"
sed -n '/otherwise than the rest, and in what/,/^$/p' said | grep -q '^web3 .*gzip.* -> ' && ok "web3 is the odd one" || not_ok "the odd one" "$(sed -n '/in what/,/Try/p' said | paste -sd '|')"
! sed -n '/otherwise than the rest, and in what/,/^$/p' said | grep -qE '^web[12] ' && ok "no other is" || not_ok "another odd one" "$(sed -n '/in what/,/Try/p' said | paste -sd '|')"
tried=0
while read -r words; do
	eval "$words" >out 2>&1 || not_ok "$words" "$(tail -n 1 out)"
	tried=$((tried + 1))
done < <(sed -n 's/^  \(.*\/pathprof.*\)/\1/p' said)
mkdir alone && cp "$build/bin/pathprof-hub" alone
! alone/pathprof-hub demo >out 2>&1 && grep -q "^pathprof-hub: demo: .*/alone/pathprofctl: No such file" out && ok "it says what it lacks" || not_ok "without pathprofctl" "$(tail -n 1 out)"
[ "$tried" -eq 3 ] && ok "$tried commands to try" || not_ok "commands to try" "$tried of 3"
exit $failed
