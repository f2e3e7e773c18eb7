// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two ways to stop a thread at a breakpoint of perf's: by the SIGTRAP that the event sends
 * (`sigtrap`, which the stepper uses), and by a signal whose default action is nothing, sent
 * through the descriptor (F_SETSIG). A traced thread stops for either. If the tracer is killed at
 * that moment, the first kills the thread and the second is dropped.
 *
 *     bench_stop [STOPS [KILLS]]
 *
 * Prints for each: the time of a stop, how many came at the very place, and how many threads died
 * when their tracer was killed at a random moment. Tracer and thread share CPU 0, as in a burst.
 * Source: perf_event_open(2), fcntl(2).
 */
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOPS 100000
#define KILLS 300
/* Few programs catch it, and nearly none blocks it. */
#define HARMLESS SIGURG

struct counts {
	volatile uint64_t stops, exact;
	uint64_t ns;
};
static struct counts *counts;

static void __attribute__((noinline)) here(void)
{
	__asm__ volatile("nop");
}

static void __attribute__((noinline)) there(void)
{
	__asm__ volatile("nop; nop");
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void go_to_cpu(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(pid, sizeof(set), &set);
}

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static struct perf_event_attr at(uint64_t address, bool traps)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.remove_on_exec = 1,
		.sigtrap = traps,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = sizeof(long),
	};
}

static int open_breakpoint(pid_t target, bool traps)
{
	struct perf_event_attr attr = at((uint64_t)(uintptr_t)here, traps);
	struct f_owner_ex owner = {F_OWNER_TID, target};
	int fd = (int)syscall(SYS_perf_event_open, &attr, target, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		fail("perf_event_open");
	if (!traps && (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, HARMLESS) ||
		       fcntl(fd, F_SETFL, O_ASYNC)))
		fail("fcntl");
	return fd;
}

/* Stops the target at two places in turn; for ever where stops is 0. */
static void trace(pid_t target, bool traps, uint64_t stops)
{
	uint64_t places[] = {(uint64_t)(uintptr_t)here, (uint64_t)(uintptr_t)there};
	uint64_t begun_ns;
	int fd, status;

	if (ptrace(PTRACE_SEIZE, target, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, target, NULL, NULL) || waitpid(target, &status, __WALL) < 0)
		fail("ptrace");
	fd = open_breakpoint(target, traps);
	begun_ns = now_ns();
	for (uint64_t i = 0; !stops || i < stops; i++) {
		struct perf_event_attr next = at(places[(i + 1) % 2], traps);
		struct user_regs_struct regs;

		if (ptrace(PTRACE_CONT, target, NULL, NULL) ||
		    waitpid(target, &status, __WALL) < 0 || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_GETREGS, target, NULL, &regs))
			fail("stop");
		counts->stops++;
		counts->exact += regs.rip == places[i % 2] &&
				 WSTOPSIG(status) == (traps ? SIGTRAP : HARMLESS);
		if (ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &next))
			fail("move");
	}
	counts->ns = now_ns() - begun_ns;
}

static pid_t start_target(void)
{
	pid_t target = fork();

	if (target)
		return target;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	go_to_cpu(0, 0);
	for (;;) {
		here();
		there();
	}
}

static pid_t start_tracer(pid_t target, bool traps, uint64_t stops)
{
	struct sched_param first = {.sched_priority = 1};
	pid_t tracer = fork();

	if (tracer)
		return tracer;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	go_to_cpu(0, 0);
	/* The stepper does the same if it has the right. */
	sched_setscheduler(0, SCHED_FIFO, &first);
	trace(target, traps, stops);
	_exit(0);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool survives(bool traps)
{
	pid_t target = start_target();
	uint64_t before = counts->stops;
	pid_t tracer = start_tracer(target, traps, 0);
	int status = 0;

	while (counts->stops < before + 100 && !waitpid(tracer, &status, WNOHANG))
		usleep(1000);
	usleep((useconds_t)(rand() % 20000));
	end(tracer);
	usleep(20000);
	if (waitpid(target, &status, WNOHANG) == target)
		return false;
	end(target);
	return true;
}

static void measure(const char *name, bool traps, uint64_t stops, int kills)
{
	pid_t target = start_target();
	int died = 0;

	memset(counts, 0, sizeof(*counts));
	waitpid(start_tracer(target, traps, stops), NULL, 0);
	end(target);
	printf("%-7s %6.2f us a stop, %lu of %lu at their place", name,
	       (double)counts->ns / 1e3 / (double)stops, (unsigned long)counts->exact,
	       (unsigned long)stops);
	fflush(stdout);
	for (int i = 0; i < kills; i++)
		died += !survives(traps);
	printf(", %d of %d died with their tracer\n", died, kills);
}

int main(int argc, char **argv)
{
	uint64_t stops = argc > 1 ? strtoull(argv[1], NULL, 10) : STOPS;
	int kills = argc > 2 ? atoi(argv[2]) : KILLS;

	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (counts == MAP_FAILED || !stops)
		return 2;
	measure("SIGTRAP", true, stops, kills);
	measure("SIGURG", false, stops, kills);
	return 0;
}
