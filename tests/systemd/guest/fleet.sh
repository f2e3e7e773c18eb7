# SPDX-License-Identifier: GPL-2.0-or-later
# A hub and a host that sends to it, both by their units, as they are shipped: what the service recorded
# is in the hub's database, to the count, under the name of the host's certificate.
. ./common.bash

settings_of=/etc/pathprof
hub_db=/var/lib/private/pathprof-hub/fleet.db
explain='journalctl -u pathprof-hub -u pathprof-send -o cat --no-pager -n 12'
main_of() { systemctl show "$1" -p MainPID --value; }
confined() { # UNIT: nobody in particular, without a capability, under a filter
	local status=/proc/$(main_of "$1")/status
	grep -q '^CapPrm:.0*$' "$status" && grep -q '^Seccomp:.2$' "$status" && grep -q '^NoNewPrivs:.1$' "$status" &&
		[ "$(stat -c %u "/proc/$(main_of "$1")")" -ne 0 ]
}
# DATABASE SQL. Not -readonly, which cannot open a database that nobody has open.
asked() { sqlite3 -cmd '.timeout 5000' "$1" "$2"; }
samples() { asked "$1" "SELECT sum(samples) FROM path_counts"; }
same_samples() { [ "$(samples "$db")" -gt 0 ] && [ "$(samples "$db")" = "$(samples "$hub_db")" ]; }

# A hold long enough for a whole path of this machine.
fresh "${quick}HoldMaxSec=100ms\n"
work hot ./hot
systemctl start "$unit"
has_paths() { [ "$(samples "$db")" -gt 0 ]; }
check fleet_recorded 'pathprofctl status' wait_for_bursts has_paths
systemctl stop "$unit"
rest hot
# As if it had been a while ago: a slot is sent when it is over.
sqlite3 "$db" "UPDATE windows SET begin_ns = begin_ns - 600000000000, end_ns = end_ns - 600000000000"

pathprof-hub ca /run/ca && pathprof-hub enrol /run/ca hub --server --address 127.0.0.1 && pathprof-hub enrol /run/ca guest7
check fleet_enrolled 'ls -l /run/ca' test -e /run/ca/guest7.pem
cp /run/ca/hub.pem /run/ca/hub-key.pem /run/ca/ca.pem "$settings_of"
cp /run/ca/guest7.pem "$settings_of/host.pem"
cp /run/ca/guest7-key.pem "$settings_of/host-key.pem"
printf "HUB=https://127.0.0.1:7443\nLABELS=\"dc=ams group=guests\"\n" >"$settings_of/send.env"
check fleet_hub "$explain" systemctl start pathprof-hub
check fleet_hub_is_confined 'grep -H . /proc/$(main_of pathprof-hub)/status' confined pathprof-hub
check fleet_send "$explain" systemctl start pathprof-send
check fleet_send_is_confined 'grep -H . /proc/$(main_of pathprof-send)/status' confined pathprof-send
check fleet_sent 'eval "$explain"; echo $(samples "$db") $(samples "$hub_db")' wait_for 120 same_samples
check fleet_name "$explain" test "$(asked "$hub_db" 'SELECT DISTINCT host FROM parcels')" = guest7
check fleet_labels "$explain" test "$(asked "$hub_db" 'SELECT DISTINCT labels FROM parcels')" = "dc=ams group=guests"

# Killed, it comes back with what it had; a hub that lost everything gets it again.
kill -9 "$(main_of pathprof-hub)"
check fleet_hub_again "$explain" wait_for 60 systemctl is-active -q pathprof-hub
check fleet_kept "$explain" wait_for 60 same_samples
systemctl stop pathprof-hub
rm -f "$hub_db"*
systemctl start pathprof-hub
systemctl restart pathprof-send
check fleet_filled_up "$explain" wait_for 120 same_samples
check fleet_ends "$explain" eval 'systemctl stop pathprof-hub pathprof-send && ! systemctl is-failed -q pathprof-hub pathprof-send'
rm -f "$settings_of"/{hub,hub-key,ca,host,host-key}.pem "$settings_of/send.env"
