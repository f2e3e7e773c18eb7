#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An old agent at a new hub and a new agent at an old hub, both of programs that are built of this tree's own
# history: sums to the count, nothing sent twice, an old hub's database taken over, and a newer one refused.
. "$(dirname "$0")/../own_processes.bash"
name=fleet_versions
tree=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/fleet_common.bash" sqlite3 git make gcc
git -C "$tree" rev-parse HEAD >/dev/null 2>&1 || { echo "skip $name: no history here" && exit 0; }
export TZ=UTC LC_ALL=C

# The first hub there was, and those of before names, windows that are known one by one, and labels.
added() { git -C "$tree" log --diff-filter=A --format=%H -- "$1" | tail -n 1; }
versions() {
	added tools/hub/send.c
	for file in libprofile/src/parcel/parcel_names.c schema/sqlite/0013_recorded.sql schema/sqlite/0015_labels.sql; do
		git -C "$tree" rev-parse "$(added $file)~1"
	done
}
[ -n "$(added tools/hub/send.c)" ] || { echo "skip $name: the history here is cut off" && exit 0; }

sums() { # DATABASE: a line for each path and edge
	sqlite3 -separator ' ' "$1" "
		SELECT 'path', hex(b.build_id), t.start, t.length, t.outcomes, p.comm, sum(c.samples), printf('%.6e', total(c.weight))
			FROM path_counts c JOIN paths t ON t.id = c.path JOIN binaries b ON b.id = t.binary
			JOIN processes p ON p.id = c.process GROUP BY 1, 2, 3, 4, 5, 6;
		SELECT 'edge', hex(f.build_id), e.from_offset, hex(b.build_id), e.to_offset, p.comm, sum(c.count), 0
			FROM edge_counts c JOIN edges e ON e.id = c.edge JOIN binaries f ON f.id = e.from_binary
			JOIN binaries b ON b.id = e.to_binary JOIN processes p ON p.id = c.process GROUP BY 1, 2, 3, 4, 5, 6;
		SELECT 'total', sum(bursts), sum(branches), sum(clock_samples) FROM windows"
}
same() { # WHAT DATABASE-OF-THE-HOST DATABASE-OF-THE-HUB
	sums "$2" >want
	sums "$3" >got
	grep -q ^path want && cmp -s want got && ok "$1: $(awk '/^path/ { n += $7 } END { print n }' got) samples" ||
		not_ok "$1" "$(diff want got | head -n 3 | paste -sd ';')"
}
start() { # PROGRAM DATABASE
	: >hub.log
	"$1" serve --db "$2" --listen "127.0.0.1:${port:-0}" --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem --keep 3650 >hub.log 2>&1 &
	server=$!
	for _ in $(seq 600); do
		grep -q listening hub.log && break
		kill -0 $server 2>/dev/null || break
		sleep 0.05
	done
	port=$(sed -n 's/.*, port \([0-9]*\);.*/\1/p' hub.log)
	[ -n "$port" ] || not_ok start "$(tail -n 1 hub.log)"
}
stop() { kill -TERM $server; wait $server 2>/dev/null; }
send() { # PROGRAM DATABASE [OPTION...]: what it says of the last round
	local program=$1 db=$2
	shift 2
	"$program" send --once --db "$db" --hub "https://127.0.0.1:$port" --cert ca/host1.pem --key ca/host1-key.pem --ca ca/ca.pem "$@" >sent 2>said
}
sends() { # WHAT COUNT PROGRAM DATABASE [OPTION...]
	local what=$1 count=$2
	send "${@:3}" && grep -q "^$count parcels* sent" sent && ok "$what: $(cat sent)" || not_ok "$what" "$(cat sent said | head -n 2 | paste -sd ';')"
}
"$hub" ca ca && "$hub" enrol ca hub --server --address 127.0.0.1 && "$hub" enrol ca host1 || { not_ok ca "none is made"; exit 1; }
"$build/tests/tools/ctl_known_db" new.db
slots=$(sqlite3 new.db "SELECT count(DISTINCT end_ns / 300000000000) FROM windows")

for version in ${VERSIONS:-$(versions | awk '!seen[$0]++')}; do
	at=${version:0:8}
	git clone -q --shared --no-checkout "$tree" "$at" && git -C "$at" checkout -q "$version" &&
		env -u BUILD -u MAKEFLAGS -u MFLAGS make -C "$at" -j"$(nproc)" build/bin/pathprof-hub build/tests/tools/ctl_known_db >make.log 2>&1 || { not_ok "$at" "$(tail -n 1 make.log)"; continue; }
	old=$at/build/bin/pathprof-hub
	"$at/build/tests/tools/ctl_known_db" "$at.db"

	start "$hub" "$at.newhub"
	sends "an agent of $at at this hub" "$slots" "$old" "$at.db"
	sends "and it sends nothing again" 0 "$old" "$at.db"
	stop
	same "an agent of $at at this hub" "$at.db" "$at.newhub"

	start "$old" "$at.oldhub"
	sends "this agent at a hub of $at" "$slots" "$hub" new.db --labels "dc=ams group=web"
	sends "and it sends nothing again" 0 "$hub" new.db --labels "dc=ams group=web"
	stop
	same "this agent at a hub of $at" new.db "$at.oldhub"

	# The hub is brought up to date: it has what it had, and hosts send nothing again.
	start "$hub" "$at.oldhub"
	sends "to a hub of $at that was brought up to date" 0 "$hub" new.db
	stop
	same "a hub of $at that was brought up to date" new.db "$at.oldhub"
	"$ctl" --db "$at.oldhub" db check >said 2>&1 || not_ok "the database of $at" "$(tail -n 1 said)"
	! "$old" serve --db "$at.oldhub" --listen 127.0.0.1:0 --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem >said 2>&1 &&
		grep -q 'newer pathprof' said && ok "a hub of $at refuses a newer database" || not_ok "a newer database" "$(tail -n 1 said)"
	rm -rf "$at"
done
exit $failed
