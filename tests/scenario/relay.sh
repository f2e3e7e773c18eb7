#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pathprof-relay, told what happens by a stand-in for pathprofd: every message arrives, and none
# twice, whoever is killed meanwhile; one sink that is slow or down does not hold up another; it
# needs no right but the group's. What it cannot do it says in a line.
. "$(dirname "$0")/relay_common.bash"

# A real pathprofd whose settings need a relay, and none comes: looked at in the end.
if [ "$(id -u)" -eq 0 ]; then
	printf '[Profile]\nSource=step\n[Tell]\nWebhook=%s/hook\n[Metrics]\nListen=127.0.0.1:1\n' \
		"$url" >"$tmp/real.conf"
	"$pathprofd" -c "$tmp/real.conf" --db "$tmp/real.db" 2>"$tmp/real.log" &
	real=$!
fi

# ---------------------------------------------------------------- an alert's life

settings "[Tell]\nWebhook=$url/hook\n"
start_writer
happens 'fire /bin/before'
happens 'resolve /bin/before'
happens 'fire /bin/still'
relay || finish
check new-sink-is-told-what-fires "$(cat "$tmp/hook")" wait_for 20 is_told 'firing /bin/still' 1
happens 'fire /bin/one'
begin=${EPOCHREALTIME/./}
wait_for 20 is_told 'firing /bin/one' 1 || true
echo "# told after $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
happens 'resolve /bin/one'
check told "$(cat "$tmp/hook" "$tmp/relay.log")" wait_for 20 is_told 'resolved /bin/one' 1
check no-history "$(cat "$tmp/hook")" test "$(told '.*/bin/before')" -eq 0

# ---------------------------------------------------------------- kills

# kill_both CNT PREFIX: in turn the relay, both, and the writer, each after another alert.
kill_both() {
	for ((i = 1; i <= $1; i++)); do
		happens "fire /bin/$2-$i"
		sleep "0.$((RANDOM % 4))"
		if [ $((i % 3)) -ne 0 ]; then stop_relay KILL; fi
		if [ $((i % 3)) -ne 1 ]; then
			kill_writer
			start_writer
		fi
		[ -n "$relay" ] || relay
	done
}
is_now hook 503
kill_both 18 down
check down-untold "$(cat "$tmp/hook")" test "$(told 'firing /bin/down-.*')" -eq 0
check down-was-tried "never" wait_for 60 test -s "$tmp/hook.asked"
is_now hook 200
check kills-all-arrive "$(cat "$tmp/hook" "$tmp/relay.log")" \
	wait_for 300 is_told 'firing /bin/down-.*' 18
# Messages that the webhook took just before the first kill may not be noted yet: as below.
twice_down() { twice hook | grep down- || true; }
check kills-none-twice "$(twice_down)" test -z "$(twice_down)"
check kills-in-order "$(cat "$tmp/hook")" \
	test -z "$(grep -o 'down-.*' "$tmp/hook" | sort -c -V 2>&1)"

# With all receivers up, too, every message arrives, and at most one a kill is sent twice.
kill_both 18 up
all_up() { [ "$(grep -x 'firing /bin/up-.*' "$tmp/hook" | sort -u | wc -l)" -eq 18 ]; }
check up-all-arrive "$(cat "$tmp/hook")" wait_for 300 all_up
again=$(twice hook | wc -l)
echo "# told twice by 12 kills of the relay, deliveries under way: $again"
check up-twice-at-most-once-a-kill "$again" test "$again" -le 12
stop_relay
check relay-ends-well "status $relay_status: $(tail -3 "$tmp/relay.log")" test "$relay_status" -eq 0

# ---------------------------------------------------------------- many, and slow ones

# The webhook says nothing for as long as it may; the other sinks and the endpoint go on.
listen=127.0.0.1:$(free_port)
cat >"$tmp/hook.sh" <<-END
	#!/bin/sh
	sed -E 's/.*"status":"([a-z]*)".*"binary":"([^"]*)".*/\1 \2/' >>$tmp/hooked
	echo >>$tmp/hooked
