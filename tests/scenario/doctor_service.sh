#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `pathprofctl doctor --service` on the reports of systemd and the service, by a systemctl of this
# test; tests/systemd asks a real one. Each trouble is told in one line with what to do, and the
# exit status says that there is one.
. "$(dirname "$0")/relay_common.bash"

mkdir "$tmp/bin"
# The tool asks the daemon beside it for the settings: here for those of this test.
cp "$BUILD/bin/pathprofctl" "$tmp/bin/"
ctl=$tmp/bin/pathprofctl
: >"$conf"
printf '#!/bin/bash\nexec %q -c %q "$@"\n' "$pathprofd" "$conf" >"$tmp/bin/pathprofd"
chmod 755 "$tmp/bin/pathprofd"
cat >"$tmp/bin/systemctl" <<-'S'
	#!/bin/bash
	[ "$1 $2" != 'show pathprof-relay.service' ] || { cat "$RELAY_SAYS" && exit; }
	[ "$1 $2" = 'show pathprofd.service' ] && cat "$UNIT_SAYS"
S
chmod 755 "$tmp/bin/systemctl"
export UNIT_SAYS=$tmp/says RELAY_SAYS=$tmp/relay-says
echo -e 'LoadState=not-found\nActiveState=inactive' >"$RELAY_SAYS"

# unit ACTIVE RESULT STATUS PID TEXT: what systemctl says from here on.
unit() {
	printf '%s\n' LoadState=loaded "ActiveState=$1" SubState=x "Result=$2" "ExecMainStatus=$3" "MainPID=$4" \
		NRestarts=0 PrivateNetwork=yes "StatusText=$5" >"$UNIT_SAYS"
}
# doctor NAME STATUS PATTERN: its exit status, and a line it has.
doctor() {
	local status=0
	PATH=$tmp/bin:$PATH "$ctl" --db "$db" doctor --service >"$tmp/out" 2>&1 || status=$?
	check "service-$1" "status $status: $(cat "$tmp/out")" eval '[ "$status" -eq "$2" ] && grep -qE -- "$3" "$tmp/out"' "$@"
}
check() { # as elsewhere, and the words behind the command are its own $1 $2 $3
	local name=$1 why=$2 command=$4
	shift 4
	if eval "$command"; then ok "$name"; else not_ok "$name" "$why"; fi
}

unit failed exit-code 78 0 '/etc/pathprof/pathprofd.conf:3: Overhed: no such key'
doctor settings 1 '^no +service: failed -- /etc/pathprof/pathprofd.conf:3: Overhed.*exit status 78.*--check-config'
unit activating watchdog 0 0 'step: busy'
doctor watchdog 1 '^no +service: it ends and is started again -- step: busy \(result watchdog.*WatchdogSec='
# Nothing has ended yet: the start takes its time.
unit activating success 0 0 ''
doctor starting "$([ "$(getent passwd pathprof)" ] && echo 0 || echo 1)" '^warn +service: it is starting -- it has not said yet'
sed -i 's/^NRestarts=.*/NRestarts=2/' "$UNIT_SAYS"
doctor starting-again 1 '^no +service: it ends and is started again --'
unit inactive success 0 0 ''
doctor stopped 1 '^no +service: not running -- .*systemctl enable --now pathprofd'
echo -e 'LoadState=not-found\nActiveState=inactive' >"$UNIT_SAYS"
doctor absent 1 '^no +service: not installed'
: >"$UNIT_SAYS"
doctor no-systemd 1 '^no +service: not known'

# The relay by what it says of itself: this one says it to a socket of the test's, as to systemd.
cat >"$tmp/hear.py" <<-'S'
	import os, socket, sys
	hears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
	hears.bind(sys.argv[1])
	while True:
	    for line in hears.recv(65536).decode().split('\n'):
	        if line.startswith('STATUS='):
	            open(sys.argv[2] + '.new', 'w').write(line[7:])
	            os.rename(sys.argv[2] + '.new', sys.argv[2])
