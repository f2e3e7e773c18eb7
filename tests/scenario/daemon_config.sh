#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon's settings as an operator meets them: what is refused and how, drop-ins, reloads, the
# shipped file.
. "$(dirname "$0")/daemon_common.bash"

conf=$tmp/p.conf
mkdir "$conf.d"

# refused NAME WANTED STATUS ARGUMENTS...: one line on standard error that holds WANTED.
refused() {
	local name=$1 wanted=$2 want_status=$3 status=0
	shift 3
	timeout 600 "$pathprofd" "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	if [ "$status" -ne "$want_status" ]; then
		not_ok "$name" "exit status $status"
	elif ! grep -qF -- "$wanted" "$tmp/err"; then
		not_ok "$name" "said: $(cat "$tmp/err")"
	elif [ "$want_status" -ne 2 ] && [ "$(wc -l <"$tmp/err")" -ne 1 ]; then
		not_ok "$name" "more than one line"
	else
		ok "$name"
	fi
}

printf '[Profile]\nOverhead=1%%\nTakenBranches=16\n' >"$conf"
"$pathprofd" -c "$conf" --check-config >"$tmp/out"
check good-file "not taken over" grep -qx 'Overhead=1%' "$tmp/out"
printf '[Profile]\nOverhead=3%%\n' >"$conf.d/20.conf"
printf '[Profile]\nOverhead=2%%\nFrequencyHz=77\n' >"$conf.d/10.conf"
"$pathprofd" -c "$conf" --check-config >"$tmp/out"
check drop-in-order "$(grep Overhead "$tmp/out")" grep -qx 'Overhead=3%' "$tmp/out"
check drop-in-keeps "$(grep Taken "$tmp/out")" grep -qx 'TakenBranches=16' "$tmp/out"
"$pathprofd" -c "$conf" --overhead 4 --check-config >"$tmp/out"
check flag-beats-file "$(grep Overhead "$tmp/out")" grep -qx 'Overhead=4%' "$tmp/out"

printf '[Profile]\n\nSpeed=9\n' >"$conf.d/30.conf"
refused unknown-key "$conf.d/30.conf:3: unknown key Speed=" 78 -c "$conf" --db "$db"
printf '[Profiles]\n' >"$conf.d/30.conf"
refused unknown-section "$conf.d/30.conf:1: unknown section [Profiles]" 78 -c "$conf" --db "$db"
printf '[Profile]\nOverhead=much\n' >"$conf.d/30.conf"
refused bad-value "$conf.d/30.conf:2: Overhead=much: bad value" 78 -c "$conf" --db "$db"
printf '[Profile]\nOverhead=200%%\n' >"$conf.d/30.conf"
refused out-of-range "$conf.d/30.conf:2: Overhead=200%: out of range" 78 -c "$conf" --db "$db"
printf '[Metrics]\nListen=localhost:80\n' >"$conf.d/30.conf"
refused bad-address "$conf.d/30.conf:2: Listen=localhost:80: bad value" 78 -c "$conf" --db "$db"
printf '[Alert a]\nMetric=overlap\nThreshold=5\n' >"$conf.d/30.conf"
refused bad-rule "$conf and its drop-ins: [Alert a]: Threshold=5: overlap is" 78 -c "$conf" --db "$db"
printf '[Profile]\nOverhead=1%%\nOverhead=1%%\n' >"$conf.d/30.conf"
refused duplicate "$conf.d/30.conf:3: Overhead= was set" 78 -c "$conf" --db "$db"
check nothing-started "a database was made" test ! -e "$db"
printf '[Profile]\nSampler=foo\n' >"$conf.d/30.conf"
refused bad-sampler "$conf.d/30.conf:2: Sampler=foo: bad value, wanted a sampler" 78 -c "$conf" --db "$db"
rm "$conf.d/30.conf"
printf '[Profile]\nEvent=foo\nSource=bpf\n' >"$tmp/event.conf"
refused no-such-event "Event=foo: " 78 -c "$tmp/event.conf" --db "$db"
for source in step kmod-swlbr; do
	printf '[Profile]\nEvent=branches\nSource=%s\n' "$source" >"$tmp/event.conf"
	refused "event-of-$source" "Event=branches takes a source that samples events" 78 \
		-c "$tmp/event.conf" --db "$db"
done
refused missing-file "$tmp/none: No such file" 78 -c "$tmp/none" --db "$db"
refused unknown-flag "--speed: no such option" 2 --speed
refused bad-flag "--overhead x: bad value" 2 --overhead x
# A variable that was never set must not begin to profile the machine into the default database.
refused empty-flag "--db: its FILE is empty" 2 --db ""
refused no-directory "$tmp/none/p.db" 78 --db "$tmp/none/p.db"
refused no-such-group "Cgroup=nobody.service: " 78 --db "$db" --cgroup nobody.service
refused bad-range "--addresses 5-4: bad value, wanted two addresses" 2 --addresses 5-4
refused step-selects-nothing "step: Cgroup= and Addresses= take a source that samples in the kernel" 78 \
	--db "$db" --source step --addresses 400000-4fffff
