#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A verb that takes long says from the third second on that it is at work: here opening the database
# takes five seconds. On a terminal the line is gone when the result is there, and what is over soon
# says nothing.
set -eu
name=ctl_progress
. "$(dirname "$0")/ctl_common.bash"
unset PATHPROF_PROGRESS_SECONDS

cd "$dir"
cat >slow.c <<'END_OF_SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

int sqlite3_open_v2(const char *file, void **db, int flags, const char *vfs)
{
	int (*next)(const char *, void **, int, const char *) = dlsym(RTLD_NEXT, "sqlite3_open_v2");

	sleep(5);
	return next(file, db, flags, vfs);
}
END_OF_SOURCE
gcc -shared -fPIC -o slow.so slow.c -ldl
"$known" known.db

verbs=("baseline set one" "export -F csv" "paths" "compare window:1 window:2" "processes")
for verb in "${verbs[@]}"; do
	# shellcheck disable=SC2086 # words
	LD_PRELOAD=$dir/slow.so "$ctl" --db known.db $verb >"out ${verb%% *}" 2>"said ${verb%% *}" </dev/null &
done
wait
for verb in "${verbs[@]}"; do
	verb=${verb%% *}
	grep -qE "^pathprofctl: $verb: [2-9] s: reading the profile$" "said $verb" ||
		{ cat "said $verb"; fail "$verb says nothing of its five seconds"; }
	[ "$(grep -c ' s: reading' "said $verb")" -le 3 ] || fail "$verb says it too often for a file"
done
PATHPROF_PROGRESS_SECONDS=1000 run 0 paths --db known.db
! grep -q ' s: reading' said || fail "a quick command has progress"


# An import of a recording that comes slowly: more than a pipe holds, so that reading has begun, and
# the rest four seconds later.
{ head -c 100000 /dev/zero | tr '\0' '\n'; sleep 4; echo; } |
	"$ctl" import -F perf-script -o slow.db - >got 2>said || true
grep -qE '^pathprofctl: import: [0-9]+ MB, [0-9]+ samples$' said || { cat said; fail "import says nothing of four seconds"; }

# On a terminal the line is erased before the table, and what is shown is whole.
LD_PRELOAD=$dir/slow.so script -qec "'$ctl' paths --db known.db --color never" /dev/null >screen </dev/null
grep -q 'pathprofctl: paths: [2-9] s: reading the profile' screen || { cat -v screen; fail "nothing on a terminal"; }
python3 - <<'END_OF_TEST' || { cat -v screen; fail "progress stays on the terminal"; }
screen = open("screen", "rb").read()
shown = [line.split(b"\r\x1b[K")[-1] for line in screen.replace(b"\r\n", b"\n").split(b"\n")]
assert not any(b"reading the profile" in line for line in shown), shown
assert shown[0].split()[0] in (b"TIME", b"SHARE", b"RUNS"), shown[0]
END_OF_TEST
finish
