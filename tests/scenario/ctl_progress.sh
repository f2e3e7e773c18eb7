#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A verb that takes long says from the third second on that it is at work: here opening the database
# takes five seconds, and until that is said. On a terminal the line is gone when the result is
# there, and what is over soon says nothing. The terminal of a recorded program is the program's.
set -eu
name=ctl_progress
. "$(dirname "$0")/ctl_common.bash"
unset PATHPROF_PROGRESS_SECONDS

cd "$dir"
cat >slow.c <<'END_OF_SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the file that SAID names has a line of progress. */
static int is_said(void)
{
	FILE *said = fopen(getenv("SAID"), "r");
	char text[4096];

	text[said ? fread(text, 1, sizeof(text) - 1, said) : 0] = 0;
	if (said)
		fclose(said);
	return strstr(text, "reading the profile") != NULL;
}

int sqlite3_open_v2(const char *file, void **db, int flags, const char *vfs)
{
	int (*next)(const char *, void **, int, const char *) = dlsym(RTLD_NEXT, "sqlite3_open_v2");

	sleep(5);
	for (int i = 0; i < 1200 && !is_said(); i++)
		usleep(100000);
	return next(file, db, flags, vfs);
}
END_OF_SOURCE
gcc -shared -fPIC -o slow.so slow.c -ldl
# Opening waits for a pipe to end, or for ever: as a file that comes slowly, and one that does not come.
cat >pipe.c <<'END_OF_SOURCE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int sqlite3_open_v2(const char *file, void **db, int flags, const char *vfs)
{
	int (*next)(const char *, void **, int, const char *) = dlsym(RTLD_NEXT, "sqlite3_open_v2");
	static int fd;
	char byte;

	if (!fd)
		fd = open(getenv("PIPE"), getenv("FOR_EVER") ? O_RDWR : O_RDONLY);
	while (read(fd, &byte, 1) == 1)
		;
	return next(file, db, flags, vfs);
}
END_OF_SOURCE
gcc -shared -fPIC -o pipe.so pipe.c -ldl
mkfifo slowly never
"$known" known.db
PIPE=slowly LD_PRELOAD=$dir/pipe.so "$ctl" --db known.db paths >"out slowly" 2>"said slowly" </dev/null &
slowly=$!
for ((i = 0; i < 70; i++)); do echo -n x && sleep 0.1; done >slowly &

seconds='([2-9]|[1-9][0-9]+)'
verbs=("baseline set one" "export -F csv" "paths" "compare window:1 window:2" "processes")
for verb in "${verbs[@]}"; do
	# shellcheck disable=SC2086 # words
	SAID="said ${verb%% *}" LD_PRELOAD=$dir/slow.so "$ctl" --db known.db $verb >"out ${verb%% *}" 2>"said ${verb%% *}" </dev/null &
done
wait $slowly || { cat "said slowly"; fail "a file that comes slowly is taken for one that never does"; }
wait
for verb in "${verbs[@]}"; do
	verb=${verb%% *}
	grep -qE "^pathprofctl: $verb: $seconds s: reading the profile$" "said $verb" ||
		{ cat "said $verb"; fail "$verb says nothing of its five seconds"; }
	[ "$(grep -c ' s: reading' "said $verb")" -le 3 ] || fail "$verb says it too often for a file"
done
PATHPROF_PROGRESS_SECONDS=1000 run 0 paths --db known.db
! grep -q ' s: reading' said || fail "a quick command has progress"


# An import whose input stalls says what it waits for: before the first byte, and once reading has begun, with
# more than a pipe holds. The rest comes when that was said.
until_waits() { for _ in $(seq 1200); do ! grep -q 'waits for' said || break; sleep 0.1; done; }
for bytes in 0 100000; do
	: >said
	{ head -c $bytes /dev/zero | tr '\0' '\n'; until_waits; echo; } | "$ctl" import -F perf-script -o slow.db - >got 2>said || true
	grep -qE '^pathprofctl: import: [0-9]+ MB, [0-9]+ samples, waits for more from standard input$' said ||
		{ cat said; fail "import does not say what it waits for, behind $bytes bytes"; }
done

# On a terminal the line is erased before the table, and what is shown is whole.
SAID=screen LD_PRELOAD=$dir/slow.so script -qec "'$ctl' paths --db known.db --color never" /dev/null >screen </dev/null
grep -qE "pathprofctl: paths: $seconds s: reading the profile" screen || { cat -v screen; fail "nothing on a terminal"; }
python3 - <<'END_OF_TEST' || { cat -v screen; fail "progress stays on the terminal"; }
screen = open("screen", "rb").read()
shown = [line.split(b"\r\x1b[K")[-1] for line in screen.replace(b"\r\n", b"\n").split(b"\n")]
assert not any(b"reading the profile" in line for line in shown), shown
assert shown[0].split()[0] in (b"TIME", b"SHARE", b"RUNS"), shown[0]
END_OF_TEST

# On a terminal, the message that ends the command has a line of its own.
export PIPE=never FOR_EVER=1
LD_PRELOAD=$dir/pipe.so script -qec "'$ctl' paths --db known.db --color never" /dev/null >screen </dev/null || true
python3 - "$dir/never" <<'END_OF_TEST' || { cat -v screen; fail "a file that does not come is told of behind the progress"; }
import os, sys
screen = open("screen", "rb").read()
assert b": reading the profile" in screen
shown = [line.split(b"\r\x1b[K")[-1] for line in screen.replace(b"\r\n", b"\n").split(b"\n")]
assert b"pathprofctl: " + os.path.realpath(sys.argv[1]).encode() + b": does not answer (after 5 s)" in shown, shown
END_OF_TEST

# A terminal that a recorded program writes to is the program's alone: its unfinished line stays,
# and nothing is written over it.
"$ctl" doctor >doctor || {
	echo "skip $name/record: no source can run here: $(grep '^no .*single steps' doctor)"
	finish
	exit 0
}
progress='pathprofd: [0-9]+ s, [0-9]+ bursts?, [0-9]+ paths?'
record="'$ctl' record --no-report -o record.db --"
script -qec "$record sh -c 'printf unfinished; sleep 3'" /dev/null >screen </dev/null
! grep -qE "$progress" screen ||
	{ cat -v screen; fail "progress is written over what a program shows"; }
python3 - <<'END_OF_TEST' || { cat -v screen; fail "what a program left on its line is erased"; }
shown = open("screen", "rb").read().split(b"\n")[0].split(b"\x1b[K")[-1]
assert shown.startswith(b"unfinished"), shown
END_OF_TEST
script -qec "stty -icanon; $record sleep 3 >/dev/null" /dev/null >screen </dev/null
! grep -qE "$progress" screen ||
	{ cat -v screen; fail "progress is written while a program reads key by key"; }
cat >until_said <<END_OF_SOURCE
for i in \$(seq 1200); do ! grep -qE '$progress' screen || break; sleep 0.1; done
END_OF_SOURCE
script -qec "$record sh until_said >/dev/null" /dev/null >screen </dev/null
grep -qE "$progress" screen ||
	{ cat -v screen; fail "no progress of a program that writes elsewhere"; }
finish