END
chmod 755 "$tmp/hook.sh"
: >"$tmp/hooked"
settings "[Tell]\nWebhook=$url/hook\nAlertmanager=$url/manager\nExec=$tmp/hook.sh
[Metrics]\nListen=$listen\n"
relay
check new-hook-is-told-what-fires "$(cat "$tmp/hooked")" wait_for 300 is_told 'firing .*' 37 hooked
is_now hook hang
happens 'fire /bin/slow'
check slow-others-are-told "$(cat "$tmp/relay.log")" wait_for 12 is_told 'firing /bin/slow' 1 hooked
check slow-manager-is-told "$(cat "$tmp/manager")" wait_for 12 is_told 'alert /bin/slow' 1 manager
check slow-metrics "$(cat "$tmp/get.err")" get_figures
check slow-is-shown "$(cat "$tmp/metrics")" test "$(figure 'tell_queued{sink="webhook"}')" = 1
check figures-of-pathprofd "$(cat "$tmp/metrics")" wait_for 60 is_up
# An alert that fires during a try of the webhook reaches the others before the try is given up;
# repeated if a busy machine took as long.
tries() { cat "$tmp/hook.$1" 2>/dev/null | wc -l; }
is_trying() { [ "$(tries hangs)" -gt "$(tries left)" ]; }
beside=no
for again in 1 2 3 4 5 6; do
	wait_for 120 is_trying || break
	left=$(tries left)
	is_trying || continue
	happens "fire /bin/beside-$again"
	wait_for 120 is_told "firing /bin/beside-$again" 1 hooked && wait_for 120 is_told "alert /bin/beside-$again" 1 manager || break
	[ "$(tries left)" != "$left" ] || { beside=yes && break; }
done
check others-did-not-wait "$(tries left) of $(tries hangs) tries of the webhook were given up" test $beside = yes
if command -v promtool >/dev/null; then
	check promtool "$(promtool check metrics <"$tmp/metrics" 2>&1 | head -3)" \
		promtool check metrics <"$tmp/metrics"
else
	echo "skip promtool: not installed"
fi

# More than a queue holds, while the webhook is silent: the store is the queue.
happens 'many 600'
check many-hooked "$(wc -l <"$tmp/hooked")" wait_for 600 is_told 'firing /bin/many-.*' 600 hooked
is_now hook 200
check many-posted "$(wc -l <"$tmp/hook")" wait_for 600 is_told 'firing /bin/many-.*' 600
check many-none-twice "$(grep many "$tmp/hooked" | sort | uniq -d | head -3)" \
	test -z "$(grep many "$tmp/hooked" | sort | uniq -d)"
get_figures
check many-none-dropped "$(cat "$tmp/metrics")" test \
	"$(figure 'tell_dropped_total{sink="webhook"}') $(figure 'tell_missed_total{sink="webhook"}')" \
	= '0 0'
stop_relay

# A receiver that is new is told all that fires, though that is more than its queue holds.
fires=$(told 'firing .*' hooked)
old_state=$state state=$tmp/new-state
: >"$tmp/hook"
settings "[Tell]\nWebhook=$url/hook\n"
relay
check new-sink-is-told-all "$(wc -l <"$tmp/hook") of $fires" \
	wait_for 300 is_told 'firing .*' "$fires"
stop_relay
state=$old_state

# A parent that ignores SIGCHLD, which is inherited, changes nothing: how a hook ended is known. Hooks run
# in the order of their alerts, so all tries of the first are over when the second is told.
as_before=("${as[@]}")
as+=(python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])')
settings "[Tell]\nExec=$tmp/hook.sh\nWebhook=$url/hook\n"
relay
as=("${as_before[@]}")
happens 'fire /bin/ignored'
happens 'fire /bin/behind'
check ignored-child-is-known "$(cat "$tmp/relay.log")" wait_for 300 is_told 'firing /bin/behind' 1 hooked
check ignored-child-posted "$(cat "$tmp/relay.log")" wait_for 300 is_told 'firing /bin/behind' 1
check ignored-child-once "$(grep 'ended, but how' "$tmp/relay.log" | head -1)" test "$(told 'firing /bin/ignored' hooked)" = 1
stop_relay

