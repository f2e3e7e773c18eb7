# SPDX-License-Identifier: GPL-2.0-or-later
# The service with the settings that it is shipped with, beside programs that compute, and that come and
# go: the CPU time that it tells of itself is what its control group was charged. Five minutes, or as the
# kernel's command line says (pathprof.account=SECONDS). Whether it keeps to its budget is shown outside
# (scenario/soak): an emulated processor takes thirty times as long for the same work.
. ./common.bash

seconds=$(sed -nE 's/.*\bpathprof\.account=([0-9]+).*/\1/p' /proc/cmdline)
seconds=${seconds:-300}

# Microseconds that the kernel has charged, and milliseconds that the service tells of and held threads for;
# both are read as soon as the service has told anew.
usage_us() { awk '$1 == "usage_usec" { print $2 }' "/sys/fs/cgroup/system.slice/$unit.service/cpu.stat"; }
told() { sqlite3 -cmd '.timeout 5000' -separator ' ' -readonly "$db" "SELECT json_extract(json, '\$.updated_ns'),
	json_extract(json, '\$.costs.cpu_ns') / 1000000, json_extract(json, '\$.costs.held_ns') / 1000000 FROM daemon_status"; }
look() {
	local last now cpu held
	read -r last _ < <(told)
	systemctl kill -s USR1 --kill-who=main "$unit"
	for ((i = 0; i < 600; i++)); do
		read -r now cpu held < <(told)
		[ "$now" = "$last" ] || break
		sleep 0.1
	done
	echo "$SECONDS $cpu $(($(usage_us) / 1000)) $held"
}

fresh
for name in "${targets[@]}"; do work "$name" ./hot $((seconds + 3600)); done
work visitors bash -c 'while :; do gzip -c /bin/bash | gunzip | sha1sum; done >/dev/null'
systemctl start "$unit"
wait_for 60 at_least clock_samples 1
look >/run/rows
echo "#    s  CPU ms told  of the group  held ms"
for i in {1..12}; do
	while [ $((SECONDS - $(cut -d' ' -f1 <(head -1 /run/rows)))) -lt $((seconds * i / 12)) ]; do sleep 1; done
	look >>/run/rows
	tail -1 /run/rows | awk '{ printf "# %4d %12d %13d %8d\n", $1, $2, $3, $4 }'
done
# The time told and charged between the first look and the last, and the share of all CPUs.
read -r passed told charged held < <(awk 'NR == 1 { split($0, a) } { split($0, z) }
	END { print z[1] - a[1], z[2] - a[2], z[3] - a[3], z[4] - a[4] }' /run/rows)
share=$(awk -v c="$charged" -v h="$held" -v w=$((passed * $(nproc))) 'BEGIN { printf "%.4f", (c + h) / 1e3 / w }')
echo "# $told ms told, $charged ms charged; with the holds $share of all CPUs' time"
check account_is_the_groups 'cat /run/rows' test $((10 * told)) -ge $((9 * charged)) -a $((10 * told)) -le $((11 * charged))
check account_has_bursts 'pathprofctl status' at_least bursts 1
check account_leaves_registers './watchpoints' wait_for 60 eval '[ "$(./watchpoints)" = 4 ]'
check account_targets_run 'systemctl status --no-pager target1 target2 | cat' targets_run
rest "${targets[@]}" visitors
fresh
