// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pesters the module from outside while it profiles everything: steps a child with ptrace and
 * counts the steps, stops a running child again and again and looks at its flags, and drives
 * children from CPU to CPU in mid-burst. All of them compute something whose result is known.
 *
 *     vmpester SECONDS
 *
 * Workload: thousands of stops and moves a second; needs two CPUs to move between. Complaints and
 * one line of counts on standard output; exit status 1 when there was a complaint.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define EFLAGS_TF     0x100
#define SPINNER_CNT   2
#define STEPPED_ADDS  20
#define WAIT_STATUSES __WALL

/* Shared with the children. */
struct shared {
	uint64_t rounds, wrong, moves;
};

static struct shared *shared;
static unsigned long long complaints;

static void complain(const char *what, long long value)
{
	if (complaints++ < 20)
		printf("vmpester: %s (%lld)\n", what, value);
}

/* For ever; a wrong result is told to the parent. */
static pid_t start_spinner(uint64_t seed)
{
	uint64_t expected = compute(seed);
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;) {
		__atomic_fetch_add(&shared->rounds, 1, __ATOMIC_RELAXED);
		if (compute(seed) != expected)
			__atomic_fetch_add(&shared->wrong, 1, __ATOMIC_RELAXED);
	}
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, WAIT_STATUSES) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* How many steps a child takes from its stop to its end. */
static long step_child(void)
{
	pid_t pid = fork();
	long steps = 0;
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		for (volatile int i = 0, sum = 0; i < STEPPED_ADDS; i++)
			sum += i;
		_exit(5);
	}
	for (status = wait_for(pid); WIFSTOPPED(status); status = wait_for(pid)) {
		if (steps && WSTOPSIG(status) != SIGTRAP)
			complain("a stepped child stopped by signal", WSTOPSIG(status));
		steps++;
		ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 5)
		complain("a stepped child ended otherwise", status);
	return steps;
}

static void look_at_flags(pid_t pid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return;
	if (!ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) && WIFSTOPPED(wait_for(pid)) &&
	    !ptrace(PTRACE_GETREGS, pid, NULL, &regs) && regs.eflags & EFLAGS_TF)
		complain("a tracer saw the trap flag", 0);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

/* Stopped and continued: passes through the kernel's signal code like any other. */
static void stop_and_continue(pid_t pid)
{
	int status = 0;

	if (pid <= 0)
		return;
	kill(pid, SIGSTOP);
	waitpid(pid, &status, WUNTRACED);
	if (!WIFSTOPPED(status))
		complain("a child did not stop", status);
	kill(pid, SIGCONT);
}

static void move(pid_t pid, unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(pid, sizeof(set), &set);
}

/* Without end: a burst begun on one CPU goes on on another. */
static pid_t start_mover(const pid_t *spinners, unsigned int cpu_cnt)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (unsigned int i = 0;; i++) {
		move(spinners[i % SPINNER_CNT], i / SPINNER_CNT % cpu_cnt);
		__atomic_fetch_add(&shared->moves, 1, __ATOMIC_RELAXED);
		usleep(100);
	}
}

struct counts {
	unsigned long long stepped, looks;
	long steps;
};

static void pester_round(const pid_t *spinners, struct counts *counts)
{
	long steps = step_child();

	if (counts->steps && steps != counts->steps)
		complain("steps of a child, other than the first time", steps);
	counts->steps = steps;
	counts->stepped++;
	for (int i = 0; i < 20; i++) {
		usleep(300);
		look_at_flags(spinners[0]);
		counts->looks++;
		if (i % 5 == 2)
			stop_and_continue(spinners[1]);
	}
}

/* None may have ended before it is told to. */
static void finish_child(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WNOHANG))
		complain("a child ended by itself", status);
	if (pid > 0)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

int main(int argc, char **argv)
{
	uint64_t end_ms = now_ms() + 1000 * (argc > 1 ? strtoull(argv[1], NULL, 10) : 3);
	unsigned int cpu_cnt = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	struct counts counts = {0};
	pid_t spinners[SPINNER_CNT];
	pid_t mover;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < SPINNER_CNT; i++)
		spinners[i] = start_spinner((uint64_t)i + 1);
	mover = start_mover(spinners, cpu_cnt);
	while (now_ms() < end_ms)
		pester_round(spinners, &counts);
	finish_child(mover);
	for (int i = 0; i < SPINNER_CNT; i++)
		finish_child(spinners[i]);
	if (shared->wrong)
		complain("wrong results", (long long)shared->wrong);
	printf("stepped %llu of %ld steps, looks %llu, moves %llu, rounds %llu, complaints %llu\n",
	       counts.stepped, counts.steps, counts.looks, (unsigned long long)shared->moves,
	       (unsigned long long)shared->rounds, complaints);
	return complaints != 0;
}
