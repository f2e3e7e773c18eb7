#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The rights that the BPF collector needs: as an unprivileged user with CAP_BPF and CAP_PERFMON
# alone it loads, samples, drains and is read; without either it is refused with one line that names
# what is missing. And the unit grants what it needs.
. "$(dirname "$0")/daemon_common.bash"

unit=$here/systemd/pathprofd.service
# setting NAME: its words, of all its lines.
setting() { sed -n "s/^$1=//p" "$unit" | tr '\n' ' '; }
# has NAME WORD...: whether the setting has these words.
has() {
	local words=" $(setting "$1") " word
	shift
	for word; do [[ $words == *" $word "* ]] || return 1; done
}
for set in CapabilityBoundingSet AmbientCapabilities; do
	check "bpf-unit-$set" "$(setting "$set")" has "$set" CAP_BPF CAP_PERFMON
done
check bpf-unit-calls "$(setting SystemCallFilter)" has SystemCallFilter bpf perf_event_open
check bpf-unit-memlock "$(setting LimitMEMLOCK)" has LimitMEMLOCK infinity
check bpf-unit-user-namespace "PrivateUsers= is set" eval '! grep -q "^PrivateUsers=" "$unit"'

if [ "$(id -u)" -ne 0 ]; then
	echo "skip bpf-rights: only root may become a user with these capabilities"
	finish
fi
cp "$BUILD/tests/tools/bpf_rights" "$tmp/rights"
chmod 755 "$tmp/rights"
if ! "$tmp/rights" >"$tmp/out" 2>"$tmp/err"; then
	echo "skip bpf-rights: not even root may: $(cat "$tmp/err")"
	finish
fi

# as CAPABILITIES: nobody with these, and no way to others; sets $status.
as() {
	status=0
	setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps="-all$1" \
		--ambient-caps="-all$1" --bounding-set="-all$1" "$tmp/rights" \
		>"$tmp/out" 2>"$tmp/err" || status=$?
}

as ,+bpf,+perfmon
check bpf-unprivileged "status $status: $(cat "$tmp/err")" test "$status" -eq 0
check bpf-unprivileged-ring "$(cat "$tmp/out")" grep -qE '^ring: ok, [1-9]' "$tmp/out"
# Loading needs it; from Linux 5.19 on what comes then does not.
check bpf-gives-up "$(cat "$tmp/out")" grep -qE '^without CAP_BPF: ' "$tmp/out"
sed -n 's/^without/# drained without/p' "$tmp/out"

# Whether it was refused by one line with these words.
refused_line() {
	[ "$status" -eq 1 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -qF "$1" "$tmp/err"
}
for each in '+perfmon:CAP_BPF is missing' '+bpf:CAP_PERFMON is missing' \
	':CAP_BPF and CAP_PERFMON are missing'; do
	caps=${each%%:*}
	as "${caps:+,$caps}"
	check "bpf-refused-with-${caps:-nothing}" "status $status: $(cat "$tmp/err")" \
		refused_line "EPERM: ${each#*:}"
done
if unshare -Ur true 2>/dev/null; then
	status=0
	unshare -Ur "$tmp/rights" >"$tmp/out" 2>"$tmp/err" || status=$?
	check bpf-refused-in-user-namespace "status $status: $(cat "$tmp/err")" \
		refused_line 'user namespace'
else
	echo 'skip bpf-refused-in-user-namespace: none can be made'
fi

# The daemon's own refusal and doctor's say the same; where the source can run there is none.
status=0
"$pathprofd" --source bpf --db "$db" --duration 1 >"$tmp/out" 2>"$tmp/err" || status=$?
if [ "$status" -ne 0 ]; then
	"$BUILD/bin/pathprofctl" doctor >"$tmp/doctor" || true
	reason=$(sed -n 's/^no *source bpf: no -- [A-Z0-9]*: \(.*\) -- .*/\1/p' "$tmp/doctor")
	check bpf-one-word "daemon: $(cat "$tmp/err"); doctor: $reason" \
		eval '[ -n "$reason" ] && grep -qF "$reason" "$tmp/err"'
else
	ok bpf-one-word
fi
finish
