#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing that was counted is lost, whatever the process does: threads, fork, vfork, exec, signals,
# longjmp, exceptions, libraries that come and go, kill -9 at any moment. The program keeps its own
# books (tests/workloads/counting.c). And files that are damaged, or cannot be made.
name=counting_runtime
. "$(dirname "$0")/counting_common.bash"
full() { [ "${PATHPROF_ROUNDS:-short}" = full ]; }
workloads=$here/../workloads

"$cc" -O2 -pthread "$workloads/counting.c" -o counting || { not_ok build "counting.c is not compiled"; exit 1; }

program=(./counting)
threads=64 each=1000
books "64 threads, twice" 0 1 $((2 * threads * each)) threads $threads $each
books "64 threads at once" 0 1 $((2 * threads * 300000)) steps $threads 300000
books "fork" 0 2 111 fork
books "vfork" 0 1 100 vfork
books "exec" 0 2 200 exec
books "_exit" 0 1 100 exit
books "abort" 134 1 100 abort
books "signals" 0 1 0 signals 20000
books "longjmp" 0 1 300 jumps 300

# Wherever a handler interrupts a count and has the table replaced, the count is in the new one, once.
cat >interrupted.c <<'END'
#include <stdbool.h>
static void interrupt(void);
#define __builtin_clzll(x) (interrupt(), __builtin_clzll(x))
#include "hash.c"
#include <stdio.h>
#include <string.h>

#define INTERRUPTING 2000

static _Alignas(4096) char memory[1 << 22];
static uint64_t used, ids, place, wanted;
static bool held;
static unsigned int lost;
__attribute__((section(PATHPROF_COUNTERS_SECTION), used)) static uint64_t counter;

/* At the wanted one of the places that counting comes by, unless signals are held. */
static void interrupt(void)
{
	if (!held && ++place == wanted)
		for (int i = 0; i < INTERRUPTING; i++)
			__pathprof_count_residual(&counter, ids++);
}

uint64_t counts_lock(void)
{
	held = true;
	return 0;
}
void counts_unlock(uint64_t signals) { held = false; }
struct pathprof_counts_region *counts_mine(void) { return (void *)(memory + 4096); }
void counts_attach(void) {}
void counts_lose(void) { lost++; }
struct pathprof_counts_region *counts_region_at(uint64_t at) { return (void *)(memory + at); }
uint64_t counts_place_of(const struct pathprof_counts_region *region)
{
	interrupt();
	return (uint64_t)((const char *)region - memory);
}
struct pathprof_counts_region *counts_append(uint32_t kind, uint64_t bytes)
{
	struct pathprof_counts_region *region = counts_region_at(used);

	region->bytes = (bytes + 4095) & ~4095ull;
	used += region->bytes;
	return region;
}

/* False: it did not come by so many places. */
static bool count_interrupted(uint64_t at)
{
	memset(memory, 0, sizeof(memory));
	used = 8192;
	ids = wanted = 0;
	while (ids < 400)
		__pathprof_count_residual(&counter, ids++);
	place = 0;
	wanted = at;
	__pathprof_count_residual(&counter, ids++);
	return place >= at;
}

static uint64_t counted(void)
{
	const struct pathprof_counts_region *table = counts_region_at(counts_mine()->hash);
	const struct pathprof_counts_entry *entry = (const void *)(table + 1);
	uint64_t sum = 0;

	for (; (const char *)(entry + 1) <= (const char *)table + table->bytes; entry++)
		sum += entry->count;
	return sum;
}

int main(void)
{
	uint64_t at = 1, had;

	for (; count_interrupted(at); at++) {
		had = counted();
		if (had != 401 + INTERRUPTING || lost)
			return printf("place %d: %d counts of %d\n", (int)at, (int)had, 401 + INTERRUPTING), 1;
	}
	printf("%d places\n", (int)at - 1);
	return at < 4;
}
END
if clang-22 -w -O2 -D_GNU_SOURCE -I"$here/../../libprofile/include" -I"$here/../../tools/instrument/runtime" interrupted.c -o interrupted 2>said &&
	./interrupted >out; then
	ok "a handler that replaces the table it interrupts: $(cat out)"
else
	not_ok "a handler that replaces the table it interrupts" "$(cat said out | head -n 1)"
fi

# A table that a region had is that of the next thread. One that was joined may still be on its way
# out of the kernel when the next begins, which then has a region more: so again.
for _ in {1..20}; do
	run threads 2 10
	[ "$(stat -c %s counts/*.ppraw)" -gt $((4096 + 3 * (4096 + 28672))) ] || break
done
if [ "$(stat -c %s counts/*.ppraw)" -le $((4096 + 3 * (4096 + 28672))) ]; then
	ok "regions of threads that are gone are used again"
else
	not_ok "regions of threads that are gone are used again" "$(stat -c %s counts/*.ppraw) bytes"
