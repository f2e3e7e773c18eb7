#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `pathprofctl doctor --service` makes of what systemd and the service say, by a systemctl of this
# test; tests/systemd asks a real one. Each trouble is told in one line with what to do, and the exit
# status says that there is one.
. "$(dirname "$0")/daemon_common.bash"

ctl=$BUILD/bin/pathprofctl
mkdir "$tmp/bin"
cat >"$tmp/bin/systemctl" <<-'S'
	#!/bin/bash
	[ "$1 $2" != 'show pathprof-relay.service' ] || { echo LoadState=not-found && echo ActiveState=inactive && exit; }
	[ "$1 $2" = 'show pathprofd.service' ] && cat "$UNIT_SAYS"
S
chmod 755 "$tmp/bin/systemctl"
export UNIT_SAYS=$tmp/says

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
unit inactive success 0 0 ''
doctor stopped 1 '^no +service: not running -- .*systemctl enable --now pathprofd'
echo -e 'LoadState=not-found\nActiveState=inactive' >"$UNIT_SAYS"
doctor absent 1 '^no +service: not installed'
: >"$UNIT_SAYS"
doctor no-systemd 1 '^no +service: not known'

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

# What it says of itself, changed: a budget that buys no burst, a source that is down, lost windows,
# refused events.
stop
says() { # SQL-EXPRESSION on json
	sqlite3 "$db" "UPDATE daemon_status SET json = $1"
}
unit active success 0 "$$" ''
says "json_set(json, '\$.pid', $$, '\$.bursts', 0, '\$.paths', 0, '\$.started_ns', json_extract(json, '\$.updated_ns') - 90000000000, '\$.drops.budget', 7)"
doctor budget 1 '^no +service bursts: none in 90 s, 7 samples .*Overhead='
says "json_set(json, '\$.source_up', json('false'))"
doctor source-down 1 '^no +service source: step, down'
says "json_set(json, '\$.windows_dropped', 3)"
doctor windows-lost 1 '^no +service windows: 3 lost'
says "json_set(json, '\$.refused', 'perf events are refused (EACCES: x' || char(27) || 'y)')"
doctor events 1 '^no +service events: refused -- perf events are refused \(EACCES: x'
check service-escapes "$(cat -v "$tmp/out")" eval '! grep -q $'"'"'\033'"'"' "$tmp/out"'
finish
