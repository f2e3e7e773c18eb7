#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pathprof-lab on an exact trace: its commands agree with one another, and with the same stream as
# text; a damaged trace is refused.
set -eu
build=${BUILD:-build}
lab=$(realpath "$build/bin/pathprof-lab")
tracer=$(realpath "$build/bin/pathprof-trace")
workload=$(realpath "$build/tests/workloads/flow_signal")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
failed=0

verdict() { # NAME CONDITION...
	local name=$1
	shift
	if "$@"; then echo "ok lab_trace $name"; else echo "not ok lab_trace $name: $*"; failed=1; fi
}
value() { awk -v name="$1" '$1 == name { print $2 }' "$2"; }

if ! command -v qemu-x86_64 >/dev/null; then
	echo "skip lab_trace: no qemu-x86_64 (apt install qemu-user)"
	exit 0
fi
"$tracer" -q --loads -o t.trace -- "$workload" >/dev/null
"$lab" trace-summary t.trace >summary
kinds=0
for kind in cond jmp ijmp call icall ret; do kinds=$((kinds + $(value $kind summary))); done
verdict "the kinds add up to the transfers" [ "$kinds" -eq "$(value transfers summary)" ]
verdict "the program has branches of its own" [ "$kinds" -gt 1000 ]
verdict "signals are seen" [ "$(value signals summary)" -gt 0 ]
verdict "nothing is missing" [ "$(value jumps summary)" -eq 0 ]
verdict "the file is whole" [ "$(value whole summary)" -eq 1 ]

"$lab" paths --drain t.trace >paths 2>err
verdict "paths sees the same branches" grep -q "^# branches $kinds paths $(wc -l <paths)\$" err
"$lab" paths t.trace 2>err | cut -d' ' -f1-3 >popped
"$lab" hpt --spill t.trace 2>err | awk '{ n += $4 } END { print n }' >counted
verdict "the hot path table spills every path once" [ "$(cat counted)" -eq "$(wc -l <popped)" ]
verdict "a trace and its paths as text give the same table" \
	cmp -s <("$lab" hpt t.trace 2>err) <("$lab" hpt popped 2>err)

for tuples in edges calls loads; do
	"$lab" compress P1 --tuples $tuples t.trace 2>err | cut -d' ' -f1,2 >$tuples
done
verdict "edges are the conditionals and indirect jumps" \
	[ "$(wc -l <edges)" -eq $(($(value cond summary) + $(value ijmp summary))) ]
verdict "calls are the calls" \
	[ "$(wc -l <calls)" -eq $(($(value call summary) + $(value icall summary))) ]
verdict "loads are the accesses" [ "$(wc -l <loads)" -eq "$(value accesses summary)" ]
verdict "a trace and its tuples as text hash alike" \
	cmp -s <("$lab" hash --tuples calls t.trace) <("$lab" hash calls)

"$lab" trace-summary --function main t.trace >function
verdict "main is called once" [ "$(value calls function)" -eq 1 ]
verdict "main has branches, the program more" [ "$(value branches function)" -gt 0 -a \
	"$(value branches function)" -lt "$kinds" ]
status=0
"$lab" trace-summary --function no_such_function t.trace >out 2>err || status=$?
verdict "an unknown function is refused" [ $status -eq 1 ]

# A page of code that another is moved over: what runs there then is the file's no more.
cat >moved.c <<'END'
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline, aligned(4096))) void spot(void) { __asm__ volatile(""); }
__attribute__((noinline, aligned(4096))) void behind(void) { __asm__ volatile(""); }
int main(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*volatile call)(void) = spot;

	call();
	memcpy(page, (void *)spot, 64);
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC) ||
	    mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)spot) == MAP_FAILED)
		return 1;
	call();
	behind();
	return 0;
}
END
if "${CC:-gcc}" -O0 -o moved moved.c; then
	status=0
	"$tracer" -q -o moved.trace -- ./moved || status=$?
	"$lab" trace-summary --function spot moved.trace >spot
	"$lab" trace-summary --function behind moved.trace >behind
	verdict "code moved over a page" [ $status -eq 0 -a "$(value calls behind)" -eq 1 -a \
		"$(value calls spot)" -eq 0 ]
fi

# A library's function is reached through the PLT, the first time by way of the dynamic linker, and
# by a call at a function's end, which is a jump. A loop around all of a function is no call of it.
cat >library.c <<'END'
void leaf(void) { __asm__ volatile("mov $9, %%ecx\n1: dec %%ecx\njnz 1b" ::: "ecx", "cc"); }
__asm__(".globl turn\n.type turn, @function\nturn: dec %edi\njnz turn\nret\n.size turn, .-turn");
END
cat >caller.c <<'END'
void leaf(void);
void turn(int times);
__attribute__((noinline)) void last(void) { leaf(); }
int main(void)
{
	for (int i = 0; i < 3; i++)
		leaf();
	last();
	turn(5);
	return 0;
}
END
if "${CC:-gcc}" -O2 -shared -fPIC -o liblibrary.so library.c &&
	"${CC:-gcc}" -O2 -o caller caller.c -L. -llibrary -Wl,-rpath,"$tmp",-z,lazy; then
	"$tracer" -q -o caller.trace -- ./caller
	"$lab" trace-summary --function leaf caller.trace >leaf
	"$lab" trace-summary --function turn caller.trace >turn
	verdict "calls of a library's functions" [ "$(value calls leaf)" -eq 4 -a "$(value calls turn)" -eq 1 ]
fi

size=$(stat -c %s t.trace)
head -c $((size - 20)) t.trace >cut.trace
"$lab" trace-summary cut.trace >cut
verdict "a trace without its end is read" \
	[ "$(value whole cut)" -eq 0 -a "$(value transfers cut)" -gt 0 ]
cp t.trace bad.trace
printf '\xff\xff\xff\xff' | dd of=bad.trace bs=1 seek=$((size / 2)) conv=notrunc status=none
status=0
"$lab" trace-summary bad.trace >out 2>err || status=$?
verdict "a damaged trace is refused" [ $status -eq 1 -a "$(wc -l <err)" -eq 1 ]
"$tracer" -q -o branches.trace -- "$workload" >/dev/null
status=0
"$lab" compress P1 --tuples loads branches.trace >out 2>err || status=$?
verdict "loads of a trace without are refused" [ $status -eq 1 ]
exit $failed