fi

# ---------------------------------------------------------------- programs with a pthread_create() of their own
# Threads of a program that holds the C library, or a sanitizer, count exactly, each in a region of its own: four at once
# and the program's first one take five regions.
cat >at_once.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static volatile _Atomic unsigned int sink;
static pthread_barrier_t all;
__attribute__((noinline)) static void step_at_once(unsigned int x) { if (x & 1) sink += x; else sink ^= x; }
static void *count(void *argument)
{
	pthread_barrier_wait(&all);
	for (unsigned int i = 0; i < 50000; i++)
		step_at_once(i);
	pthread_barrier_wait(&all);
	return argument;
}
int main(int argc, char **argv)
{
	unsigned int cnt = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	pthread_t threads[4];

	if (cnt > 4 || (cnt && pthread_barrier_init(&all, NULL, cnt)))
		return 2;
	for (unsigned int i = 0; i < cnt; i++)
		if (pthread_create(&threads[i], NULL, count, NULL))
			return 3;
	for (unsigned int i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
END
cat >apart.cpp <<'END'
#include <thread>
static volatile unsigned int sink;
__attribute__((noinline)) static void step_apart(unsigned int x) { if (x & 1) sink = sink + x; else sink = sink ^ x; }
int main()
{
	std::thread thread([] { for (unsigned int i = 0; i < 1000; i++) step_apart(i); });
	thread.join();
}
END
for holding in -static --static -static-pie -fsanitize=address -fsanitize=thread; do
	if ! "$cc" -O2 $holding -pthread at_once.c -o at_once 2>said || ! "$build/bin/pathprof-c++" -O2 $holding -pthread apart.cpp -o apart 2>said; then
		not_ok "threads of a program with $holding" "it is not compiled: $(head -n 1 said)"
		continue
	fi
	rm -rf counts counts0
	mkdir counts counts0
	PATHPROF_DIR=counts0 ./at_once 0 && PATHPROF_DIR=counts ./at_once 4 2>said
	status=$?
	sum=$("$lab" counts --all counts/*.ppraw 2>>said | awk -F '\t' '$2 == "step_at_once" { n += $4 } END { print n }')
	own=$(($(stat -c %s counts0/*.ppraw) - 4096)) bytes=$(stat -c %s counts/*.ppraw)
	if [ $status -eq 0 ] && [ "$sum" = 200000 ] && [ "$bytes" = $((4096 + 5 * own)) ]; then
		ok "four threads of a program with $holding"
	else
		not_ok "four threads of a program with $holding" "status $status, $sum of 200000, $bytes bytes of $((4096 + 5 * own)); $(head -n 1 said)"
	fi
	rm -rf counts
	mkdir counts
	PATHPROF_DIR=counts ./apart 2>said
	status=$?
	sum=$("$lab" counts --all counts/*.ppraw 2>>said | awk -F '\t' '$2 ~ /step_apart/ { n += $4 } END { print n }')
	if [ $status -eq 0 ] && [ "$sum" = 1000 ]; then
		ok "std::thread with $holding"
	else
		not_ok "std::thread with $holding" "status $status, $sum of 1000; $(head -n 1 said)"
	fi
done

# ---------------------------------------------------------------- rights by a program's file
# The caller of a set-user-id program does not say where its owner writes: it makes no file, says so, and does what
# it did. Started by its owner it counts.
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
cp counting rightful
cp "$(command -v id)" who
chmod 711 "$tmp"
mkdir open open/counts
chmod 777 open open/counts
if [ "$(id -u)" != 0 ]; then
	echo "skip $name: set-user-id programs: making one takes root"
elif ! chmod 4755 rightful who || [ "$(as_nobody ./who -u)" != 0 ]; then
	echo "skip $name: set-user-id programs: $tmp lies on a file system without them"
else
	for directory in PATHPROF_DIR="$tmp/open/counts" PATHPROF_DIR=counts NO_DIRECTORY=1; do
		rm -f open/truth
		(cd open && as_nobody env "$directory" "$tmp/rightful" truth fork) >out 2>said
		status=$?
		read -r _ steps _ < <(od -t u8 open/truth)
		found=$(find open -name '*.ppraw*' | wc -l)
		if [ $status -eq 0 ] && [ "$steps" = 111 ] && [ "$found" = 0 ] &&
			[ "$(grep -c 'paths are not counted: .* rights ' said)" = 1 ] && [ "$(wc -l <said)" = 1 ]; then
			ok "a set-user-id program does not count for others ($directory)"
		else
			not_ok "a set-user-id program ($directory)" "status $status, $steps steps, $found files, it says: $(head -n 1 said)"
		fi
	done
	program=(./rightful)
	books "a set-user-id program counts for its owner" 0 2 111 fork
	program=(./counting)
fi

# ---------------------------------------------------------------- kill -9
full && kills=200 || kills=12
killed $kills

# Killed at one of the calls that make its file: no file has its name before its head is whole.
cat >killed_at.c <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* killed_at CALL PROGRAM...: the kernel kills it when it makes that call. */
int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)atoi(argv[1]), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	execv(argv[2], argv + 2);
	return 1;
}
END
clang-22 -O1 killed_at.c -o killed_at
for call in "285 fallocate" "82 rename"; do
	rm -rf counts truth
	mkdir counts
	(PATHPROF_DIR=counts ./killed_at "${call% *}" ./counting truth threads 1 10; true) >out 2>said
	left=$(ls counts)
	if [[ $left = *.ppraw.new ]]; then
		ok "killed at ${call#* }(): no file of counts"
	else
		not_ok "killed at ${call#* }()" "it leaves ${left:-nothing}"
	fi
done

# No optimisation may hold a count in a register meanwhile. A busy machine begins a program late.
for seconds in 0.3 1 5 20 60; do
	rm -f counts/*
	PATHPROF_DIR=counts ./counting truth spin &
	victim=$!
	sleep $seconds
	kill -9 $victim
	wait $victim 2>/dev/null
	add_up
	spun=$(count_of spin)
	[ "${spun:-0}" -le 1000 ] || break
done
if [ "${spun:-0}" -gt 1000 ]; then
	ok "kill -9 in a loop: $spun times round"
else
	not_ok "kill -9 in a loop" "${spun:-0} times round"
fi

# ---------------------------------------------------------------- libraries
cat >library.c <<'END'
static volatile unsigned int sink;
void step_there(unsigned int x) { if (x & 1) sink += x; else sink ^= x; }
END
"$cc" -O2 -fPIC -shared library.c -o library.so
clang-22 -O2 -pthread "$workloads/counting.c" -o plain
for program in "./counting library" "./plain library" "./counting older" "./plain older"; do
	read -r program mode <<<"$program"
	[ "$mode" = older ] && each=5000 || each=10000
	run "$mode" ./library.so 5000
	# The program's own file, of another build, is not read.
	"$lab" counts --binary library.so --all \
		"counts/$(readelf -n library.so | sed -n 's/.*Build ID: //p')".*.ppraw >counted.tsv 2>said
	sum=$(awk -F '\t' '{ n += $4 } END { print n }' counted.tsv)
	if [ "$status" -eq 0 ] && [ "$sum" = $each ]; then
		ok "a library that is loaded by $program ($mode)"
	else
		not_ok "a library that is loaded by $program ($mode)" "status $status, $sum of $each; $(head -n 1 said)"
	fi
done
# One that comes and goes leaves the place of one file at most in the address space, whatever the program was
# compiled with, and none of its counts.
cat >again.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char line[8192];
	int places = 0;

	for (int i = 0; i < atoi(argv[1]); i++) {
		void *library = dlopen("./library.so", RTLD_NOW | (i % 2 ? RTLD_LOCAL : RTLD_GLOBAL));
		void (*step)(unsigned int) = NULL;

		if (library)
			*(void **)&step = dlsym(library, "step_there");
		if (!step)
			return 2;
		step(1);
		if (dlclose(library))
			return 3;
		if (argc > 2 && system(argv[2]))
			return 4;
	}
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		places += strstr(line, ".ppraw") && strstr(line, getenv("LIBRARY_ID"));
	printf("%d\n", places);
	return 0;
}
END
export LIBRARY_ID
LIBRARY_ID=$(readelf -n library.so | sed -n 's/.*Build ID: //p')
"$cc" -O2 again.c -o again_counted && clang-22 -O2 again.c -o again_plain || { not_ok build "again.c is not compiled"; exit 1; }
for again in again_counted again_plain; do
	rm -rf counts
	mkdir counts
	places=$(PATHPROF_DIR=counts ./$again 200 2>said)
	"$lab" counts --binary library.so --all counts/"$LIBRARY_ID".*.ppraw >counted.tsv 2>summed
	sum=$(awk -F '\t' '{ n += $4 } END { print n }' counted.tsv)
	if [ "$places" = 1 ] && [ "$sum" = 200 ] && [ ! -s said ]; then
		ok "a library that comes and goes 200 times leaves one place ($again)"
	else
		not_ok "a library that comes and goes ($again)" "$places places, $sum of 200; $(head -n 1 said)"
	fi
done
# The file is moved, removed or cut off during the run, so that it has no head; or a seccomp filter
# kills the process if it reads memory by a system call.
for what in "moved 1 mv counts/* moved" "removed 1 rm counts/*" "cut 20 truncate -s 0 counts/*" "filtered 1"; do
	read -r what want command <<<"$what"
	rm -rf counts moved
	mkdir counts moved
	[ "$what" = filtered ] && program=(./killed_at 310 ./again_plain 20) || program=(./again_plain 20 "$command")
	places=$(PATHPROF_DIR=counts "${program[@]}" 2>said)
	status=$?
	if [ $status -eq 0 ] && [ "$places" = "$want" ] && [ ! -s said ]; then
		ok "places of a library whose files are $what: $places"
	else
		not_ok "places of a library whose files are $what" "status $status, ${places:-no} places; $(head -n 1 said)"
	fi
done
# Threads that such a library makes have counters of their own: all is in the file, though _exit() runs no destructor.
cat >making.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static volatile unsigned int sink;
__attribute__((noinline)) static void step_here(unsigned int x) { if (x & 1) sink += x; else sink ^= x; }
static void *count(void *argument)
{
	for (unsigned int i = 0; i < 50000; i++)
		step_here(i);
	return argument;
}
void make_threads(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, count, NULL))
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}
END
cat >hosting.c <<'END'
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *library = dlopen("./making.so", RTLD_NOW | (argc > 1 && argv[1][0] == 'l' ? RTLD_LOCAL : RTLD_GLOBAL));
	void (*make)(void) = NULL;

	if (library)
		*(void **)&make = dlsym(library, "make_threads");
	if (!make)
		_exit(2);
	make();
	_exit(0);
}
END
"$cc" -O2 -fPIC -shared -pthread making.c -o making.so && "$cc" -O2 hosting.c -o hosting_counted && clang-22 -O2 hosting.c -o hosting_plain ||
	{ not_ok build "making.c or hosting.c is not compiled"; exit 1; }
for hosting in "hosting_counted local" "hosting_counted global" "hosting_plain local" "hosting_plain global"; do
	rm -rf counts
	mkdir counts
	PATHPROF_DIR=counts ./$hosting 2>said
	status=$?
	"$lab" counts --binary making.so --all "counts/$(readelf -n making.so | sed -n 's/.*Build ID: //p')".*.ppraw >counted.tsv 2>summed
	sum=$(awk -F '\t' '$2 == "step_here" { n += $4 } END { print n }' counted.tsv)
	if [ "$status" -eq 0 ] && [ "$sum" = 200000 ]; then
		ok "threads that a library makes ($hosting)"
	else
		not_ok "threads that a library makes ($hosting)" "status $status, $sum of 200000; $(head -n 1 said)"
	fi
done
program=(./counting)

# A library does not go while a new thread is being attached to it: who lets go of it waits.
cat >leaving.c <<'END'
#include "kernel.h"
#include <pthread.h>
static _Atomic bool waited, gone;
#define kernel_yield() (waited = true)
#include "objects.c"

static pthread_t leaver;
static bool too_early;

static void *leave(void *argument)
{
	counts_objects_leave();
	gone = true;
	return argument;
}
void counts_attach(void)
{
	pthread_create(&leaver, NULL, leave, NULL);
	while (!waited && !gone)
		;
	too_early = gone;
}
int main(void)
{
	counts_objects_enter();
	counts_objects_attach();
	pthread_join(leaver, NULL);
	return too_early || __pathprof_objects;
}
END
if clang-22 -w -O2 -D_GNU_SOURCE -I"$here/../../libprofile/include" -I"$here/../../tools/instrument/runtime" leaving.c -o leaving 2>said &&
	timeout 60 ./leaving; then
	ok "a library waits until threads are attached"
else
	not_ok "a library waits until threads are attached" "status $?; $(head -n 1 said)"
fi
# A child whose file of a library cannot be made forgets that library when it lets go of it.
cat >going.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *nothing(void *argument) { return argument; }
int main(void)
{
	pthread_t thread;
	void *library;
	int status;

	setenv("PATHPROF_DIR", "leaving", 1);
	library = dlopen("./library.so", RTLD_NOW);
	if (!library || rename("leaving", "left"))
		return 2;
	if (fork() == 0)
		_exit(dlclose(library) || pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL));
	return wait(&status) < 0 || status;
}
END
"$cc" -O2 going.c -o going || { not_ok build "going.c is not compiled"; exit 1; }
rm -rf counts leaving left
mkdir counts leaving
PATHPROF_DIR=counts ./going 2>said
status=$?
if [ $status -eq 0 ] && [ "$(find counts -name '*.ppraw' | wc -l)" = 2 ]; then
	ok "a child lets go of a library that has no file"
else
	not_ok "a child lets go of a library that has no file" "status $status; $(head -n 1 said)"
fi

# A handler on another thread than the first forks in the middle of a count, and returns in the child.
cat >interrupted.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#define FORKS 20
static volatile unsigned int sink;
static volatile sig_atomic_t is_child, forks, failures, has_begun;
#define BIT(n) if (x >> (n) & 1) sink += (n); else sink ^= (n)
__attribute__((noinline)) static void many(unsigned int x)
{
	BIT(0); BIT(1); BIT(2); BIT(3); BIT(4); BIT(5); BIT(6); BIT(7);
	BIT(8); BIT(9); BIT(10); BIT(11); BIT(12); BIT(13); BIT(14);
}
static void on_signal(int signal)
{
	int status = 0;
	pid_t child = is_child ? -1 : fork();

	if (child < 0)
		return;
	is_child = child == 0;
	if (child && (waitpid(child, &status, 0) != child || status))
		failures++;
	forks++;
}
static void *work(void *argument)
{
	for (unsigned int i = 0; !is_child && forks < FORKS; i++)
		many(i * 2654435761u >> 7), has_begun = i > 100;
	for (unsigned int i = 0; is_child && i < 200; i++)
		many(i);
	if (is_child)
		_exit(0);
	return argument;
}
int main(void)
{
	pthread_t thread;

	signal(SIGUSR1, on_signal);
	if (pthread_create(&thread, NULL, work, NULL))
		return 2;
	while (forks < FORKS) {
		usleep(2000);
		if (has_begun)
			pthread_kill(thread, SIGUSR1);
	}
	pthread_join(thread, NULL);
	return failures;
}
END
"$cc" -w -O2 interrupted.c -o interrupted || { not_ok build "interrupted.c is not compiled"; exit 1; }
rm -rf counts
mkdir counts
PATHPROF_DIR=counts timeout 100 ./interrupted
status=$?
each=$("$lab" counts --all counts/*.ppraw 2>/dev/null | awk -F '\t' '$2 == "many" { n += $4 } END { printf "%d\n", n }')
if [ $status -eq 0 ] && [ "$each" -ge $((20 * 200)) ]; then
	ok "fork() in the middle of a count"
else
	not_ok "fork() in the middle of a count" "status $status, $each counts"
fi

# ---------------------------------------------------------------- exceptions
for mode in "-O2" "-O1 --pathprof-cut=calls" "-O2 --pathprof-late"; do
	# shellcheck disable=SC2086 # a list of words
	cc=$build/bin/pathprof-c++ exact "exceptions $mode" "$workloads/counting_throws.cpp" $mode
done
# A call that may throw, in a frame with something to clean up, cuts like any other.
cat >leaves.cpp <<'END'
#include <cstdlib>
static volatile int alive;
struct Guard {
	~Guard() { alive--; }
};
__attribute__((noinline)) static void leave(int x)
{
	if (x == 100)
		throw x;
	if (x == 3)
		std::exit(0);
	alive += x;
}
__attribute__((noinline)) static void work(int x)
{
	Guard guard;

	leave(x);
}
int main()
{
	for (int i = 0; i < 10; i++)
		work(i);
}
END
cc=$build/bin/pathprof-c++ exact "exit() below a call that may throw" leaves.cpp -O1 --pathprof-cut=calls
before=$(awk -F '\t' '$2 ~ "work" && $3 == 0 { print $4 }' counted.tsv)
[ "$before" = 4 ] && ok "the part before the call counts, 4 of 4" || not_ok "the part before the call" "${before:-none} of 4"

# ---------------------------------------------------------------- files
run threads 1 200
first=$(ls counts/*.ppraw)
PATHPROF_DIR=counts ./counting truth threads 1 200
add_up
if [ "$(count_of step)" = 800 ]; then ok "two runs add up"; else not_ok "two runs add up" "$(count_of step) of 800"; fi
"$cc" -O1 -pthread "$workloads/counting.c" -o another
if ! "$lab" counts --binary another "$first" >out 2>said && grep -q 'another program, library or build' said; then
	ok "counts of another build are refused"
else
	not_ok "counts of another build are refused" "$(head -n 1 said)"
fi
# Their program's name is a file's word: nothing of it reaches the terminal.
mkdir $'red\e[31m'
cp counting $'red\e[31m/'
PATHPROF_DIR=$'red\e[31m' $'red\e[31m/counting' truth threads 1 200
if ! "$lab" counts --binary another $'red\e[31m'/*.ppraw >out 2>said && grep -q 'another program' said && ! grep -q $'\e' said; then
	ok "a name with an escape sequence is printed without"
else
	not_ok "a name with an escape sequence" "$(head -n 1 said | cat -v)"
fi
# A build-id that is longer than readers keep, and one without the padding behind it.
for bytes in 32 3 40; do
	"$cc" -O2 -pthread "$workloads/counting.c" -o identified -Wl,--build-id=0x"$(printf '5a%.0s' $(seq $bytes))"
	rm -rf identified.counts
	mkdir identified.counts
	PATHPROF_DIR=identified.counts ./identified truth threads 1 200
	"$lab" counts --binary identified --all identified.counts/*.ppraw >out 2>said
	sum=$(awk -F '\t' '$2 == "step" { n += $4 } END { print n }' out)
	if [ "$sum" = 400 ]; then
		ok "a build-id of $bytes bytes"
	else
		not_ok "a build-id of $bytes bytes" "$sum of 400; $(head -n 1 said)"
	fi
done
"$lab" counts "$first" >out 2>said
if grep -qE '^ *[0-9.]+% +[0-9]+  step:[01]$' out && grep -qE 'workloads/counting\.c:[0-9]+' out; then
	ok "paths are shown with their lines"
else
	not_ok "paths are shown with their lines" "$(head -n 4 out | paste -sd ';')"
fi
# A function of more files than there is room for: what lies in the others has no line.
{
	echo 'volatile unsigned sink; __attribute__((noinline)) void wide(void); int main(void) { wide(); return 0; } void wide(void) {'
	for i in $(seq 1000 1069); do
		printf '#line %d "part%d.h"\nif (sink == %d) sink += %d;\n' "$i" "$i" "$i" "$i"
	done
	echo '}'
} >wide.c
"$cc" -O1 -g wide.c -o wide
rm -rf wide.counts
mkdir wide.counts
PATHPROF_DIR=wide.counts ./wide
"$lab" counts wide.counts/*.ppraw >out 2>said
wrong=$(grep -oE '[a-z0-9]+\.[ch]:[0-9]+' out | sed -nE '/^part([0-9]+)\.h:\1$/d; /:1[0-9]{3}$/p' | head -n 1)
if [ -z "$wrong" ] && grep -q 'part1000\.h:1000' out; then
	ok "lines of a function of many files"
else
	not_ok "lines of a function of many files" "$wrong; $(head -n 4 out | paste -sd ';')"
fi
cp "$first" damaged.ppraw
cp counting damaged
full && reads=2000 || reads=60
section=$(readelf -SW counting | sed -nE 's/.* \.pathprof +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+).*/0x\1 0x\2/p')
read -r from bytes <<<"$section"
for place in "0 $((4096 + 64)) damaged.ppraw" "$((from)) $((bytes)) damaged"; do
	# shellcheck disable=SC2086 # a list of words
	if python3 "$here/counting_damage.py" $reads $place "$lab" counts --binary damaged --all damaged.ppraw >said 2>&1; then
		ok "damaged files (${place##* }): $(tail -n 1 said)"
	else
		not_ok "damaged files (${place##* })" "$(head -n 1 said)"
	fi
done
# A damaged file among others costs its own counts, and a status.
head -c 5000 "$first" >short.ppraw
"$lab" counts --binary counting --all "$first" | sort >whole.tsv
status=0
"$lab" counts --binary counting --all short.ppraw "$first" >left.tsv 2>said || status=$?
if [ $status = 1 ] && grep -q 'short\.ppraw: .*left out' said && sort left.tsv | cmp -s - whole.tsv && [ -s whole.tsv ]; then
	ok "a damaged file among others is left out"
else
	not_ok "a damaged file among others is left out" "status $status: $(head -n 1 said)"
fi

# Tables grow, and regions come, while somebody reads. A busy machine begins a reader late: then the
# program counts for longer.
reads=0 bad=
for each in 20000 100000 500000 2500000; do
	rm -rf counts
	mkdir counts
	PATHPROF_DIR=counts ./counting truth threads 64 $each &
	counter=$!
	while kill -0 $counter 2>/dev/null; do
		[ -n "$(find counts -name '*.ppraw')" ] || continue
		"$lab" counts --binary counting --all counts/*.ppraw >out 2>said && reads=$((reads + 1)) && continue
		bad=$(head -n 1 said)
	done
	wait $counter
	[ -z "$bad" ] && [ $reads -eq 0 ] || break
done
if [ -z "$bad" ] && [ $reads -gt 0 ]; then
	ok "a file is read while its program counts"
else
	not_ok "a file is read while its program counts" "$reads reads, $bad"
fi

# A name that an earlier process left unfinished, and one that is taken, as after exec.
cat >again.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Leaves a file of its number's next name as a killed process would, and begins anew. */
int main(int argc, char **argv)
{
	char path[4200];

	if (argc == 1)
		return 0;
	snprintf(path, sizeof(path), "counts/%s.%d-1.ppraw.new", argv[1], getpid());
	close(open(path, O_WRONLY | O_CREAT, 0666));
	return execl(argv[0], argv[0], (char *)NULL);
}
END
"$cc" -O1 -Wl,--build-id again.c -o again
id=$(readelf -n again | sed -n 's/.*Build ID: //p')
rm -rf counts
mkdir counts
PATHPROF_DIR=counts ./again "$id"
names=$(cd counts && ls | sed -E 's/^[0-9a-f]+\.[0-9]+//' | sort | paste -sd ' ')
if [ "$names" = "-1.ppraw.new -2.ppraw .ppraw" ]; then
	ok "names that are taken are passed over"
else
	not_ok "names that are taken are passed over" "$names"
fi

# The directory stays that of the beginning.
cat >moves.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	if (chdir("elsewhere") || clearenv())
		return 1;
	if (fork() == 0)
		_exit(0);
	return wait(NULL) < 0;
}
END
"$cc" -O1 moves.c -o moves
for directory in counts .; do
	rm -rf here
	mkdir -p here/elsewhere here/counts
	(cd here && PATHPROF_DIR=$directory ../moves)
	if [ "$(find here/$directory -maxdepth 1 -name '*.ppraw' | wc -l)" = 2 ]; then
		ok "a child's file is beside its parent's ($directory)"
	else
		not_ok "a child's file is beside its parent's ($directory)" "$(cd here && find . -name '*.ppraw' | paste -sd ' ')"
	fi
