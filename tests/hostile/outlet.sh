#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Five users of the service's group crowd pathprofd's socket: followers that never read and come
# back when they are sent away, askers in a loop, and some that only come and go. The relay, which
# comes after them as the user that systemd would make for it, hears of news and gets its figures all
# the while, pathprofd's CPU time stays bounded, and windows go on.
. "$(dirname "$0")/hostile_common.bash"
. "$(dirname "$0")/../rounds.bash"
[ "$(id -u)" -eq 0 ] || { echo "skip outlet: needs root, to be other users"; exit 0; }
command -v python3 >/dev/null || { echo "skip outlet: python3 is not installed"; exit 0; }

seconds=$(rounds 10 30)
cpu_most_percent=6 # of one CPU, more than without the crowd
group=64321
relay_user=61234 # systemd makes such
mkdir "$tmp/lib" "$tmp/state"
chgrp "$group" "$tmp/lib"
chmod 2750 "$tmp/lib"
chown "$relay_user" "$tmp/state"
db=$tmp/lib/p.db
# An address of its own, where no other test takes the port.
listen=127.$((RANDOM % 254 + 1)).$((RANDOM % 254 + 1)).$((RANDOM % 253 + 2)):9753
printf '[Profile]\nSource=step\nWindowSec=2\n[Metrics]\nListen=%s\n' "$listen" >"$tmp/p.conf"
chmod 644 "$tmp/p.conf"
for program in "$relay_program" "$hostile/outlet_crowd"; do
	cp "$program" "$tmp/"
	chmod 755 "$tmp/${program##*/}"
done
relay_program=$tmp/pathprof-relay
# The database and the socket are the group's, as the unit makes them.
printf '#!/bin/sh\numask 027\nexec setpriv --regid %s --clear-groups %s "$@"\n' "$group" "$pathprofd" \
	>"$tmp/as_group"
chmod 755 "$tmp/as_group"
pathprofd=$tmp/as_group

# What the relay tells systemd of itself.
python3 - "$tmp/notify" >"$tmp/notified" <<-'END' &
	import os, socket, sys
	listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	listener.bind(sys.argv[1])
	os.chmod(sys.argv[1], 0o666)
	while True:
	    print(listener.recv(4096).decode(), flush=True)
END
others+=("$!")
wait_for 20 test -S "$tmp/notify"

cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$daemon/stat"; }
# cpu_percent SECONDS: of one CPU, what the daemon takes from now on.
cpu_percent() {
	local before ticks=$(getconf CLK_TCK) begin=${EPOCHREALTIME/./}
	before=$(cpu_ticks)
	sleep "$1"
	awk -v t="$(($(cpu_ticks) - before))" -v hz="$ticks" -v us="$((${EPOCHREALTIME/./} - begin))" \
		'BEGIN { printf "%.2f", t / hz / us * 1e8 }'
}
get_figures() {
	no_proxy='*' python3 - "http://$listen/metrics" >"$tmp/metrics" 2>"$tmp/get.err" <<-'END'
		import sys, urllib.request
		print(urllib.request.urlopen(sys.argv[1], timeout=120).read().decode(), end="")
	END
	grep -q '^pathprof_up{source="step"} ' "$tmp/metrics"
}
follows() { tail -n 1 "$tmp/notified" | grep -q 'pathprofd is there'; }
lost() { grep -c 'pathprofd is away' "$tmp/notified" || true; }

start -c "$tmp/p.conf" --db "$db"
wait_for 60 has_windows 1
quiet=$(cpu_percent 4)

users="64401 64402 64403 64404 64405"
crowd=()
for user in $users; do
	setpriv --reuid "$user" --regid "$user" --groups "$group" --inh-caps=-all --bounding-set=-all \
		"$tmp/outlet_crowd" "$db.socket" 8 >"$tmp/crowd.$user" 2>&1 &
	crowd+=("$!")
	others+=("$!")
	wait_for 20 grep -qs crowding "$tmp/crowd.$user" || not_ok crowd "$(cat "$tmp/crowd.$user")"
done
sleep 2

as=(env "NOTIFY_SOCKET=$tmp/notify" setpriv --reuid "$relay_user" --regid "$relay_user"
	--groups "$group" --inh-caps=-all --bounding-set=-all --no-new-privs)
start_relay -c "$tmp/p.conf" --db "$db" --state "$tmp/state" || finish
check relay-follows "$(tail -n 1 "$tmp/notified")" wait_for 60 follows
was_lost=$(lost)
before=$(windows)
cpu_percent "$seconds" >"$tmp/crowded" &
others+=("$!")
got=0 asked=0
for ((i = 0; i < seconds; i++)); do
	asked=$((asked + 1))
	! get_figures || got=$((got + 1))
	sleep 0.7
done
wait "${others[-1]}"
crowded=$(cat "$tmp/crowded")
# The relay waits for an answer for five seconds, for which a busy machine may stand still once.
check relay-gets-figures "$got of $asked: $(tail -n 1 "$tmp/get.err") $(head -n 3 "$tmp/metrics")" \
	test "$got" -ge $((asked - 1))
check relay-goes-on-following "$(tail -n 3 "$tmp/notified")" \
	eval 'follows && [ "$(lost)" -eq "$was_lost" ]'
check cpu-bounded "$crowded % of a CPU, $quiet % without the crowd" \
	true_that "$crowded <= $quiet + $cpu_most_percent"
echo "# pathprofd takes $crowded % of a CPU with the crowd, $quiet % without"
wait_for 60 eval '[ "$(windows)" -gt "$before" ]' || true
check crowd-windows "none since" test "$(windows)" -gt "$before"
check crowd-memory "$(peak_mb) MB" memory_holds

# The crowd was there, and a user of it is answered at a pace.
for pid in "${crowd[@]}"; do kill "$pid" 2>/dev/null || true; done
for user in $users; do
	wait_for 20 grep -q answers "$tmp/crowd.$user" || true
	answers=$(sed -n 's/^answers //p' "$tmp/crowd.$user")
	check "crowd-$user-paced" "${answers:-no} answers: $(cat "$tmp/crowd.$user")" \
		true_that "${answers:-1e9} <= 8 + 2 * ($SECONDS + 1)"
done
stop_relay
check relay-ends-well "status $relay_status" test "$relay_status" -eq 0
finish
