#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An alert's life as a real Alertmanager sees it: shown once however often it is told, there again
# after Alertmanager has lost all it knew, still the same one when the service was killed and started
# again, resolved when it is over. A real Prometheus reads the
# endpoint meanwhile.
. "$(dirname "$0")/alert_common.bash"

probe=$BUILD/tests/tools/tell_probe
[ -x "$probe" ] || { echo "not ok probe: $probe was not built"; exit 1; }
start_alertmanager || { not_ok alertmanager "$(tail -n 3 "$tmp/alertmanager.log")"; finish; }
listen=127.0.0.1:$(free_port)
mkfifo "$tmp/commands"
: >"$tmp/probe.err"
start_probe() {
	"$probe" "$alertmanager_url/" "$listen" <"$tmp/commands" >"$tmp/probe.out" \
		2>"$tmp/probe.err" &
	daemon=$!
	exec 9>"$tmp/commands"
	wait_for 10 grep -q ready "$tmp/probe.out"
}
check probe-starts "$(cat "$tmp/probe.err")" start_probe

echo 'fire /bin/one' >&9
check shown "Alertmanager shows none" wait_for 20 is_active 1 /bin/one
check notified "nobody was notified" wait_for 20 has_notified 1 'firing /bin/one'
start_prometheus "$listen" || not_ok prometheus "$(tail -n 3 "$tmp/prometheus.log")"
sleep 2.5 # told again twice
check shown-once "$(active /bin/one) alerts" is_active 1 /bin/one
check notified-once "$(notified 'firing /bin/one') times" test "$(notified 'firing /bin/one')" -eq 1

get "http://$listen/metrics" >"$tmp/metrics"
check promtool "$(promtool check metrics <"$tmp/metrics" 2>&1 | head -3)" \
	promtool check metrics <"$tmp/metrics"
check scraped "told: $(value_of pathprof_tell_told_total)" \
	wait_for 20 value_is 1 pathprof_tell_told_total
check scraped-label "$(value_of pathprof_drift_kl)" \
	wait_for 20 value_is 0.125 'pathprof_drift_kl{binary="/bin/a \"b\""}'
check target-up "$(value_of up)" value_is 1 up

kill -9 "$alertmanager"
wait "$alertmanager" 2>/dev/null || true
rm -rf "$tmp/alertmanager"
echo 'fire /bin/two' >&9
sleep 0.5
run_alertmanager || not_ok alertmanager-again "$(tail -n 3 "$tmp/alertmanager.log")"
check shown-after-loss "not told again" wait_for 30 is_active 1 /bin/one
check shown-late "what happened meanwhile is lost" wait_for 30 is_active 1 /bin/two

before=$(notified 'firing /bin/one')
kill -9 "$daemon"
wait "$daemon" 2>/dev/null || true
exec 9>&-
killed_ns=$(date +%s%N)
check probe-starts-again "$(cat "$tmp/probe.err")" start_probe
printf 'still /bin/one\nstill /bin/two\n' >&9
check told-after-kill "not told again" wait_for 20 told_since "$killed_ns" /bin/one
check same-after-kill "$(active /bin/one) alerts" is_active 1 /bin/one
check not-notified-again "$before times, then $(notified 'firing /bin/one')" \
	test "$(notified 'firing /bin/one')" -eq "$before"

echo 'resolve /bin/one' >&9
check resolved "still shown" wait_for 20 is_active 0 /bin/one
check resolved-notified "nobody was notified" wait_for 20 has_notified 1 'resolved /bin/one'
check others-stay "$(active /bin/two) alerts" is_active 1 /bin/two
echo 'resolve /bin/two' >&9
check resolved-last "still shown" wait_for 20 is_active 0 /bin/two
exec 9>&-
status=0
wait "$daemon" || status=$?
daemon=
check ends-well "exit status $status: $(cat "$tmp/probe.err")" test "$status" -eq 0
finish
