#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hosts that are not who they were: set up anew under the same name, put back from a snapshot (also
# within five minutes), renamed, cloned under one name or two, with a clock that is a day off. They
# record, send and change at random, while the hub is killed. What the hub holds in the end is every
# window that any of them recorded, each once; fleet_identity.py invents them and knows the sums.
. "$(dirname "$0")/../own_processes.bash"
. "$(dirname "$0")/../rounds.bash"
set -u
name=fleet_identity
here=$(realpath "$(dirname "$0")")
build=$(realpath "${BUILD:-build}")
for tool in sqlite3 python3 gcc; do
	command -v $tool >/dev/null || { echo "skip $name: no $tool" && exit 0; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
# A host whose clock is off: the time of day as the programs of this project read it, CLOCK_OFF seconds away.
cat >clock_off.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *to)
{
	int r = (int)syscall(SYS_clock_gettime, clock, to);

	if (r == 0 && clock == CLOCK_REALTIME)
		to->tv_sec += atol(getenv("CLOCK_OFF"));
	return r;
}
END
gcc -shared -fPIC -o clock_off.so clock_off.c || { echo "not ok $name: the clock that is off is not built"; exit 1; }
"$build/tests/tools/ctl_known_db" known.db || { echo "not ok $name: no database"; exit 1; }
timeout 3000 python3 "$here/fleet_identity.py" "$build" "$(rounds 1 12)"