S
python3 "$tmp/hear.py" "$tmp/notify" "$tmp/status" &
receiver="$receiver $!"
there() { [ -S "$tmp/notify" ]; }
wait_for 20 there
# relay_ends SETTINGS: it cannot start with them; its exit status and last words as systemd has them.
relay_ends() {
	local status=0
	printf "$1" >"$conf"
	rm -f "$tmp/status"
	NOTIFY_SOCKET=$tmp/notify timeout 60 "$relay_program" -c "$conf" --db "$db" 2>"$tmp/err" || status=$?
	said() { [ -s "$tmp/status" ]; }
	wait_for 20 said || true
	printf '%s\n' LoadState=loaded "ActiveState=$([ "$status" = 78 ] && echo failed || echo activating)" \
		Result=exit-code "ExecMainStatus=$status" "StatusText=$(cat "$tmp/status")" >"$RELAY_SAYS"
}
unit active success 0 "$$" ''
echo 'no program' >"$tmp/hook"
relay_ends '[Tell]\nExec=/no/such/hook\n'
doctor exec-missing 1 '^no +service relay: failed -- Exec=/no/such/hook: No such file.*status 78\).*pathprofd.conf, then'
relay_ends "[Tell]\nExec=$tmp/hook\n"
doctor exec-refused 1 "^no +service relay: failed -- Exec=$tmp/hook: Permission denied.*status 78\\)"
relay_ends "[Tell]\nExec=$tmp\n"
doctor exec-folder 1 "^no +service relay: failed -- Exec=$tmp: not a program.*status 78\\)"
relay_ends '[Metrics]\nListen=192.0.2.1:9753\n'
doctor listen 1 '^no +service relay: it ends and is started again -- Listen=192\.0\.2\.1:9753: Cannot assign.*status 1\)'
check listen-line "$(cat "$tmp/out")" eval '! grep -q enable "$tmp/out" && grep -q "change the line" "$tmp/out"'

# A service that lives: this daemon.
start_busy
start --db "$db" --source step --overhead 20% --window 2s
bursts() { [ "$(status_of bursts)" -ge 1 ]; }
wait_for 60 bursts
unit active success 0 "$daemon" 'step: 1 bursts/s'
doctor runs "$([ "$(getent passwd pathprof)" ] && echo 0 || echo 1)" '^ok +service: running, process '
doctor source "$([ "$(getent passwd pathprof)" ] && echo 0 || echo 1)" '^ok +service source: step'
# In this namespace nothing gave the stepper a score, unless who runs this may.
doctor memory "$([ "$(getent passwd pathprof)" ] && echo 0 || echo 1)" '^(ok +service memory: the stepper is never|warn +service memory: the stepper.s oom_score_adj is)'
doctor rights "$([ "$(getent passwd pathprof)" ] && echo 0 || echo 1)" '^(ok|warn) +service rights: '
doctor bursts "$([ "$(getent passwd pathprof)" ] && echo 0 || echo 1)" '^ok +service bursts: [1-9]'
PATH=$tmp/bin:$PATH "$ctl" --db "$db" doctor --service --json >"$tmp/json" || true
check service-json "$(cat "$tmp/json")" eval \
	'[ "$(grep -c "\"fact\"" "$tmp/json")" = "$(wc -l <"$tmp/out")" ] && python3 -m json.tool "$tmp/json" >/dev/null'

# The service's status, changed: a budget that buys no burst, a source that is down, lost windows,
# refused events.
stop
says() { # SQL-EXPRESSION on json
	sqlite3 "$db" "UPDATE daemon_status SET json = $1"
}
unit active success 0 "$$" ''
says "json_set(json, '\$.pid', $$, '\$.bursts', 0, '\$.paths', 0, '\$.started_ns', json_extract(json, '\$.updated_ns') - 90000000000, '\$.drops.budget', 7)"
doctor budget 1 '^no +service bursts: none in 90 s, 7 samples .*Overhead='
says "json_set(json, '\$.bursts', 9, '\$.drops.gone', 1000000000, '\$.barren_since_ns', json_extract(json, '\$.updated_ns') - 75000000000)"
doctor barren 1 '^no +service bursts: none for 75 s, mostly gone -- programs run'
check status-barren "$("$ctl" --db "$db" status)" eval '"$ctl" --db "$db" status | grep -q "bursts .*none since 20.*though programs run"'
says "json_set(json, '\$.barren_since_ns', 0)"
says "json_set(json, '\$.source_up', json('false'))"
doctor source-down 1 '^no +service source: step, down'
says "json_set(json, '\$.windows_dropped', 3)"
doctor windows-lost 1 '^no +service windows: 3 lost'
says "json_set(json, '\$.refused', 'perf events are refused (EACCES: x' || char(27) || 'y)')"
doctor events 1 '^no +service events: refused -- perf events are refused \(EACCES: x'
says "json_set(json, '\$.settings_refused', '/etc/p.conf:3: unknown key')"
doctor reload 1 '^no +service settings: older than the file.* -- /etc/p.conf:3: unknown key .*systemctl reload pathprofd'
says "json_set(json, '\$.settings_refused', '')"
doctor events-still 1 '^no +service events: refused'
# The user's own database is not the service's.
if [ -e /var/lib/pathprof/profile.db ]; then
	echo "skip service-own: this machine has a database of the service"
