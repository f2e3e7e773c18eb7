#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The output of doctor when something is refused: by capabilities, a user namespace, a seccomp
# filter, lockdown, or a kernel without its types. Each is made to be so, for a process of this
# test, and told apart from the others; the planted fault is that as root none of them may be told.
. "$(dirname "$0")/daemon_common.bash"

ctl=$tmp/pathprofctl
cp "$BUILD/bin/pathprofctl" "$ctl"
chmod 755 "$ctl"

# says NAME FACT WORDS: whether the line of that fact in $tmp/out has these words.
says() {
	local line
	line=$(grep -E "^(ok|no|warn) +$2" "$tmp/out" || true)
	if [[ $line == *"$3"* ]]; then ok "$1"; else not_ok "$1" "${line:-no line of $2}"; fi
}

"$ctl" doctor >"$tmp/out" || true
check doctor-form "$(grep -vE '^(ok|no|warn) +[^:]+' "$tmp/out" | head -n 1)" \
	eval '! grep -qvE "^(ok|no|warn) +[^:]+" "$tmp/out"'
for source in bpf auto; do
	says "doctor-source-$source" "source $source:" "source $source"
done
# A "no" has its reason behind it, and mostly what would change it.
check doctor-says-why "$(grep -E '^no' "$tmp/out" | grep -v ' -- ' | head -n 1)" \
	eval '! grep -E "^no" "$tmp/out" | grep -qv " -- "'
"$ctl" doctor --json >"$tmp/json" || true
check doctor-json "facts differ" eval \
	'[ "$(grep -c "\"fact\"" "$tmp/json")" = "$(wc -l <"$tmp/out")" ] &&
	grep -q "\"fact\": \"source bpf\", \"value\": \"\(yes\|no\)\"" "$tmp/json"'

mkdir "$tmp/state"
"$ctl" doctor --db "$tmp/state/profile.db" >"$tmp/out" || true
says doctor-state 'state directory' ": $tmp/state, "
"$ctl" doctor --db "$tmp/state/none/profile.db" >"$tmp/out" || true
says doctor-state-to-be-made 'state directory' ": $tmp/state, "
if [ -e "/lib/modules/$(uname -r)/build" ]; then
	says doctor-headers 'kernel headers' "/lib/modules/$(uname -r)/build"
elif dpkg-query -W "linux-image-$(uname -r)" >/dev/null 2>&1; then
	says doctor-headers 'kernel headers' "apt install linux-headers-$(uname -r)"
else
	says doctor-headers 'kernel headers' 'from where the kernel came'
fi

if [ "$(id -u)" -ne 0 ]; then
	echo "skip doctor-refusals: only root may give up one right and keep others"
	finish
fi
if ! grep -qE '^ok +BPF programs' "$tmp/out"; then
	echo "skip doctor-refusals: this machine refuses root already: $(grep 'BPF programs' "$tmp/out")"
	finish
fi
blamed='missing|seccomp|confidentiality|user namespace|no BTF|security module'
# Root in a machine of this test's may lack the right that this fact is about.
grep -v '^warn *memory runs out:' "$tmp/out" >"$tmp/others"
check doctor-blames-nobody "$(grep -E "$blamed" "$tmp/others" | head -n 1)" \
	eval '! grep -qE "$blamed" "$tmp/others"'

# as CAPABILITIES: nobody with these.
as() {
	setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps="-all$1" \
		--ambient-caps="-all$1" "$ctl" doctor >"$tmp/out" 2>"$tmp/err" || true
}
as ''
says doctor-memory 'memory runs out' 'the stepper may be killed for it -- CAP_SYS_RESOURCE is missing'
says doctor-no-caps 'BPF programs' 'EPERM: CAP_BPF and CAP_PERFMON are missing'
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ]; then
	says doctor-paranoid 'mapping events' 'EACCES: kernel.perf_event_paranoid'
fi
as ,+bpf
says doctor-bpf-alone 'BPF programs' 'EPERM: CAP_PERFMON is missing'
as ,+perfmon
says doctor-perfmon-alone 'BPF programs' 'EPERM: CAP_BPF is missing'
says doctor-perfmon-perf 'mapping events' 'MMAP2'
check doctor-mappings-alone "$(grep 'mapping events' "$tmp/out")" eval '! grep -q "mapping events.*build-id" "$tmp/out"'
as ,+bpf,+perfmon
says doctor-both 'BPF programs' 'loads'

if unshare -Ur true 2>/dev/null; then
	unshare -Ur "$ctl" doctor >"$tmp/out" || true
	says doctor-user-namespace 'BPF programs' 'EPERM: this is a user namespace'
