#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Generated code under record: a program that ends before the window closes has its names, from the
# map file that its compiler wrote; without such a file all of its code is one row and not one for
# each path.
set -eu
name=record_jit
. "$(dirname "$0")/ctl_common.bash"

"$ctl" doctor >"$dir/doctor" || {
	echo "skip $name: no source can run here: $(grep '^no .*single steps' "$dir/doctor")"
	exit 0
}
cd "$dir"
# Others that run beside have process ids from 1 on, too, and write a /tmp/perf-PID.map.
{ echo $((10000 + RANDOM % 20000)) >/proc/sys/kernel/ns_last_pid; } 2>/dev/null || true
cat >jit.c <<'END_OF_SOURCE'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* for (ecx = edi; ecx; ecx--) if (ecx & BIT) eax++; */
static const uint8_t code[] = {
	0x89, 0xf9,                   /* mov %edi,%ecx */
	0x31, 0xc0,                   /* xor %eax,%eax */
	0xf6, 0xc1, 0x01,             /* test $BIT,%cl */
	0x74, 0x02,                   /* jz over */
	0xff, 0xc0,                   /* inc %eax */
	0xff, 0xc9,                   /* over: dec %ecx */
	0x75, 0xf5,                   /* jnz test */
	0xc3,
};
#define FUNCTION_CNT 3

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	uint8_t *text = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map = NULL;
	unsigned sum = 0;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	if (argc > 2)
		map = fopen(path, "w");
	for (int i = 0; i < FUNCTION_CNT; i++) {
		memcpy(text + 64 * i, code, sizeof(code));
		text[64 * i + 6] = 1 << i;
		if (map)
			fprintf(map, "%lx %zx generated_%d\n", (unsigned long)(text + 64 * i), sizeof(code), i);
	}
	if (map)
		fclose(map);
	while (now() < atof(argv[1]))
		for (int i = 0; i < FUNCTION_CNT; i++)
			sum += ((unsigned (*)(unsigned))(text + 64 * i))(200000);
	if (map)
		unlink(path);
	return sum == 42;
}
END_OF_SOURCE
gcc -O1 -w -o jit jit.c

# A busy machine reads the names late: then the program runs for longer.
for seconds in 1.5 6 24; do
	rm -f named.db*
	run 0 record --overhead 60 -o named.db -- ./jit $seconds named
	run 0 --db named.db top --by functions --since -1h -n 0
	[ "$(grep -c ' generated_[012] ' got)" = 3 ] &&
		! grep -qE '(\[|jit:[0-9]+\+0x).*jit:' got && break
done
grep -q 'jit:' got || fail "no generated code was seen: $(cat got said)"
! grep -E '(\[|jit:[0-9]+\+0x).*jit:' got || fail "generated code has no name"
[ "$(grep -c ' generated_[012] ' got)" = 3 ] || { cat got; fail "not three generated functions"; }

run 0 record --overhead 60 -o nameless.db -- ./jit 1.5
run 0 --db nameless.db top --by functions --since -1h -n 0
[ "$(grep -c 'jit:' got)" = 1 ] || { cat got; fail "code without names is not one row"; }
grep -qE ' \[jit:[0-9]+\] +jit:' got || { cat got; fail "code without names is not called so"; }

# Two processes with generated code are one row of a table, and two objects; an export says what it
# leaves out.
run 0 record --overhead 60 -o nameless.db -- ./jit 1.5
run 0 --db nameless.db binaries
[ "$(grep -c 'jit:' got)" = 1 ] && grep -q 'jit: (generated code of 2 processes)' got ||
	{ cat got; fail "generated code of two processes is not one row"; }
run 0 --db nameless.db binaries --json
[ "$(grep -c '"jit:' got)" = 2 ] || fail "JSON has not each process"
sum=$(python3 -c 'import json
print(sum(b["samples"] for b in json.load(open("got")) if b["binary"]["name"].startswith("jit:")))')
run 0 --db nameless.db binaries
[ "$(awk '/jit: /{ print $4 }' got)" = "$sum" ] || { cat got; fail "the row is not the sum of the two, $sum samples"; }
# A busy machine sees gzip late: then it has more to do.
for cnt in 600000 3000000 15000000; do
	rm -f mixed.db*
	run 0 record --overhead 60 -o mixed.db -- sh -c "./jit 1.5 named; seq $cnt | gzip -9 >/dev/null"
	! "$ctl" --db mixed.db export --binary gzip -F csv -o out.csv >got 2>said || break
done
run 0 --db mixed.db export --binary gzip -F csv -o out.csv
grep -qE '^pathprofctl: [0-9.]+ % of all samples are of generated code' said ||
	[ -z "$("$ctl" --db mixed.db binaries | grep jit:)" ] || { cat said; fail "an export does not say what it leaves out"; }
finish
