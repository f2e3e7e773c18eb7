# SPDX-License-Identifier: GPL-2.0-or-later
# An alert of the service, from the change to its end: a webhook is told once that a program does something
# else than before, and once that it does no longer; Prometheus would scrape both meanwhile.
. ./common.bash

fresh "[Profile]\nWindowSec=20s\nOverhead=30%\nHoldMaxSec=20ms\n[Drift]\nRolling=1h\nSamplesMin=10\n
[Tell]\nWebhook=http://127.0.0.1:8001/alerts\n[Metrics]\nListen=127.0.0.1:9753\n
[Alert fast]\nEnabled=no\n[Alert slow]\nEnabled=no\n
[Alert turned]\nThreshold=0.2\nHysteresis=0.1\nSamplesMin=10\nWindows=2\nCoolDown=0\nBinary=*/hot\n"
rm -f /run/posted /run/otherwise
work answers --property=WorkingDirectory="$PWD" systemd-socket-activate -l 127.0.0.1:8001 --inetd -a ./answer
work hot --property=WorkingDirectory="$PWD" ./hot
systemctl start "$unit"

scrape() {
	exec 3<>/dev/tcp/127.0.0.1/9753 || return
	printf 'GET /metrics HTTP/1.1\r\nHost: guest\r\nConnection: close\r\n\r\n' >&3
	cat <&3
	exec 3<&-
}
scraped() { scrape | grep -qE "$1"; } # PATTERN
told() { grep -c "\"status\":\"$1\",\"rule\":\"turned\"" /run/posted 2>/dev/null; }
measured() { sqlite3 -readonly -cmd '.timeout 5000' "$db" "SELECT count(*) FROM drift d JOIN binaries b ON b.id = d.binary WHERE b.name LIKE '%/hot'"; }
is_measured() { [ "$(measured)" -ge "$1" ]; }
explain='pathprofctl status; pathprofctl alerts; measured; journalctl -u pathprof-relay -o cat --no-pager -n 5; cat /run/posted'

check alerts_measured "$explain" wait_for_bursts is_measured 3
check alerts_quiet "$explain" test ! -s /run/posted
check alerts_scraped 'scrape | head -30' wait_for 60 scraped '^pathprof_windows_stored_total [1-9]'
check alerts_scraped_as_text 'scrape | head -5' scraped '^Content-Type: text/plain; version=0.0.4'

touch /run/otherwise
check alerts_told "$explain" wait_for_bursts eval '[ "$(told firing)" -ge 1 ]'
check alerts_name_the_program "$explain" grep -q '"binary":"[^"]*/hot"' /run/posted
check alerts_scraped_firing 'scrape | grep -i alert' wait_for 30 scraped '^pathprof_alert_firing\{.*turned.* 1'
rm /run/otherwise
check alerts_ended "$explain" wait_for_bursts eval '[ "$(told resolved)" -ge 1 ]'
check alerts_told_once 'cat /run/posted' test "$(told firing) $(told resolved)" = '1 1'
rest hot answers
fresh