else
	echo 'skip doctor-user-namespace: none can be made'
fi

# Files that stand for another kernel's, in a mount namespace of their own.
if unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$0" doctor' "$ctl" \
		>"$tmp/out" 2>"$tmp/err" || true
	says doctor-no-btf 'BPF types' 'the kernel carries no BTF'
	last=$(cat /proc/sys/kernel/cap_last_cap)
	unshare -m sh -c 'mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama &&
		echo "$1" >/proc/sys/kernel/cap_last_cap && echo 2 >/proc/sys/kernel/yama/ptrace_scope &&
		shift && exec "$@"' sh "$last" setpriv --reuid 65534 --regid 65534 --clear-groups \
		--inh-caps=-all "$ctl" doctor >"$tmp/out" 2>"$tmp/err" || true
	says doctor-yama-2 'ptrace:' 'no process -- kernel.yama.ptrace_scope is 2, and CAP_SYS_PTRACE is missing'
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/security &&
		echo "none integrity [confidentiality]" >/sys/kernel/security/lockdown &&
		exec "$0" doctor' "$ctl" >"$tmp/out" 2>"$tmp/err" || true
	says doctor-confidentiality 'BPF under lockdown' 'reads kernel memory'
	says doctor-lockdown-word 'kernel lockdown' 'confidentiality'
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/security &&
		echo "none [integrity] confidentiality" >/sys/kernel/security/lockdown &&
		exec "$0" doctor' "$ctl" >"$tmp/out" 2>"$tmp/err" || true
	says doctor-integrity 'kernel lockdown' 'integrity -- only signed modules load'
	check doctor-integrity-bpf "$(grep lockdown "$tmp/out")" \
		eval '! grep -q "BPF under lockdown" "$tmp/out"'
	# Level 3 as Debian's kernels take it: perf events are refused in spite of CAP_PERFMON.
	echo 3 >"$tmp/level"
	unshare -m sh -c 'mount --bind "$1" /proc/sys/kernel/perf_event_paranoid && shift && exec "$@"' sh \
		"$tmp/level" setpriv --bounding-set=-all,+perfmon --inh-caps=-all \
		"$BUILD/tests/tools/refuse_perf" "$ctl" doctor >"$tmp/out" 2>"$tmp/err" || true
	says doctor-paranoid-3 'perf_event_paranoid' '3 -- no perf events without CAP_SYS_ADMIN'
	check doctor-paranoid-3-warns "$(grep paranoid "$tmp/out")" grep -q '^warn *perf_event_paranoid' "$tmp/out"
	# And as other kernels take it, to which it is 2.
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
		unshare -m sh -c 'mount --bind "$1" /proc/sys/kernel/perf_event_paranoid && shift && exec "$@"' sh \
			"$tmp/level" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$ctl" doctor \
			>"$tmp/out" 2>"$tmp/err" || true
		says doctor-paranoid-3-as-2 'perf_event_paranoid' "3 -- only one's own processes"
		says doctor-paranoid-3-clock 'clock sampling' "for one's own programs"
		says doctor-paranoid-3-events 'mapping events' 'does not allow it without CAP_PERFMON'
	else
		echo 'skip doctor-paranoid-3-as-2: this kernel allows more, or less, than at level 2'
	fi
else
	echo 'skip doctor-other-kernels: no mount namespace can be made'
fi

# A filter as containers have it: both calls are answered by EPERM.
cat >"$tmp/filter.py" <<'PYTHON'
import ctypes, os, struct, sys
bpf, perf_event_open, eperm = 321, 298, 1
allow, refuse = 0x7fff0000, 0x00050000 | eperm
code = [(0x20, 0, 0, 0), (0x15, 2, 0, bpf), (0x15, 1, 0, perf_event_open), (0x06, 0, 0, allow),
        (0x06, 0, 0, refuse)]
text = b"".join(struct.pack("HBBI", *each) for each in code)
buffer = ctypes.create_string_buffer(text)
program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0):
    sys.exit("no filter: " + os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
PYTHON
if [ "$(uname -m)" = x86_64 ] && python3 "$tmp/filter.py" /bin/true 2>"$tmp/err"; then
	python3 "$tmp/filter.py" "$ctl" doctor >"$tmp/out" 2>"$tmp/err" || true
	says doctor-seccomp-bpf 'BPF programs' 'EPERM: a seccomp filter refuses bpf'
	says doctor-seccomp-perf 'branch stack' 'EPERM: a seccomp filter refuses perf_event_open'
	says doctor-seccomp-source 'source bpf' 'seccomp'
else
	echo "skip doctor-seccomp: $(cat "$tmp/err")"
fi
finish
