# SPDX-License-Identifier: GPL-2.0-or-later
# The unit's walls, tried from inside: a shell enters the namespaces and the control group of the running
# service and has its user, capabilities and no_new_privs; and the kernel's word on each process.
. ./common.bash

fresh "$quick"
work hot ./hot
systemctl start "$unit"
wait_for 60 sees hot
main=$(property MainPID)
of() { sed -nE "s/^$1:\s*//p" "/proc/$main/status"; }
check sandbox_user 'of Uid' test "$(stat -c %U "/proc/$main")" = pathprof
check sandbox_no_new_privs 'of NoNewPrivs' test "$(of NoNewPrivs)" = 1
check sandbox_seccomp 'of Seccomp' test "$(of Seccomp)" = 2

# inside COMMAND...: with the service's mounts, network and rights.
inside() {
	nsenter -t "$main" -m -n -i -u -- setpriv --reuid pathprof --regid pathprof --clear-groups --no-new-privs \
		--inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"
}
# As the unit's root would: what the mounts refuse is refused to it as well.
inside_as_root() { nsenter -t "$main" -m -n -i -u -- "$@"; }
refused() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >/run/out 2>&1
	check "sandbox_$name" 'cat /run/out' test $? -ne 0
}
refused usr_is_read_only inside_as_root touch /usr/bin/x
refused etc_is_read_only inside_as_root touch /etc/x
refused home_is_read_only inside_as_root touch /root/x
refused sysctl_is_read_only inside_as_root sh -c 'echo 0 >/proc/sys/kernel/perf_event_paranoid'
refused cgroups_are_read_only inside_as_root mkdir /sys/fs/cgroup/x
refused no_kernel_log inside_as_root sh -c 'exec head -c1 /dev/kmsg'
refused no_modules inside_as_root test -e /usr/lib/modules/"$(uname -r)"
check sandbox_state_is_writable 'ls -ld /var/lib/pathprof' inside sh -c 'touch /var/lib/pathprof/x && rm /var/lib/pathprof/x'
echo secret >/tmp/of-the-host
refused tmp_is_private inside_as_root test -e /tmp/of-the-host
check sandbox_no_interface 'inside_as_root cat /proc/net/dev' test "$(tail -n +3 "/proc/$main/net/dev" | cut -d: -f1 | tr -d ' ')" = lo
refused no_network inside_as_root bash -c 'exec 3<>/dev/tcp/127.0.0.1/22'

# What the filter lets through, in a process of systemd's with the unit's own lines.
filtered() { # COMMAND...: as the unit starts it
	local line arguments=()
	while read -r line; do arguments+=(-p "$line"); done < <(systemctl cat "$unit" |
		grep -E '^(User|Group|NoNewPrivileges|SystemCall|Restrict|MemoryDenyWriteExecute|LockPersonality|Protect|Private|CapabilityBoundingSet|AmbientCapabilities|DevicePolicy|DeviceAllow|IPAddressDeny)[A-Za-z]*=')
	systemd-run -q --wait --pipe "${arguments[@]}" "$@" </dev/null
}
check sandbox_filter_runs 'cat /run/out' eval 'filtered /bin/true >/run/out 2>&1'
refused filter_socket filtered /srv/payload/tries socket
refused filter_mount filtered /srv/payload/tries mount
refused filter_namespace filtered /srv/payload/tries namespace
refused filter_keyring filtered /srv/payload/tries keyring
refused filter_module filtered /srv/payload/tries module
refused filter_exec_memory filtered /srv/payload/tries exec-memory
refused filter_personality filtered /srv/payload/tries personality
refused filter_clock filtered /srv/payload/tries clock
refused filter_setuid filtered /srv/payload/tries setuid
check sandbox_tries_work 'cat /run/out' eval 'for t in socket mount namespace exec-memory personality setuid; do ./tries $t || { echo $t; false; }; done >/run/out 2>&1'
# A program of root's with the set-user-id bit brings no capability back.
install -m 4755 -o root ./tries /usr/local/bin/tries-suid
refused filter_suid filtered /usr/local/bin/tries-suid is-root
check sandbox_suid_works 'runuser -u nobody -- /usr/local/bin/tries-suid is-root' runuser -u nobody -- /usr/local/bin/tries-suid is-root

exposure=$(systemd-analyze security --no-pager "$unit" | sed -nE 's/.*Overall exposure level for [^:]*: ([0-9.]+).*/\1/p')
echo "# systemd-analyze security: $exposure"
check sandbox_exposure 'systemd-analyze security --no-pager $unit' awk "BEGIN { exit !($exposure > 0 && $exposure <= 4.0) }"
check sandbox_breaks_nothing 'pathprofctl status' sees hot
rm -f /usr/local/bin/tries-suid /tmp/of-the-host
rest hot