# ---------------------------------------------------------------- pathprofd's end

settings "[Tell]\nWebhook=$url/hook\n[Metrics]\nListen=$listen\n"
relay
kill -STOP "$daemon"
check silent-is-answered "$(cat "$tmp/get.err")" get_figures
check silent-up-0 "$(head -3 "$tmp/metrics")" test "$(figure up)" = 0
check silent-own-figures "$(cat "$tmp/metrics")" \
	test "$(figure 'tell_told_total{sink="webhook"}')" = 0
kill -CONT "$daemon"
check answers-again "$(head -3 "$tmp/metrics")" wait_for 60 is_up
kill_writer
get_figures
check gone-up-0 "$(head -3 "$tmp/metrics")" test "$(figure up)" = 0
start_writer
happens 'fire /bin/back'
check back "$(cat "$tmp/relay.log")" wait_for 30 is_told 'firing /bin/back' 1
stop_relay

# More than retention keeps comes while the relay is away: what is missed is counted.
: >"$tmp/hook"
before=$(sql 'SELECT max(id) FROM messages')
for ((i = 0; i < 1100; i++)); do echo 'resolve /bin/r'; done >&9
dots=$((dots + 1100))
check writes-many "$(cat "$tmp/writer.err")" wait_for 600 has_dots
# what fires is kept as well, and was told
kept=$(sql "SELECT count(*) FROM messages WHERE id > $before")
relay
check missed-rest-arrives "$(wc -l <"$tmp/hook")" wait_for 600 is_told 'resolved /bin/r' "$kept"
get_figures
check missed-counted "$(grep missed "$tmp/metrics")" \
	test "$(figure 'tell_missed_total{sink="webhook"}') $kept" = '76 1024'
stop_relay

# noted WHAT: the notes say so of the webhook. A pattern.
noted() { grep -q "\"webhook\":$1[,}]" "$state/told.json"; }
not_noted() { [ -s "$state/told.json" ] && ! noted '[0-9]*'; }

# A sink that is no setting any more begins anew when it comes back.
cp -r "$state" "$tmp/unset-state"
state=$tmp/unset-state
settings "[Metrics]\nListen=$listen\n"
relay
check unset-sink-is-forgotten "$(cat "$state/told.json")" wait_for 20 not_noted
stop_relay
state=$old_state
settings "[Tell]\nWebhook=$url/hook\n[Metrics]\nListen=$listen\n"

# The database is put back to an earlier state: so is the note, or what comes next is passed over.
kill_writer
earlier=$(($(sql "SELECT seq FROM sqlite_sequence WHERE name = 'messages'") - 3))
sqlite3 -cmd '.timeout 60000' "$db" "DELETE FROM messages WHERE id > $earlier;
	UPDATE sqlite_sequence SET seq = $earlier WHERE name = 'messages'"
relay
check earlier-is-noted "$(cat "$state/told.json") $earlier" wait_for 20 noted "$earlier"
stop_relay

# Another database of the same name: its messages are told.
rm -f "$db" "$db-wal" "$db-shm"
: >"$tmp/hook"
start_writer
happens 'fire /bin/new'
happens 'resolve /bin/new'
relay
check new-database "$(cat "$tmp/relay.log")" wait_for 20 is_told 'resolved /bin/new' 1
check new-database-in-order "$(cat "$tmp/hook")" \
	test "$(cat "$tmp/hook")" = "firing /bin/new"$'\n'"resolved /bin/new"
stop_relay