rm -f "$db"

"$pathprofd" --print-config | cmp - "$here/systemd/pathprofd.conf" >"$tmp/out" 2>&1 &&
	ok shipped-file || not_ok shipped-file "$(cat "$tmp/out")"
check print-names-a-file "other settings than of the file" \
	eval 'printf "[Profile]\nOverhead=7%%\n" >"$tmp/seven.conf" &&
	"$pathprofd" -c "$tmp/seven.conf" --print-config | grep -qx "Overhead=7%"'

missing=
while IFS='=' read -r key default; do
	grep -qx "\.B ${key#?}=" "$here/docs/man/pathprofd.conf.5" || missing="$missing $key"
	[ -z "$default" ] || grep -qxF "Default: $default." "$here/docs/man/pathprofd.conf.5" ||
		missing="$missing $key=$default"
done < <("$pathprofd" --print-config | grep '^#[A-Z][A-Za-z]*=')
check manual-has-every-key "$missing" test -z "$missing"
# KEY: WANTED, of every key, here and there; those of the second rule are as those of the first
"$pathprofd" --print-config | sed -n '/^# Wanted: /{h;d};/^#[A-Z][A-Za-z]*=/{s/^#\([A-Za-z]*\)=.*/\1/;G;s/\n# /: /;p;s/.*//;h}' |
	grep Wanted | sort >"$tmp/wanted"
sed -n '/^\.B [A-Z][A-Za-z]*=$/{s/^\.B \(.*\)=/\1/;h};/^Wanted: /{G;s/\(.*\)\n\(.*\)/\2: \1/;p}' \
	"$here/docs/man/pathprofd.conf.5" | sort >"$tmp/in-manual"
check manual-says-what-is-wanted "$(diff "$tmp/wanted" "$tmp/in-manual" | head -n 5)" \
	eval '[ -s "$tmp/wanted" ] && cmp -s "$tmp/wanted" "$tmp/in-manual"'

rm -r "$conf.d"
printf '[Profile]\nOverhead=1%%\nWindowSec=60\n' >"$conf"
if start -c "$conf" --db "$db"; then
	printf '[Profile]\nOverhead=2%%\nWindowSec=0.3\nMapping=wpp\nInstructions=512\n' >"$conf"
	kill -HUP "$daemon"
	check reload-good "not read" wait_for 5 grep -q 'settings read again' "$tmp/log"
	check reload-names-the-rest "not named" grep -q 'next start: \[Profile\] Mapping=' "$tmp/log"
	check reload-shortens-window "no window closed" \
		wait_for 5 eval '[ "$(sql "SELECT count(*) > 2 FROM windows")" = 1 ]'
	check reload-instructions "$(sql "SELECT DISTINCT horizon FROM windows" | paste -sd ' ')" \
		wait_for 5 eval '[ "$(sql "SELECT max(horizon) || min(horizon) FROM windows")" = 1024512 ]'
	check reload-in-status "$(status_of budget_ratio)" \
		true_that "$(status_of budget_ratio) == 0.02"
	printf '[Profile]\nOverhead=3%%\nOops=1\n' >"$conf"
	kill -HUP "$daemon"
	check reload-bad "not reported" wait_for 5 \
		grep -q "settings unchanged: $conf:3: unknown key Oops=" "$tmp/log"
	sleep 0.7
	check reload-bad-keeps "$(status_of budget_ratio)" \
		true_that "$(status_of budget_ratio) == 0.02"
	ctl() { "$BUILD/bin/pathprofctl" --db "$db" status; }
	check reload-bad-status "$(ctl)" wait_for 10 eval \
		'ctl | grep -q "settings *older than the file.*$conf:3: unknown key Oops="'
	printf '[Profile]\nOverhead=3%%\n' >"$conf"
	kill -HUP "$daemon"
	check reload-mended-status "$(ctl)" wait_for 10 eval '! ctl | grep -q "older than the file"'
	stop
	check reload-survives "exit status $stop_status" test "$stop_status" -eq 0
else
	not_ok reload "the daemon did not start"
fi

# If auto finds hardware, it uses the event; if not, it reports that the event is not used.
printf '[Profile]\nEvent=branches\n' >"$conf"
rm -f "$db"*
if start -c "$conf" --db "$db"; then
	case $(status_of source) in
	kmod-lbr | bpf) check event-used "$(cat "$tmp/log")" eval '! grep -q "is not used" "$tmp/log"' ;;
	*) check event-not-used "$(cat "$tmp/log")" grep -qE \
		"Event=branches is not used: source $(status_of source) samples a clock" "$tmp/log" ;;
	esac
	stop
else
	not_ok event-auto "the daemon did not start"
fi
finish
