# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by service.sh: what a control group, or a range of addresses, leaves of the profile.

# The processes that a database has, in one line.
processes_of() { # DB
	show "$1" processes --json | sed -nE 's/.*"pid": ([0-9]+).*/\1/p' | sort -nu | tr '\n' ' '
}

# has_only NAME DB PID: nothing else was profiled.
has_only() {
	if [ "$(processes_of "$2")" = "$3 " ]; then
		ok "$1"
	else
		not_ok "$1" "wanted $3 alone: $(processes_of "$2") $(cat /tmp/daemon)"
		show "$2" status | sed 's/^/#   /'
	fi
}

# By the BPF program, on the test PMU's stacks.
service_bpf_group() { # GROUP INSIDE
	give_stacks || return
	lbr_settings bpf auto >/tmp/group.conf
	profile_until 500 /tmp/bpf_group.db -c /tmp/group.conf --cgroup "$1"
	has_only service_bpf_group /tmp/bpf_group.db "$2"
}

# Of two programs that do the same, one is in the group.
service_group() {
	local groups=/tmp/select_groups inside outside
	mkdir -p $groups
	if ! mount -t cgroup2 groups $groups || ! mkdir -p $groups/a.slice/inside.service; then
		not_ok service_group "no control groups"
		return
	fi
	./vmflow "$endless" >/tmp/out &
	inside=$!
	./vmflow "$endless" >/tmp/out2 &
	outside=$!
	echo $inside >$groups/a.slice/inside.service/cgroup.procs
	profile_until 100 /tmp/group.db --source kmod-swlbr --overhead 40% --window 2 --cgroup inside.service
	has_only service_group /tmp/group.db $inside
	service_bpf_group $groups/a.slice $inside
	profile_until 100 /tmp/all.db --source kmod-swlbr --overhead 40% --window 2
	case " $(processes_of /tmp/all.db)" in
	*" $outside "*) ok service_group_falsified ;;
	*) not_ok service_group_falsified "without a group: $(processes_of /tmp/all.db)" ;;
	esac
	if ./pathprofd --source kmod-swlbr --cgroup nobody.service --db /tmp/none.db 2>/tmp/daemon; then
		not_ok service_no_group "it started"
	else
		run_check service_no_group grep -q 'Cgroup=nobody.service: no such group' /tmp/daemon
	fi
	service_addresses
	kill -9 $inside $outside
	wait $inside $outside 2>/dev/null
	rmdir $groups/a.slice/inside.service $groups/a.slice
	umount $groups
}

# The program lies at 400000; nothing does below.
service_addresses() {
	local file=/tmp/addresses.db
	profile_until 50 $file --source kmod-swlbr --overhead 40% --window 2 --addresses 400000-4fffff
	if [ "$(status_figure $file bursts | cut -d. -f1)" -ge 50 ]; then
		ok service_addresses
	else
		not_ok service_addresses "$(tail -1 /tmp/daemon)"
	fi
	./pathprofd --source kmod-swlbr --overhead 40% --window 2 --duration 4 --addresses 1000-1fff \
		--db /tmp/nowhere.db 2>/tmp/daemon
	if [ "$(status_figure /tmp/nowhere.db bursts)" = 0 ] &&
		[ "$(status_figure /tmp/nowhere.db skip_selection)" -gt 0 ]; then
		ok service_no_addresses
	else
		not_ok service_no_addresses "$(status_figure /tmp/nowhere.db bursts) bursts: $(tail -1 /tmp/daemon)"
	fi
}