# It is replaced while a hook hangs: what waits for the hook has a higher id than what comes then, and the
# relay is killed. Only what is the new database's may be noted as told.
printf '#!/bin/sh\necho >>%s\nexec sleep 1000\n' "$tmp/hanging" >"$tmp/hang.sh"
chmod 755 "$tmp/hang.sh"
state=$tmp/hang-state
settings "[Tell]\nExec=$tmp/hang.sh\n"
relay
happens 'fire /bin/held'
check hook-hangs "$(cat "$tmp/relay.log")" wait_for 60 test -s "$tmp/hanging"
kill_writer
cp "$state/told.json" "$tmp/told-before"
rm -f "$db" "$db-wal" "$db-shm"
start_writer
happens 'fire /bin/lower'
is_noted_anew() { ! cmp -s "$state/told.json" "$tmp/told-before"; }
check replaced-is-noted "$(cat "$tmp/relay.log")" wait_for 60 is_noted_anew
stop_relay KILL
settings "[Tell]\nExec=$tmp/hook.sh\n"
relay
check lower-is-told "$(cat "$state/told.json" "$tmp/relay.log")" \
	wait_for 60 is_told 'firing /bin/lower' 1 hooked
stop_relay
kill_writer
state=$old_state
settings "[Tell]\nWebhook=$url/hook\n[Metrics]\nListen=$listen\n"

# ---------------------------------------------------------------- without rights

if [ "$(id -u)" -eq 0 ]; then
	mkdir "$tmp/lib" "$tmp/nobody"
	chown 64321:64321 "$tmp/lib"
	chmod 750 "$tmp/lib"
	chown 65534:65534 "$tmp/nobody"
	made_by_root=$db roots_state=$state roots_writer=$alert_writer roots_relay=$relay_program
	db=$tmp/lib/p.db state=$tmp/nobody
	cp "$relay_program" "$alert_writer" "$tmp/"
	chmod 755 "$tmp/pathprof-relay" "$tmp/alert_writer"
	relay_program=$tmp/pathprof-relay alert_writer=$tmp/alert_writer
	umask 027
	start_writer setpriv --reuid 64321 --regid 64321 --clear-groups --inh-caps=-all
	umask 022
	as=(setpriv --reuid 65534 --regid 65534 --groups 64321 --inh-caps=-all --bounding-set=-all
		--no-new-privs)
	relay
	happens 'fire /bin/group'
	check group-is-enough "$(cat "$tmp/relay.log")" wait_for 20 is_told 'firing /bin/group' 1
	check group-reads-figures "$(cat "$tmp/metrics")" wait_for 60 is_up
	check socket-mode "$(stat -c %a "$db.socket")" test "$(stat -c %a "$db.socket")" = 660
	stop_relay
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
	relay
	check without-group-said "$(cat "$tmp/relay.log")" \
		wait_for 20 grep -q "$db.*ermission denied" "$tmp/relay.log"
	get_figures
	check without-group-no-figures "$(cat "$tmp/metrics")" test "$(figure up)" = 0
	stop_relay
	as=()
	kill_writer
	db=$made_by_root state=$roots_state alert_writer=$roots_writer relay_program=$roots_relay
else
	echo "skip rights: not root"
fi

# ---------------------------------------------------------------- stores of other versions

version=$(sqlite3 "$db" 'PRAGMA user_version')
for other in $((version - 1)) $((version + 1)); do
	sqlite3 "$db" "PRAGMA user_version=$other"
	relay
	check "schema-$((other - version))-said" "$(cat "$tmp/relay.log")" wait_for 20 \
		grep -qE "was written by an? (old|new)er pathprof \(schema $other" "$tmp/relay.log"
	sqlite3 -cmd '.timeout 60000' "$db" "PRAGMA user_version=$version"
	start_writer
	happens "fire /bin/version-$other"
	check "schema-$((other - version))-goes-on" "$(cat "$tmp/relay.log")" wait_for 20 \
		is_told "firing /bin/version-$other" 1
	check "schema-$((other - version))-said-once" "$(cat "$tmp/relay.log")" test \
		"$(grep -c 'er pathprof (schema' "$tmp/relay.log")" -eq 1
	stop_relay
	kill_writer
done

# ---------------------------------------------------------------- settings that fail

