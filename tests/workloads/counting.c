// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program for the tests of pathprof-cc that knows how often it called two functions: step() has
 * two paths, many() has 8192, which are counted by hash. It keeps the numbers in a file that is
 * mapped, so that they can be read whatever ends it.
 *
 *     counting TRUTH threads THREADS CALLS     several at a time, one after the other
 *     counting TRUTH steps THREADS CALLS       the same with step() alone, in no time between
 *     counting TRUTH endless                   until it is killed
 *     counting TRUTH spin                      until it is killed, in a loop that needs no memory
 *     counting TRUTH fork | exec | vfork | exit | abort
 *     counting TRUTH signals CALLS             a handler that interrupts itself and others
 *     counting TRUTH jumps CALLS               longjmp() from below
 *     counting TRUTH library FILE CALLS        step_there() of a library, in threads
 *     counting TRUTH older FILE CALLS          the same in a thread older than it, which exits
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

struct truth {
	uint64_t steps, manies; /* called, and come back from */
};

static struct truth *truth;
static volatile unsigned int sink;

__attribute__((noinline)) void step(unsigned int x)
{
	if (x & 1)
		sink += x;
	else
		sink ^= x;
}

#define BIT(n)                                                                                     \
	if (x >> (n)&1)                                                                            \
	sink += (n)
__attribute__((noinline)) void many(unsigned int x)
{
	BIT(0);
	BIT(1);
	BIT(2);
	BIT(3);
	BIT(4);
	BIT(5);
	BIT(6);
	BIT(7);
	BIT(8);
	BIT(9);
	BIT(10);
	BIT(11);
	BIT(12);
}

static void work(uint64_t calls)
{
	for (uint64_t i = 0; i < calls; i++) {
		step((unsigned int)i);
		__atomic_fetch_add(&truth->steps, 1, __ATOMIC_RELAXED);
		many((unsigned int)(i * 2654435761u >> 7));
		__atomic_fetch_add(&truth->manies, 1, __ATOMIC_RELAXED);
	}
}

/* ---------------------------------------------------------------- threads */

static uint64_t thread_calls;

static void *in_thread(void *argument)
{
	work(thread_calls);
	return argument;
}

static void *in_step(void *argument)
{
	for (uint64_t i = 0; i < thread_calls; i++)
		step((unsigned int)i);
	__atomic_fetch_add(&truth->steps, thread_calls, __ATOMIC_RELAXED);
	return argument;
}

static void run_threads(unsigned int cnt, void *(*fn)(void *))
{
	pthread_t threads[256];

	for (int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < cnt; i++)
			if (pthread_create(&threads[i], NULL, fn, &truth[i]))
				abort();
		for (unsigned int i = 0; i < cnt; i++) {
			void *result;

			if (pthread_join(threads[i], &result) || result != &truth[i])
				abort();
		}
	}
}

__attribute__((noinline)) static void spin(unsigned int x)
{
	while (x) {
		x = x * 1664525 + 1013904223;
		x |= 1;
	}
	sink = x;
}

/* ---------------------------------------------------------------- processes */

static void run_fork(void)
{
	work(100);
	pid_t child = fork();

	work(child ? 10 : 1);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void run_vfork(void)
{
	pid_t child = vfork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	work(100);
}

/* ---------------------------------------------------------------- signals and jumps */

static void on_signal(int signal)
{
	work(3);
}

static void run_signals(uint64_t calls)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_NODEFER | SA_RESTART};
	struct itimerval often = {{0, 50}, {0, 50}}, never = {0};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	work(calls);
	setitimer(ITIMER_REAL, &never, NULL);
}

static jmp_buf back;

__attribute__((noinline)) static void jump(unsigned int x)
{
	work(1);
	if (x % 3)
		longjmp(back, 1);
}

static void run_jumps(uint64_t calls)
{
	for (volatile uint64_t i = 0; i < calls; i++)
		if (setjmp(back) == 0)
			jump((unsigned int)i);
}

/* ---------------------------------------------------------------- a library */

static void (*step_there)(unsigned int);

static void *there(void *argument)
{
	for (uint64_t i = 0; i < thread_calls; i++)
		step_there((unsigned int)i);
	return argument;
}

static void *load(void *file)
{
	void *library = dlopen(file, RTLD_NOW);

	if (library)
		*(void **)&step_there = dlsym(library, "step_there");
	if (!step_there) {
		fputs(dlerror(), stderr);
		abort();
	}
	return library;
}

/* In the thread that loads the library, and in one that is younger. */
static void run_library(char *file)
{
	void *library = load(file);
	pthread_t thread;

	there(NULL);
	if (pthread_create(&thread, NULL, there, NULL) || pthread_join(thread, NULL))
		abort();
	if (dlclose(library))
		abort();
}

/* This thread is older than the library, which another one loads. */
static void run_older(char *file)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, load, file) || pthread_join(thread, NULL))
		abort();
	there(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
	uint64_t last = strtoull(argv[argc - 1], NULL, 10);

	if (fd < 0 || ftruncate(fd, sizeof(*truth)))
		return 2;
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (truth == MAP_FAILED)
		return 2;
	thread_calls = last;
	if (!strcmp(what, "threads"))
		run_threads((unsigned int)strtoul(argv[3], NULL, 10), in_thread);
	else if (!strcmp(what, "steps"))
		run_threads((unsigned int)strtoul(argv[3], NULL, 10), in_step);
	else if (!strcmp(what, "spin"))
		spin((unsigned int)argc);
	else if (!strcmp(what, "endless"))
		work(UINT64_MAX);
	else if (!strcmp(what, "fork"))
		run_fork();
	else if (!strcmp(what, "vfork"))
		run_vfork();
	else if (!strcmp(what, "signals"))
		run_signals(last);
	else if (!strcmp(what, "jumps"))
		run_jumps(last);
	else if (!strcmp(what, "library"))
		run_library(argv[3]);
	else if (!strcmp(what, "older"))
		run_older(argv[3]);
	else
		work(100);
	if (!strcmp(what, "exec"))
		execl("/proc/self/exe", argv[0], argv[1], "work", (char *)NULL);
	if (!strcmp(what, "exit"))
		_exit(0);
	if (!strcmp(what, "abort"))
		abort();
	return 0;
}
