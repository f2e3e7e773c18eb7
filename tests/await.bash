# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by scenarios, and by what runs in a virtual machine, whose shell may be busybox'.

# Until the command succeeds. 1: it did not in so many tries.
await() { # TRIES PAUSE-SECONDS COMMAND...
	local tries=$1 pause=$2 try
	shift 2
	for try in $(seq "$tries"); do
		"$@" && return
		sleep "$pause"
	done
	return 1
}