else
	mkdir -p "$tmp/own/pathprof"
	cp "$db" "$tmp/own/pathprof/profile.db"
	unit active success 0 1 ''
	env -u PATHPROF_DB XDG_STATE_HOME="$tmp/own" PATH="$tmp/bin:$PATH" "$ctl" doctor --service >"$tmp/own/out" 2>&1 || true
	check service-own "$(cat "$tmp/own/out")" eval \
		'! grep -qF "$tmp/own" "$tmp/own/out" && grep -q "service status: cannot be read" "$tmp/own/out"'
	unit active success 0 "$$" ''
fi
check service-escapes "$(cat -v "$tmp/out")" eval '! grep -q $'"'"'\033'"'"' "$tmp/out"'

# The status of a relay that is missing: why, and how many alerts wait; for another daemon than the
# unit's, by the notes of a relay beside the database.
says "json_set(json, '\$.relay', 'missing', '\$.relay_settings', 'Exec=, Listen=')"
settings '[Tell]\nExec=/no/such/hook\n'
start_writer
happens 'fire /bin/one'
happens 'fire /bin/two'
happens 'resolve /bin/two'
relay_ends '[Tell]\nExec=/no/such/hook\n'
status() { # NAME PATTERN
	PATH=$tmp/bin:$PATH "$ctl" --db "$db" status >"$tmp/out" 2>&1 || true
	check "status-relay-$1" "$(cat "$tmp/out")" eval 'grep -qE -- "$2" "$tmp/out"' "$@"
}
if [ -e /var/lib/pathprof-relay ]; then
	echo "skip status-relay-failed: this machine has notes of a relay of its own"
else
	status failed 'relay +missing: failed: Exec=/no/such/hook: No such file or directory \(result exit-code, exit status 78\); 1 alert waits: mend the setting .*systemctl restart pathprof-relay'
	echo -e 'LoadState=loaded\nActiveState=activating\nResult=success\nNRestarts=0' >"$RELAY_SAYS"
	status starting 'relay +missing: it is starting; 1 alert waits$'
	echo -e 'LoadState=loaded\nActiveState=inactive' >"$RELAY_SAYS"
	status stopped 'relay +missing: not running; 1 alert waits: systemctl restart pathprof-relay'
	echo -e "LoadState=loaded\nActiveState=active\nStatusText=exec: 0 told, 1 wait" >"$RELAY_SAYS"
	says "json_set(json, '\$.relay', 'connected')"
	status connected 'relay +connected; exec: 0 told, 1 wait'
fi
unit active success 0 1 ''
says "json_set(json, '\$.relay', 'missing', '\$.relay_settings', 'Webhook=')"
settings "[Tell]\nWebhook=$url/hook\n"
relay --state "$db.relay"
wait_for 60 is_told 'firing /bin/one' 1 || not_ok told "$(cat "$tmp/hook")"
stop_relay
happens 'resolve /bin/one'
happens 'fire /bin/three'
status by-hand "relay +missing: none is connected; 2 alerts wait: run pathprof-relay --db $db"
PATH=$tmp/bin:$PATH "$ctl" --db "$db" status --json >"$tmp/json" || true
check status-relay-json "$(cat "$tmp/json")" eval 'grep -q "\"relay_waiting\": 2" "$tmp/json"'
if [ "$(id -u)" -eq 0 ]; then
	chmod a+r "$db"*
	PATH=$tmp/bin:$PATH setpriv --reuid 65534 --regid 65534 --clear-groups "$ctl" --db "$db" status >"$tmp/out" 2>&1 || true
	check status-relay-no-right "$(cat "$tmp/out")" eval 'grep -q "relay *missing: .*how many alerts wait is for root to see: run" "$tmp/out"'