done

# Paths before the runtime begins count in the section, or as lost.
cat >before.c <<'END'
static volatile unsigned int sink;
#define BIT(n) if (x >> (n) & 1) sink += (n)
__attribute__((noinline)) static void many(unsigned int x)
{
	BIT(0); BIT(1); BIT(2); BIT(3); BIT(4); BIT(5); BIT(6);
	BIT(7); BIT(8); BIT(9); BIT(10); BIT(11); BIT(12);
}
static void before(void)
{
	for (unsigned int i = 0; i < 3; i++)
		many(i);
}
__attribute__((section(".preinit_array"), used)) static void (*begin)(void) = before;
int main(void)
{
	many(7);
	return 0;
}
END
"$cc" -O1 before.c -o before
rm -rf counts
mkdir counts
PATHPROF_DIR=counts ./before
"$lab" counts --all counts/*.ppraw >counted.tsv 2>said
sum=$(awk -F '\t' '$2 ~ /many$/ { n += $4 } END { print n }' counted.tsv)
if [ "$sum" = 1 ] && grep -q ' 3 paths were not counted' said; then
	ok "paths before there is a file are counted as lost"
else
	not_ok "paths before there is a file are counted as lost" "many $sum of 1; $(head -n 1 said)"
fi

# A path that has no room in the file is not taken for another one.
deep=$(printf 'deep%.0s' {1..50})
deep=$deep/$deep/$deep/$deep/$deep/$deep
mkdir -p "$deep"
cp counting "$deep"
program=("$deep/counting")
run threads 1 10
program=(./counting)
if ! "$lab" counts counts/*.ppraw >out 2>said && grep -q 'does not name its program' said; then
	ok "a program whose path is too long is not named"
else
	not_ok "a program whose path is too long is not named" "$(head -n 1 said)"
fi

# Descriptor 2 may be a file of the program's own by the time a child finds no place for its counts.
cat >errors.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc > 1) {
		close(2);
		dup2(open(argv[1], O_WRONLY | O_CREAT, 0666), 2);
	}
	if (rename("counts", "gone"))
		return 1;
	if (fork() == 0)
		_exit(0);
	return wait(NULL) < 0;
}
END
"$cc" -O1 errors.c -o errors
rm -rf counts gone data
mkdir counts
PATHPROF_DIR=counts ./errors data 2>said
if [ -e data ] && [ ! -s data ] && [ ! -s said ]; then
	ok "nothing is said into a file of the program's"
else
	not_ok "nothing is said into a file of the program's" "it holds: $(head -n 1 data)"
fi
rm -rf counts gone
mkdir counts
PATHPROF_DIR=counts ./errors 2>said
if [ -d gone ] && [ "$(grep -c 'paths are not counted' said)" = 1 ]; then
	ok "a child that does not count says so"
else
	not_ok "a child that does not count says so" "$(head -n 1 said)"
fi

# Threads whose region finds no place, and children without a file, are told of by the file that is.
cat >crowded.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned int sink;
__attribute__((noinline)) static void step_crowded(unsigned int x) { if (x & 1) sink += x; else sink ^= x; }
static void *count(void *argument)
{
	for (unsigned int i = 0; i < 100; i++)
		step_crowded(i);
	return argument;
}
int main(void)
{
	pthread_t thread;

	if (rename("counts", "gone"))
		return 1;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, count, NULL) || pthread_join(thread, NULL))
			return 2;
	if (fork() == 0)
		_exit(0);
	return wait(NULL) < 0;
}
END
"$cc" -O2 crowded.c -o crowded || { not_ok build "crowded.c is not compiled"; exit 1; }
rm -rf counts gone
mkdir counts
PATHPROF_DIR=counts ./crowded 2>/dev/null
"$lab" counts --all gone/*.ppraw >counted.tsv 2>said
shared=$(awk -F '\t' '$2 ~ /^(step_crowded|count)$/ { n += $4 } END { print n }' counted.tsv)
if grep -q ' 2 threads had no counters of their own' said && grep -q " $shared counts are of threads" said && grep -q ' 1 child made no file' said; then
	ok "threads and children without counters are told of"
else
	not_ok "threads and children without counters are told of" "${shared:-no} counts; $(paste -sd ';' said)"
fi
rm -f crowded.db
"$build/bin/pathprofctl" import -F counts --json -o crowded.db gone/*.ppraw >crowded.json 2>said
if [ "$(tr -d ' \n' <crowded.json | grep -o '"shared".*_counted":1,"files_d')" = "\"shared\":$shared,\"threads_crowded\":2,\"children_not_counted\":1,\"files_d" ] &&
	grep -q 'counts may be missing: threads counted together' said && grep -q 'nothing is counted of 1 child' said; then
	ok "import tells of threads and children without counters"
else
	not_ok "import tells of threads and children without counters" "$(tr -d '\n' <crowded.json); $(paste -sd ';' said)"
fi

# A child without a file leaves its parent's as it is, also where the kernel commits no more memory than it has and
# so refuses large reservations: strictly PROGRAM... has such a kernel.
cat >strictly.c <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define WORD(place) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place)
int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		WORD(offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
		WORD(offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_PRIVATE, 0, 3),
		WORD(offsetof(struct seccomp_data, args[1]) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	execv(argv[1], argv + 1);
	return 1;
}
END
clang-22 -O1 strictly.c -o strictly || { not_ok build "strictly.c is not compiled"; exit 1; }
rm -rf counts gone
mkdir counts
PATHPROF_DIR=counts ./strictly ./crowded 2>/dev/null
status=$?
"$lab" counts --all gone/*.ppraw >counted.tsv 2>said
sum=$(awk -F '\t' '$2 == "step_crowded" { n += $4 } END { print n }' counted.tsv)
if [ $status -eq 0 ] && [ "$sum" = 200 ] && grep -q ' 1 child made no file' said; then
	ok "a child without a file and little memory leaves its parent's as it is"
else
	not_ok "a child without a file and little memory" "status $status, ${sum:-none} of 200; $(head -n 1 said)"
fi

# Counting leaves a program most of the address space that it may have.
cat >spacious.c <<'END'
#include <sys/mman.h>
int main(void)
{
	return mmap(0, 3ul << 29, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}
END
"$cc" -O1 spacious.c -o spacious || { not_ok build "spacious.c is not compiled"; exit 1; }
rm -rf counts
mkdir counts
(ulimit -v $((2 << 20)) && PATHPROF_DIR=counts exec ./spacious) 2>said
status=$?
if [ $status -eq 0 ] && [ -n "$(find counts -name '*.ppraw')" ]; then
	ok "a program has three of the four parts of its address space for itself"
else
	not_ok "a program that may have little address space" "status $status; $(head -n 1 said)"
fi

# A filter of calls that hides which threads live gives none the region of another.
cat >hidden.c <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static pthread_barrier_t all;
static void *stay(void *argument)
{
	pthread_barrier_wait(&all);
	return argument;
}
int main(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, filter};
	pthread_t threads[4];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ||
	    pthread_barrier_init(&all, NULL, 5))
		return 2;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, stay, NULL))
			return 3;
	pthread_barrier_wait(&all);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
END
"$cc" -O2 hidden.c -o hidden || { not_ok build "hidden.c is not compiled"; exit 1; }
rm -rf counts
mkdir counts
PATHPROF_DIR=counts ./hidden 2>said
status=$?
bytes=$(stat -c %s counts/*.ppraw)
if [ $status -eq 0 ] && [ "$bytes" = $((4096 + 5 * 4096)) ]; then
	ok "a filter of calls that hides who lives"
else
	not_ok "a filter of calls that hides who lives" "status $status, $bytes bytes; $(head -n 1 said)"
fi

# If no file can be made, or it has no room for a thread, the program runs as before, and one line
# says why.
for trouble in "PATHPROF_DIR=/dev/null/none 20" "ulimit=1 27" "ulimit=8 27"; do
	read -r trouble error <<<"$trouble"
	rm -rf counts truth
	mkdir counts
	(
		[ "${trouble%%=*}" = ulimit ] && { ulimit -f "${trouble#*=}"; PATHPROF_DIR=counts; } || PATHPROF_DIR=${trouble#*=}
		export PATHPROF_DIR
		./counting truth threads 4 100
	) >out 2>said
	status=$?
	read -r _ steps manies < <(od -t u8 truth)
	if [ $status -eq 0 ] && [ "$steps" = 800 ] && [ "$(wc -l <said)" -eq 1 ] && grep -q "paths are not counted.*errno $error)" said; then
		ok "no file can be made ($trouble)"
	else
		not_ok "no file can be made ($trouble)" "status $status, $steps steps, it says: $(head -n 1 said)"
	fi
done
exit $failed
