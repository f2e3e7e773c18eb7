#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a hub takes, and what a host pays: HOSTS simulated hosts come back after an outage and send
# SLOTS parcels of five minutes each, as large as those of a busy program at 20 %, and one real store
# is sent by `pathprof-hub send`. Lines of `name value unit (aim)`; a figure that misses its aim says so.
#
#     BUILD=build HOSTS=1000 SLOTS=8 tests/bench/bench_hub.sh
set -eu
build=$(realpath "${BUILD:-build}")
ctl=$build/bin/pathprofctl hub=$build/bin/pathprof-hub
hosts=${HOSTS:-1000} slots=${SLOTS:-8}
work=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

cat >work.sh <<'END'
gzip -9 <"$1" >/dev/null
bzip2 -9 <"$1" >/dev/null
lua5.4 -e 'local t = {} for i = 1, 900000 do t[i] = (i * 7919) % 10007 end table.sort(t) print(#t)' >/dev/null
END
"$ctl" record -o slot.db --overhead 20% --no-report -- sh work.sh "$ctl" >/dev/null 2>&1
mkdir parcels && "$ctl" --db slot.db parcel write -o parcels >/dev/null
"$hub" ca ca
"$hub" enrol ca hub --server --address 127.0.0.1
for h in $(seq "$hosts"); do "$hub" enrol ca "host$h"; done
: >log
"$hub" serve --db hub.db --listen 127.0.0.1:0 --cert ca/hub.pem --key ca/hub-key.pem --ca ca/ca.pem >log 2>&1 &
server=$!
until grep -q listening log; do sleep 0.1; done
url=https://127.0.0.1:$(sed -n 's/.*, port \([0-9]*\);.*/\1/p' log)

"$build/tests/tools/fleet_load" --hub "$url" --certs ca --hosts "$hosts" --slots "$slots" parcels/*.parcel >want 2>load
cpu_ms=$(awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz * 1e3 }' /proc/$server/stat)
peak=$(awk '/VmHWM/ { print $2 / 1024 }' /proc/$server/status)
cost() { # COMMAND...: milliseconds of CPU time, MiB at most
	python3 - "$@" <<'END'
import os, subprocess, sys
# of this child alone: whoever started python in this process may have had others
_, status, used = os.wait4(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid, 0)
print((used.ru_utime + used.ru_stime) * 1e3, used.ru_maxrss / 1024)
sys.exit(status != 0)
END
}
# The first host's certificate, for a store of its own.
cost "$hub" send --once --db slot.db --hub "$url" --cert ca/host1.pem --key ca/host1-key.pem --ca ca/ca.pem >host
# All slots together, as an hour is judged.
first=$(sqlite3 hub.db 'SELECT min(slot) FROM parcels')
cost "$hub" judge --db hub.db --since "$first" --until $((first + 300 * slots)) >judge
bursts=$(sqlite3 slot.db 'SELECT sum(bursts) FROM windows')
awk -v hosts="$hosts" -v slots="$slots" -v cpu="$cpu_ms" -v peak="$peak" -v bursts="$bursts" '
	function say(name, value, unit, aim, holds) {
		printf "%s %.4g %s%s%s\n", name, value, unit, aim ? " (aim " aim ")" : "", aim && !holds ? ": missed" : ""
	}
	FILENAME == "load" { figure[$1] = $2; next }
	FILENAME == "judge" { judge_ms = $1; judge_mib = $2; next }
	{ host_ms = $1; host_mib = $2 }
	END {
		say("hosts", hosts, "simulated, " slots " parcels each")
		say("parcel", figure["parcel"], "bytes of " bursts " bursts")
		say("rate", figure["rate"], "parcels/s", "500", figure["rate"] >= 500)
		say("p99", figure["p99"], "ms", "2000", figure["p99"] <= 2000)
		say("failed", figure["failed"], "parcels", "0", figure["failed"] == 0)
		say("hub_cpu", cpu / figure["parcels"], "ms a parcel")
		say("hub_memory", peak, "MiB", "512", peak <= 512)
		say("host_cpu", host_ms / 300e3 * 100, "% of a CPU, a process a slot", "0.02", host_ms <= 60)
		say("host_memory", host_mib, "MiB", "16", host_mib <= 16)
		say("wire", figure["parcel"] * 288 / 1e6, sprintf("MB a host and day, at %.0f bursts a minute", bursts / 5),
			"8 at 430", figure["parcel"] * 288 <= 8e6)
		say("judge_cpu", judge_ms / 1e3, "s for " slots " slots", "60", judge_ms <= 60e3)
		say("judge_memory", judge_mib, "MiB", "512", judge_mib <= 512)
	}' load host judge