else
	echo "skip status-relay-no-right: not root"
fi
# A relay with another --state has told where its notes are.
mv "$db.relay" "$tmp/elsewhere"
says "json_set(json, '\$.relay_notes', '$tmp/elsewhere')"
status elsewhere "relay +missing: none is connected; 2 alerts wait: run pathprof-relay --db $db --state $tmp/elsewhere"
says "json_remove(json, '\$.relay_notes')"
mv "$tmp/elsewhere" "$db.relay"
says "json_set(json, '\$.relay_settings', 'Listen=')"
status figures-only 'relay +missing: none is connected: run pathprof-relay'
says "json_set(json, '\$.relay_settings', 'Webhook=')"
echo '{' >"$db.relay/told.json"
status damaged 'relay +missing: .*how many alerts wait is not known: .*told.json: damaged'
rm "$db.relay/told.json"
mkfifo "$db.relay/told.json"
status fifo 'relay +missing: .*how many alerts wait is not known: .*told.json'
kill_writer
: >"$tmp/hook"

# A receiver that takes nothing while alerts wait for it; then it takes them.
db=$tmp/alerts.db
is_now hook 503
settings "[Tell]\nWebhook=$url/hook\nAlertmanager=$url/manager\n"
start_writer
export NOTIFY_SOCKET=$tmp/notify
relay
relay_says() { # PATTERN: to systemd, which says it to whoever asks
	grep -qE -- "$1" "$tmp/status" || return 1
	printf '%s\n' LoadState=loaded ActiveState=active "StatusText=$(cat "$tmp/status")" >"$RELAY_SAYS"
}
happens 'fire /bin/one'
happens 'fire /bin/two'
wait_for 60 relay_says 'webhook: 0 told, 2 wait.*fails since' || not_ok receiver "$(cat "$tmp/status")"
doctor receiver-down 1 "^no +service network: Webhook=$url/hook -- webhook: 0 told, 2 wait.*, fails since 20[0-9-]+ [0-9:]+ \\(it answered with status 503\\).*pathprofd.conf"
wait_for 60 relay_says 'alertmanager: 2 told, 0 wait' || not_ok receiver-there "$(cat "$tmp/status")"
doctor receiver-there 1 "^ok +service network: Alertmanager=$url/manager, alertmanager: 2 told, 0 wait"
settings "[Tell]\nWebhook=$url/hook\n[Metrics]\nListen=127.0.0.1:9753\n"
doctor receiver-unknown 1 '^warn +service network: Listen=127.0.0.1:9753 -- .*read its settings before.*restart'
is_now hook 200
# The pause after each failure is longer than the one before, five minutes at most.
wait_for 400 relay_says 'webhook: 2 told, 0 wait, 0 given up;' ||
	not_ok receiver-again "$(cat "$tmp/status")"
doctor receiver-again 1 "^ok +service network: Webhook=$url/hook, webhook: 2 told"
stop_relay

# A hook that is there and fails each time.
printf '#!/bin/sh\necho no ticket system here >&2\nexit 3\n' >"$tmp/hook"
chmod 755 "$tmp/hook"
settings "[Tell]\nExec=$tmp/hook\n"
relay
happens 'fire /bin/three'
wait_for 60 relay_says 'exec: 0 told, .* [1-9][0-9]* given up' || not_ok hook "$(cat "$tmp/status")"
doctor hook-fails 1 "^no +service network: Exec=$tmp/hook -- exec: 0 told.*, fails since 20[0-9-]+ [0-9:]+ \\(it failed with status 3: no ticket system here\\)"
stop_relay
# A hook's words may begin as the account of another sink does.
settings "[Tell]\nExec=$tmp/hook\nWebhook=$url/hook\n"
printf '%s\n' LoadState=loaded ActiveState=active "StatusText=exec: 0 told, 1 wait, 0 given up, fails since 2026-01-01 00:00:00 (it failed with status 3: webhook: 9 told); webhook: 0 told, 1 wait, 0 given up; pathprofd is there" >"$RELAY_SAYS"
doctor hook-says-webhook 1 "^ok +service network: Webhook=$url/hook, webhook: 0 told, 1 wait, 0 given up$"
finish