# fails NAME STATUS WANTED SETTINGS: ends with that status, and its last line says it.
fails() {
	local status=0
	settings "$4"
	timeout 60 "$relay_program" -c "$conf" --db "$db" --state "$state" 2>"$tmp/err" || status=$?
	check "$1" "status $status: $(cat "$tmp/err")" test "$status" -eq "$2"
	tail -1 "$tmp/err" >"$tmp/last"
	check "$1-said" "$(cat "$tmp/err")" grep -qE -- "$3" "$tmp/last"
}
fails nothing-to-do 0 'nothing to do: .*Exec=, Alertmanager=, Webhook= and Listen=' '[Drift]\n'
fails no-program 78 "/no/such/hook: No such file" '[Tell]\nExec=/no/such/hook\n'
fails bad-setting 78 "$conf:2: Webhook=ftp" '[Tell]\nWebhook=ftp://x\n'
fails listen-taken 1 "127\.0\.0\.1:$port: Address already in use; choose another port" \
	"[Metrics]\nListen=127.0.0.1:$port\n"
fails listen-not-ours 1 '1\.2\.3\.4:9753: Cannot assign' '[Metrics]\nListen=1.2.3.4:9753\n'
settings "[Tell]\nWebhook=https://127.0.0.1:$port/hook\nCAFile=$tmp/no.pem\nBearerFile=$tmp\n"
relay
check no-ca-said "$(cat "$tmp/relay.log")" \
	grep -q "CAFile=$tmp/no.pem: No such file or directory: alerts wait" "$tmp/relay.log"
check no-token-said "$(cat "$tmp/relay.log")" \
	grep -q "BearerFile=$tmp: not a regular file: alerts wait" "$tmp/relay.log"
fails second 1 'another pathprof-relay has it' "[Tell]\nWebhook=$url/hook\n"
stop_relay
echo '{"store":"x"}' >"$state/told.json"
fails damaged-notes 1 "$state/told.json: damaged: remove it" "[Tell]\nWebhook=$url/hook\n"

# ---------------------------------------------------------------- the one without a relay

if [ -n "$real" ]; then
	check missing-relay-said "$(cat "$tmp/real.log")" wait_for 90 grep -q "Webhook=, Listen=: \
pathprof-relay does this, and none is connected: .*pathprof-relay --db $tmp/real.db" "$tmp/real.log"
	db=$tmp/real.db state=$tmp/real.state
	check missing-relay-in-status "$(status_of relay)" test "$(status_of relay)" = missing
	# Another that follows is no relay. Its newline is the proof that it was heard.
	python3 - "$tmp/real.db.socket" <<-'END' >"$tmp/followed" 2>&1 &
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.send(b'follow\n')
		print('follows', flush=True)
		s.recv(1)
	END
	follower=$!
	receiver="$receiver $follower"
	check follower-is-there "$(cat "$tmp/followed")" wait_for 20 grep -q follows "$tmp/followed"
	updated=$(status_of updated_ns)
	is_newer() { [ "$(status_of updated_ns)" -gt "$((updated + 3000000000))" ]; }
	wait_for 60 is_newer || not_ok status-is-newer "$(cat "$tmp/real.log")"
	check follower-is-no-relay "$(status_of relay)" test "$(status_of relay)" = missing
	kill "$follower"
	settings "[Tell]\nWebhook=$url/hook\n"
	relay
	is_connected() { [ "$(status_of relay)" = connected ]; }
	check relay-in-status "$(status_of relay)" wait_for 30 is_connected
	check relay-is-shown "no line of it" eval \
		'"$BUILD/bin/pathprofctl" --db "$db" status | grep -q "relay *connected"'
	check relay-notes-in-status "$(status_of relay_notes)" test "$(status_of relay_notes)" = "$state"
	stop_relay
	kill -TERM "$real"
	wait "$real" || not_ok real-ends "status $?"
	real=
	check missing-relay-said-once "$(cat "$tmp/real.log")" \
		test "$(grep -c 'none is connected' "$tmp/real.log")" -eq 1
	check socket-is-removed "still there" test ! -e "$tmp/real.db.socket"
fi
finish
