# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced first by each test that steps or profiles: it runs the script again in a process namespace
# of its own. There the profiler sees only what the script starts, so it neither touches nor counts
# what else runs on the machine, and everything that the script starts ends with it.
#
# Process 1 of the namespace is a shell that only waits for the script. The profiler spares process
# 1, so no workload may be it. A user without the right to a namespace gets it in a user namespace.
#
# BPF programs see the machine's process ids, not a namespace's. A test of theirs says
# own_processes=no beforehand, and must name the process that it profiles in each recording.

# Tables are shown whole: files of tests have long names. Nothing says that it takes long: how long
# that is depends on what else the machine does.
export COLUMNS=5000 PATHPROF_PROGRESS_SECONDS=1000000

run_apart() {
	local kind
	for kind in "" "--user --map-current-user"; do
		# shellcheck disable=SC2086 # options are words
		unshare $kind --pid --fork --mount-proc true 2>/dev/null || continue
		# shellcheck disable=SC2086,SC2016
		exec unshare $kind --pid --fork --mount-proc --kill-child bash -c \
			'OWN_PROCESSES=$(readlink /proc/self/ns/pid) bash "$@"; exit $?' sh "$0" "$@"
	done
	# unshare makes the root's mounts private first, which fails where the root is no mount point.
	local advice=
	mountpoint -q / || advice=": in a chroot, bind its directory to itself first (mount --bind DIR DIR)"
	echo "skip $(basename "$0" .sh): no process namespace can be made here$advice"
	exit 0
}
[ "${own_processes:-}" = no ] || [ "${OWN_PROCESSES:-}" = "$(readlink /proc/self/ns/pid)" ] ||
	run_apart "$@"
